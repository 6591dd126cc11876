"""A wall clock of a worker's own, which steps when a test says so (`stepping.c`, beside this).

All native code of the process sees it too.  Its monotonic clocks go on as they are, as they do
when a machine's clock is set.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_name("stepping.c")


class SteppingClock:
    """Skips the test where nothing compiles C."""

    def __init__(self, directory: Path) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("no clock of a process's own without a C compiler")
        self._at = directory / "clock"
        self.step(0)
        self._library = directory / "stepping.so"
        made = ("-o", str(self._library), str(_SOURCE), "-ldl", "-lpthread")
        subprocess.run([compiler, "-Wall", "-Werror", "-shared", "-fPIC", *made], check=True)

    def step(self, seconds: int) -> None:
        """Be so far from the right time, from now on."""
        exact = (seconds * 1_000_000_000).to_bytes(8, "little", signed=True)
        if self._at.exists():
            with self._at.open("r+b", buffering=0) as file:
                file.write(exact)
        else:
            self._at.write_bytes(exact)

    def command(self) -> tuple[str, ...]:
        """What goes before a command, so that it has this clock.  It keeps its process id."""
        return ("env", f"LD_PRELOAD={self._library}", f"STEPPING_CLOCK={self._at}")
