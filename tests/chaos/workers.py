"""Worker processes under test."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.processes import PATIENCE_S, Process, wait_for

_READY = re.compile(r"ready: tasks \[([0-9, ]*)\]")


class Worker(Process):
    """One toy worker process.  arguments: see `tests.toy_worker`; environ: its HEADRACE_ names."""

    MODULE = "tests.toy_worker"

    def __init__(
        self,
        name: str,
        state_dir: Path,
        log: Path,
        environ: Mapping[str, str],
        *arguments: str,
        before: Sequence[str] = (),
    ) -> None:
        self.state_dir = state_dir
        settings = {**environ, "HEADRACE_STATE_DIR": str(state_dir)}
        super().__init__(name, log, settings, self.MODULE, *arguments, before=before)

    def ready(self) -> list[int] | None:
        """The tasks it last said to be ready; None before that."""
        matches = _READY.findall(self.text())
        return [int(n) for n in matches[-1].split(",") if n] if matches else None

    def wait_ready(self, *tasks: int) -> None:
        """Until it has said that these tasks (any, if none are named) are ready."""

        def is_ready() -> bool:
            ready = self.ready()
            assert self.running, f"{self.name} has ended:\n{self.text()[-3000:]}"
            return ready is not None and (not tasks or ready == list(tasks))

        wait_for(is_ready, f"{self.name} ready with {tasks or 'its tasks'}")

    def abandon(self) -> None:
        """SIGKILL at the end of a test; if it still runs, something failed: have it say where it
        is (SIGUSR1 makes mode, under Faust, print its asyncio tasks; a stopped one says nothing).
        """
        if self.running:
            self.signal(signal.SIGUSR1)
            with contextlib.suppress(AssertionError):
                wait_for(lambda: "TASK _keep" in self.text(), "its tasks", 1.0)
        self.kill()

    def stop(self) -> None:
        """SIGSTOP: it does not run, and does not know."""
        self.signal(signal.SIGSTOP)

    def wake(self) -> None:
        self.signal(signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM, and do not wait."""
        self.signal(signal.SIGTERM)

    def end(self, patience_s: float = PATIENCE_S) -> None:
        """SIGTERM, and a clean end."""
        self.terminate()
        assert self.exit_code(patience_s) == 0, self.text()[-3000:]
        assert "stopped: cleanly" in self.text()
