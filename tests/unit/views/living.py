"""A live view over the system in memory."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from streams.engine.log import Pace
from streams.engine.memory import MemoryReader
from streams.engine.records import Record, TopicPartition
from streams.errors import BrokerUnavailable
from streams.view_store.live import LiveView
from streams.views.parse import parse_position
from streams.views.positions import Position
from streams.views.reads import ReadOnlyStore
from streams.views.status import State
from tests.processes import wait_for
from tests.unit.views.bench import Bench

PATIENCE_S = 60.0


def until(live: LiveView, state: State, why: str = "") -> None:
    """Wait for a state, with a reason that holds these words."""

    def there() -> bool:
        status = live.status()
        return status.state == state and why in (status.reason or "")

    wait_for(there, f"{state} {why}: {live.status()}", PATIENCE_S, 0.005)


def live_over(bench: Bench, folder: str = "live") -> LiveView:
    return LiveView(bench.log, bench.folder / folder, bench.settings, lambda: bench.now)


def to_position(position: str) -> Position:
    return parse_position(position)


def rows_of(reads: ReadOnlyStore) -> dict[bytes, bytes]:
    """Everything but what a view notes of itself."""
    return {key: row for key, row in reads.scan(b"") if not key.startswith(b"\0\1")}


def rows_file(folder: Path) -> Path:
    return next(iter(sorted(folder.rglob("*.sst"))))


class Outage:
    """A log whose broker can be taken away, as far as a view asks it."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.away = threading.Event()
        self.asked = threading.Event()
        log = bench.log
        for name in ("ends", "starts", "high_watermarks", "topics", "topic_ids", "cluster_id"):
            setattr(self, name, self._guarded(getattr(log, name)))

    def _guarded(self, question: object) -> object:
        def ask(*arguments: object) -> object:
            self.check()
            assert callable(question)
            return question(*arguments)

        return ask

    def check(self) -> None:
        if self.away.is_set():
            self.asked.set()
            raise BrokerUnavailable("nobody answers")

    def reader(
        self, positions: Mapping[TopicPartition, int], pace: Pace = Pace.END
    ) -> MemoryReader:
        return _Cut(self, positions)


class _Cut(MemoryReader):
    def __init__(self, outage: Outage, positions: Mapping[TopicPartition, int]) -> None:
        super().__init__(outage.bench.log, positions)
        self._outage = outage

    def poll(self, timeout_s: float, max_records: int = 10_000) -> list[Record]:
        self._outage.check()
        return super().poll(timeout_s, max_records)
