"""Ends what a run of tests started and left, however the run ends: a plugin of pytest.

The processes of a run are known by a variable in their environment.  A guard waits for the end of
the run in a session of its own, so that what ends the run does not end the guard:

    python interruption.py VARIABLE

Run as a script, so it imports nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

PATIENCE_S = 5.0
_LOOK_S = 0.05


def pytest_configure(config: pytest.Config) -> None:
    signal.signal(signal.SIGTERM, _interrupt)
    if not hasattr(config, "workerinput"):  # the process that pytest was started as
        guard = _start_guard()
        config.add_cleanup(lambda: _end_run(guard))


def _interrupt(*_: object) -> None:
    """Raise KeyboardInterrupt, but only once: `timeout` and make may both send SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: None)
    raise KeyboardInterrupt


def _start_guard() -> subprocess.Popen[bytes]:
    """Mark all that this process starts from now on, and start the guard that knows the mark."""
    variable = f"TEST_RUN_{uuid.uuid4().hex}"
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, variable],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.environ[variable] = "1"
    return guard


def _end_run(guard: subprocess.Popen[bytes]) -> None:
    """Return when nothing is left."""
    guard.communicate(timeout=4 * PATIENCE_S)


def main(variable: str) -> None:
    sys.stdin.buffer.read()  # which comes to an end when the run does
    if not _end_all(variable, signal.SIGTERM):
        _end_all(variable, signal.SIGKILL)


def _end_all(variable: str, number: signal.Signals) -> bool:
    """Send the signal to each process once.  Return whether all of them end in time."""
    deadline = time.monotonic() + PATIENCE_S
    reached: set[int] = set()
    while left := processes_with(variable):
        if time.monotonic() > deadline:
            return False
        for pid in left - reached:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        reached |= left
        time.sleep(_LOOK_S)
    return True


def processes_with(variable: str) -> set[int]:
    """Return the ids of all that run with this variable in their environment."""
    ids = _look(variable)
    if not ids:  # one at its exec has no environment, for a moment
        time.sleep(_LOOK_S)
        ids = _look(variable)
    return ids


def _look(variable: str) -> set[int]:
    return {int(path.name) for path in Path("/proc").glob("[0-9]*") if _has(path, variable)}


def _has(process: Path, variable: str) -> bool:
    try:
        return f"{variable}=".encode() in (process / "environ").read_bytes()
    except OSError:  # it has ended, or is another user's
        return False


if __name__ == "__main__":
    main(sys.argv[1])
