"""A read-only copy of fact and table topics in RocksDB, from which all queries are answered.

It can be deleted at any time: it is rebuilt from the log.  One thread drives it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import orjson

from streams.engine.log import Log, Reader
from streams.engine.records import Record, TopicPartition
from streams.engine.store import Store
from streams.errors import InfrastructureError, StoreFailed, TopicsMismatch
from streams.views.changes import Changes
from streams.views.keys import key
from streams.views.rows import FOLLOWED, answered
from topology import topics

FORMAT = 2
"""Raised when the rows of a view change their form; older copies are then rebuilt."""

_IDENTITY = key("", "identity")
_AT_END = key("", "at end")
_POLL_S = 0.02


class Position(NamedTuple):
    """A record of an input topic; topic is the full name."""

    topic: str
    partition: int
    offset: int


class ViewBehind(InfrastructureError):
    """The view has not seen in time what was asked for.  lag: records it still has to read."""

    default_advice = "Ask again later; `headrace up` or `headrace worker` must be running."

    def __init__(self, position: Position | None, lag: int) -> None:
        what = "/".join(map(str, position)) if position else "the end of the log"
        super().__init__(f"the answer to {what} was not seen in time; the view lags by {lag}")
        self.lag = lag


class View:
    """prefix: of topic names.  clock: ms since the epoch."""

    def __init__(
        self,
        log: Log,
        path: Path,
        prefix: str = "",
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._log = log
        self._clock = clock
        self._topics = {prefix + name: topics.BY_NAME[name] for name in FOLLOWED}
        self._partitions, identity = self._look()
        self._store = _open(path)
        if not self._can_go_on(identity):
            self._store.close()
            Store.destroy(path)
            self._store = _open(path)
            self._store.write({_IDENTITY: identity, _AT_END: str(clock()).encode()})
        self._positions = self._stored_positions()
        self._reader: Reader = log.reader(self._positions)

    def _look(self) -> tuple[list[TopicPartition], bytes]:
        """The partitions to follow, and what must not change under a kept copy."""
        there = self._log.topics()
        missing = sorted(set(self._topics) - set(there))
        if missing:
            raise TopicsMismatch(f"topics are missing: {', '.join(missing)}")
        followed = [there[name] for name in sorted(self._topics)]
        partitions = [TopicPartition(t.name, n) for t in followed for n in range(t.partitions)]
        identity = {
            "format": FORMAT,
            "cluster": self._log.cluster_id(),
            "topics": {topic.name: topic.topic_id for topic in followed},
        }
        return partitions, orjson.dumps(identity, option=orjson.OPT_SORT_KEYS)

    def _can_go_on(self, identity: bytes) -> bool:
        if self._store.get(_IDENTITY) != identity:
            return False
        positions = self._stored_positions()
        starts, ends = self._log.starts(self._partitions), self._log.ends(self._partitions)
        if any(not starts[tp] <= positions[tp] <= ends[tp] for tp in self._partitions):
            return False
        behind = any(positions[tp] < ends[tp] for tp in self._partitions)
        oldest = self._clock() - topics.DELETE_RETENTION_MS
        return not behind or int(self._store.get(_AT_END) or b"0") >= oldest

    def _stored_positions(self) -> dict[TopicPartition, int]:
        stored = self._store.get_many([_position_key(tp) for tp in self._partitions])
        starts = self._log.starts(self._partitions)
        return {
            tp: starts[tp] if offset is None else int(offset)
            for tp, offset in zip(self._partitions, stored, strict=True)
        }

    def step(self, timeout_s: float) -> int:
        """Read and apply what is there, waiting at most that long; how many records it was."""
        records = self._reader.poll(timeout_s)
        rows = Changes(self._store)
        for name, group in _by_topic(records).items():
            topic = self._topics[name]
            if apply := FOLLOWED[topic.name]:
                apply(topic, group, rows)
            self._note_answers(answered(topic, group), rows)
        self._note_positions(rows)
        if rows:
            self._store.write(rows)
        return len(records)

    def _note_answers(self, latest: Mapping[tuple[str, int], int], rows: Changes) -> None:
        for (topic, partition), offset in latest.items():
            place = key("", "answered", topic, partition)
            known = rows.get(place) or self._store.get(place) or b"-1"
            if offset > int(known):
                rows[place] = str(offset).encode()

    def _note_positions(self, rows: Changes) -> None:
        for tp, known in self._positions.items():
            now = self._reader.position(tp)
            if now != known:
                self._positions[tp] = now
                rows[_position_key(tp)] = str(now).encode()

    def catch_up(self, patience_s: float) -> None:
        """Read up to the ends that the topics have now.

        Raises ViewBehind when nothing was read for that long.
        """
        ends = self._log.high_watermarks(self._partitions)
        deadline = time.monotonic() + patience_s
        while self._short_of(ends):
            if self.step(_POLL_S):
                deadline = time.monotonic() + patience_s
            elif time.monotonic() >= deadline and self._short_of(ends):
                raise ViewBehind(None, self._short_of(ends))
        self._store.write({_AT_END: str(self._clock()).encode()})

    def wait(self, position: Position, timeout_s: float) -> None:
        """Until the answer to that record is seen, then up to the ends that the topics have.

        With no time to wait, what is on the log now decides.  Raises ViewBehind.
        """
        deadline = time.monotonic() + timeout_s
        while not self.has_answer(position):
            read = self.step(_POLL_S if timeout_s else 0)
            if not read and time.monotonic() >= deadline and not self.has_answer(position):
                raise ViewBehind(position, self.lag())
        self._read_to_end(deadline, position)

    def _read_to_end(self, deadline: float, position: Position | None) -> None:
        ends = self._log.high_watermarks(self._partitions)
        while self._short_of(ends):
            if not self.step(_POLL_S) and time.monotonic() >= deadline and self._short_of(ends):
                raise ViewBehind(position, self._short_of(ends))
        self._store.write({_AT_END: str(self._clock()).encode()})

    def has_answer(self, position: Position) -> bool:
        """Whether the verdict or the dead letter of that record was seen."""
        latest = self._store.get(key("", "answered", position.topic, position.partition))
        return latest is not None and int(latest) >= position.offset

    def lag(self) -> int:
        """How many offsets lie between the view and the ends that the topics have now."""
        return self._short_of(self._log.ends(self._partitions))

    def _short_of(self, ends: Mapping[TopicPartition, int]) -> int:
        return sum(max(0, end - self._positions[tp]) for tp, end in ends.items())

    def get(self, *parts: str | int) -> bytes | None:
        return self._store.get(key(*parts))

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._store.get_many(keys) if keys else []

    def scan(
        self, prefix: bytes, start: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        return self._store.scan(prefix, start, reverse=reverse)

    def close(self) -> None:
        self._reader.close()
        self._store.flush()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


def _open(path: Path) -> Store:
    try:
        return Store(path)
    except StoreFailed:
        Store.destroy(path)
        return Store(path)


def _position_key(tp: TopicPartition) -> bytes:
    return key("", "position", tp.topic, tp.partition)


def _by_topic(records: Sequence[Record]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.topic, []).append(record)
    return groups
