"""Tasks over the in-memory log, driven step by step in one thread: `headrace play` and tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from streams.engine.batch import Batch
from streams.engine.global_tables import GlobalTables, replicate
from streams.engine.log import Reader
from streams.engine.memory import MemoryLog
from streams.engine.metrics import WorkerMetrics
from streams.engine.processor import Processor
from streams.engine.records import Record, TopicPartition
from streams.engine.task import Task
from streams.settings.service import ServiceSettings


class LocalTask:
    """One task with its reader.  No commit is in flight when a call returns."""

    def __init__(
        self,
        partition: int,
        processors: Sequence[Processor],
        source: MemoryLog,
        settings: ServiceSettings,
        directory: Path,
        copies: GlobalTables | None = None,
        metrics: WorkerMetrics | None = None,
    ) -> None:
        self._copies = copies
        clock = source.clock
        self.task = Task(
            partition, processors, source, settings, directory, clock, copies, metrics=metrics
        )
        self.task.open()
        self._reader: Reader = source.reader(self.task.resume())
        self._source = source

    def step(self) -> bool:
        """Fetch, decide and commit one cycle; return False when there was nothing to do."""
        self._fetch()
        if self._copies is not None:
            self._copies.poll(0)
            self.task.mark_caught_up(self.task.processors_to_catch_up())
        cycle = self.task.next_batch()
        if cycle is None:
            return False
        self._commit(cycle)
        return True

    def fire(self) -> bool:
        """Fire timers that are due by the log's clock, behind the gate."""
        if self.task.needs_end_offsets:
            self.task.read_end_offsets()
        limit = self.task.timers_due()
        cycle = None if limit is None else self.task.fire(limit)
        if cycle is None:
            return False
        self._commit(cycle)
        return True

    def _fetch(self) -> None:
        by_tp: dict[TopicPartition, list[Record]] = {}
        for record in self._reader.poll(0):
            by_tp.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
        ends = self._source.ends(list(self.task.tps))
        for tp in self.task.tps:
            if tp in by_tp:
                self.task.put(tp, by_tp[tp])
            self.task.set_fetch_position(tp, self._reader.position(tp), ends[tp])
        self._source.note_committed(self.task.committed_offsets())

    def _commit(self, cycle: Batch) -> None:
        self.task.submit(cycle)
        self.task.commit(cycle)
        self.task.mark_committed()

    def close(self) -> None:
        self._reader.close()
        self.task.close()


class LocalHost:
    """All tasks of one environment on an in-memory log.

    processors: called once per task.  `restart` closes everything and opens it again with empty
    directories, so that every table is restored from the log.
    """

    def __init__(
        self,
        source: MemoryLog,
        processors: Callable[[], Sequence[Processor]],
        settings: ServiceSettings,
        directory: Path,
        metrics: WorkerMetrics | None = None,
    ) -> None:
        self._source = source
        self._processors = processors
        self._settings = settings
        self._metrics = metrics
        self._directory = directory
        self._starts = 0
        self.tasks: list[LocalTask] = []
        self._open()

    def _open(self) -> None:
        self._starts += 1
        directory = self._directory / str(self._starts)
        settings = self._settings
        declarations = [p.declaration for p in self._processors()]
        self._copies = replicate(directory / "copies", self._source, settings, declarations)
        self._copies.open()
        self.tasks = [
            LocalTask(
                p,
                self._processors(),
                self._source,
                settings,
                directory,
                self._copies,
                self._metrics,
            )
            for p in range(settings.partitions)
        ]

    def run(self) -> None:
        """Run until every task is idle; timers that are due by now have fired."""
        while self._round():
            pass

    def _round(self) -> bool:
        stepped = [task.step() for task in self.tasks]
        return any(stepped) or any(task.fire() for task in self.tasks)

    def next_due(self) -> int | None:
        """Return the due time of the earliest timer of all tasks, in ms."""
        return min((d for t in self.tasks if (d := t.task.next_due) is not None), default=None)

    def restart(self) -> None:
        self.close()
        self._open()

    def close(self) -> None:
        for task in self.tasks:
            task.close()
        self._copies.close()
