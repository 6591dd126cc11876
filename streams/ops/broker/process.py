"""Processes, identified by id and start time, so that a reused id is not mistaken."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

_LAUNCH = Path(__file__).with_name("launch.py")


class Process(NamedTuple):
    """A process.  ticks: its start time in kernel ticks since boot."""

    pid: int
    ticks: int

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """Return the live process with that id, None if there is none."""
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        state, *fields = text[text.rindex(")") + 2 :].split()
        return None if state in "ZX" else cls(pid, int(fields[18]))

    def alive(self) -> bool:
        return Process.of(self.pid) == self

    def end(self, patience_s: float) -> None:
        """Send SIGTERM, and SIGKILL after `patience_s`; return when the process has ended."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self.alive():
                _signal(handle, signal.SIGTERM)
                if not _wait_for_exit(handle, patience_s):
                    _signal(handle, signal.SIGKILL)
                    _wait_for_exit(handle, patience_s)
        finally:
            os.close(handle)


def _signal(handle: int, number: signal.Signals) -> None:
    try:
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return


def _wait_for_exit(handle: int, patience_s: float) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(patience_s * 1000))


class Child:
    """A process started here, in its own session so that Ctrl-C does not reach it.

    bound: it gets SIGTERM when this process ends, however that happens.  The kernel binds it to the
    thread that started it, so a thread stays alive for it, which also reaps it.
    """

    def __init__(self, command: Sequence[str], log: Path, *, bound: bool) -> None:
        launch = [sys.executable, "-I", "-S", str(_LAUNCH), str(os.getpid())] if bound else []
        self.exit_code: Future[int] = Future()
        started_pid: Future[int] = Future()
        threading.Thread(
            target=self._run, args=([*launch, *command], log, started_pid), daemon=True
        ).start()
        pid = started_pid.result()
        self.process = Process.of(pid) or Process(pid, 0)

    def _run(self, command: Sequence[str], log: Path, started_pid: Future[int]) -> None:
        try:
            with log.open("wb") as output:
                child = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as exc:
            started_pid.set_exception(exc)
            return
        started_pid.set_result(child.pid)
        self.exit_code.set_result(child.wait())
