"""Drives one task of the toy over either log, in one thread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from streams.engine.batch import Batch
from streams.engine.records import Record, TopicPartition
from streams.engine.task import Task
from tests.contract.twins import Twin, until
from tests.toy import ToyProcessor


class Driver:
    """A task with its reader.  Every call ends with nothing in flight.

    toy: how the processor is made (`second`, `tolerant`).  batch: records of one cycle.
    mac_key, mac_since: settings of MACs.
    """

    def __init__(
        self,
        twin: Twin,
        directory: Path,
        *,
        batch: int = 1000,
        mac_key: str | None = None,
        mac_since: str | None = None,
        **toy: bool,
    ) -> None:
        self.twin = twin
        self.cycles = 0
        self._closed = False
        settings = twin.settings(batch=batch, mac_key=mac_key, mac_since=mac_since)
        self.task = Task(0, [ToyProcessor(**toy)], twin.log, settings, directory, twin.clock)
        try:
            self.task.open()
        except BaseException:
            self.task.close()
            raise
        self.reader = twin.log.reader(self.task.resume())

    def fetch(self) -> None:
        """Everything that is committed by now."""
        ends = self.twin.log.ends(list(self.task.tps))

        def fetched() -> bool:
            self._put(self.reader.poll(0.05))
            for tp in self.task.tps:
                self.task.set_fetch_position(tp, self.reader.position(tp), ends[tp])
            return all(self.reader.position(tp) >= ends[tp] for tp in ends)

        until(fetched)

    def _put(self, records: list[Record]) -> None:
        by_tp: dict[TopicPartition, list[Record]] = {}
        for record in records:
            by_tp.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
        for tp, some in by_tp.items():
            self.task.put(tp, some)

    def step(self) -> bool:
        """Decide and commit one cycle of what was fetched."""
        return self._commit(self.task.next_batch())

    def fire(self) -> bool:
        """One cycle of due timers, behind the gate."""
        if self.task.needs_end_offsets:
            self.task.read_end_offsets()
        limit = self.task.timers_due()
        return limit is not None and self._commit(self.task.fire(limit))

    def drain(self) -> None:
        """Until everything committed is decided and what is due has fired."""
        self.fetch()
        while self.step() or self._fire_then_fetch():
            pass

    def _fire_then_fetch(self) -> bool:
        fired = self.fire()
        self.fetch()
        return fired

    def _commit(self, cycle: Batch | None) -> bool:
        if cycle is None:
            return False
        self.task.submit(cycle)
        self.task.commit(cycle)
        self.task.mark_committed()
        self.cycles += 1
        return True

    def rows(self) -> dict[str, dict[bytes, bytes]]:
        """All rows that the store holds, by table."""
        names = ("toy.rows", "toy-open", "timers", "input-positions", "known-inputs")
        return {name: dict(self._scan(name)) for name in names}

    def _scan(self, table: str) -> Iterator[tuple[bytes, bytes]]:
        yield from self.task._state.scan(table)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.reader.close()
            self.task.close()

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
