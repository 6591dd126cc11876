"""Worker processes under test: started, killed, stopped, and read by their logs."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
_READY = re.compile(r"ready: tasks \[([0-9, ]*)\]")


def wait_for(
    condition: Callable[[], object], what: str, patience_s: float = PATIENCE_S, look_s: float = 0.02
) -> None:
    """Until condition() holds; fails when that takes longer than patience_s."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"after {patience_s:.0f} s still not: {what}"
        time.sleep(look_s)


class Worker:
    """One toy worker process.  arguments: see `tests.toy_worker`; environ: its HEADRACE_ names."""

    def __init__(
        self, name: str, state_dir: Path, log: Path, environ: Mapping[str, str], *arguments: str
    ) -> None:
        self.name = name
        self.state_dir = state_dir
        self._log = log
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("HEADRACE_")}
        given = {"HEADRACE_STATE_DIR": str(state_dir), **environ}
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.toy_worker", *arguments],
                cwd=ROOT,
                env=inherited | given,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def text(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def ready(self) -> list[int] | None:
        """The tasks it last said to be ready; None before that."""
        found = _READY.findall(self.text())
        return [int(n) for n in found[-1].split(",") if n] if found else None

    def wait_ready(self, *tasks: int) -> None:
        """Until it has said that these tasks (any, if none are named) are ready."""

        def said() -> bool:
            ready = self.ready()
            assert self.running, f"{self.name} has ended:\n{self.text()[-3000:]}"
            return ready is not None and (not tasks or ready == list(tasks))

        wait_for(said, f"{self.name} ready with {tasks or 'its tasks'}")

    def wait_text(self, text: str, patience_s: float = PATIENCE_S) -> None:
        wait_for(lambda: text in self.text(), f"{self.name} says {text!r}", patience_s, 0.002)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def abandon(self) -> None:
        """SIGKILL at the end of a test; if it still runs, something failed: have it say where it
        is (SIGUSR1 makes mode, under Faust, print its asyncio tasks; a stopped one says nothing).
        """
        if self.running:
            self._process.send_signal(signal.SIGUSR1)
            with contextlib.suppress(AssertionError):
                wait_for(lambda: "TASK _keep" in self.text(), "its tasks", 1.0)
        self.kill()

    def stop(self) -> None:
        """SIGSTOP: it does not run, and does not know."""
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM, and do not wait."""
        self._process.send_signal(signal.SIGTERM)

    def exit_code(self, patience_s: float = PATIENCE_S) -> int:
        """Wait for its end."""
        try:
            return self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} does not end:\n{self.text()[-3000:]}") from None

    def end(self, patience_s: float = 30.0) -> None:
        """SIGTERM, and a clean end."""
        self.terminate()
        assert self.exit_code(patience_s) == 0, self.text()[-3000:]
        assert "stopped: cleanly" in self.text()
