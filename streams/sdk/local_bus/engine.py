"""The processors of SAP on a log in memory, one partition, and the clock that moves them.

Time stands still while anything is decided, and is moved as `headrace play` moves it: on the way
to a record each timer fires at its own due time, and one that is due at the very time of a record
fires after it.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.processor import Processor
from streams.engine.records import LogRecord, Output, Record
from streams.engine.scratch import scratch_parent
from streams.ops.topics import create_topics
from streams.protocols.commands import bind_files
from streams.protocols.sap.cache import SapCacheProcessor
from streams.protocols.sap.learning import SapLearningProcessor
from streams.protocols.sap.processor import SapProcessor
from streams.settings import Settings


def sap_processors() -> list[Processor]:
    return [SapProcessor(), SapCacheProcessor(), SapLearningProcessor()]


class _Clock:
    """A clock in ms that the engine sets.

    The log refers to this object instead of the engine, so the engine can be collected.
    """

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


class Engine:
    """The processors and their log, closed when it is garbage-collected.  Raises SettingsError."""

    def __init__(self, settings: Settings) -> None:
        bind_files(settings)
        folder = Path(tempfile.mkdtemp(prefix="headrace-bus-", dir=scratch_parent()))
        self._clock = _Clock()
        self._log = MemoryLog(self._clock)
        create_topics(self._log, settings)
        self._host = LocalHost(self._log, sap_processors, settings, folder / "state")
        self._written: list[LogRecord] = []
        self._log.on_append = self._written.append
        self._end = weakref.finalize(self, _end, self._host, folder)

    @property
    def now(self) -> int:
        return self._clock.now

    def move(self, target: int, *, inclusive: bool) -> None:
        """Advance the clock, never back, firing timers at their own due times.

        inclusive: also those that are due at the target itself.
        """
        last = target if inclusive else target - 1
        while (due := self._host.next_due()) is not None and due <= last:
            self._clock.now = max(self.now, due)
            self._host.run()
        self._clock.now = max(self.now, target)

    def append(self, output: Output, stamp: int) -> Record:
        """Append a command to the log and run every processor until it is idle."""
        self._log.on_append = None
        record = self._log.append_at(output, stamp)
        self._log.on_append = self._written.append
        self._host.run()
        return record

    def taken(self) -> list[LogRecord]:
        """Return and forget what the processors have written since the last call, in log order."""
        records = list(self._written)
        self._written.clear()
        return records

    def close(self) -> None:
        """Close the processors and delete their state.  Idempotent."""
        self._end()


def _end(host: LocalHost, folder: Path) -> None:
    host.close()
    shutil.rmtree(folder, ignore_errors=True)
