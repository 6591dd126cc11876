"""Processes that are known by id and start time, so that a reused id is never taken for one."""

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
    """ticks: the start time as the kernel counts it, since boot."""

    pid: int
    ticks: int

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """The live process of that id."""
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        state, *rest = text[text.rindex(")") + 2 :].split()
        return None if state in "ZX" else cls(pid, int(rest[18]))

    def alive(self) -> bool:
        return Process.of(self.pid) == self

    def end(self, patience_s: float) -> None:
        """SIGTERM, then SIGKILL if it is still there after patience_s.  Returns when it is gone."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self.alive():
                _signal(handle, signal.SIGTERM)
                if not _gone(handle, patience_s):
                    _signal(handle, signal.SIGKILL)
                    _gone(handle, patience_s)
        finally:
            os.close(handle)


def _signal(handle: int, number: signal.Signals) -> None:
    try:
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return


def _gone(handle: int, patience_s: float) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(patience_s * 1000))


class Child:
    """A process started here, in a session of its own so that Ctrl-C does not reach it.

    bound: it gets SIGTERM when this process ends, however that ends.  The kernel binds it to the
    thread that started it, so a thread is kept for it, which also reaps it.
    """

    def __init__(self, command: Sequence[str], log: Path, *, bound: bool) -> None:
        launch = [sys.executable, "-I", "-S", str(_LAUNCH), str(os.getpid())] if bound else []
        self.exit_code: Future[int] = Future()
        begun: Future[int] = Future()
        threading.Thread(
            target=self._live, args=([*launch, *command], log, begun), daemon=True
        ).start()
        pid = begun.result()
        self.process = Process.of(pid) or Process(pid, 0)

    def _live(self, command: Sequence[str], log: Path, begun: Future[int]) -> None:
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
            begun.set_exception(exc)
            return
        begun.set_result(child.pid)
        self.exit_code.set_result(child.wait())
