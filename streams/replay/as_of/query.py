"""The inputs of an as-of query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas import decode
from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.errors import Gone
from streams.log.fetching import read_offsets
from streams.replay.as_of.point import AsOf, cause_position
from streams.replay.as_of.steps import Step, count_until
from streams.replay.fold.fold import CommandGone, Fold, Row
from streams.views.positions import Position
from streams.views.reads import ReadOnlyStore
from topology import topics
from topology.declarations import Topic


@dataclass(frozen=True)
class AsOfQuery:
    """The inputs of an as-of query.

    view: the current view.  ids: path parameters, and query parameters that name a thing.
    """

    view: ReadOnlyStore
    log: Log
    prefix: str
    as_of: AsOf
    ids: Mapping[str, str]
    _fetched: dict[str, Any] = field(default_factory=dict)

    def position_of(self, topic: Topic, partition: int, offset: int) -> Position:
        return Position(self.prefix + topic.name, partition, offset)

    def caused(self, cause: str) -> tuple[Position, ...]:
        position = cause_position(cause)
        return () if position is None else (position,)

    def until(self, steps: Sequence[Step]) -> int:
        """Return how many of these steps lie at the point or before it."""
        return count_until(steps, self.as_of)

    def folded(self, folding: Fold, steps: Sequence[Step], key: str) -> Row | None:
        """Return the row of a key after these steps.  Raises Gone."""
        row: Row | None = None
        try:
            for step in steps:
                if folding.row_key(step.topic, step.value) == key:
                    row = folding.step(row, step.topic, step.value, self.command)
        except CommandGone as exc:
            raise Gone(f"the record at {exc} is not kept any more", "command_gone") from exc
        return row

    def command(self, position: str) -> Any:
        """Return the Avro value of the record at a position, None if it is gone."""
        if position not in self._fetched:
            self._fetch([position])
        return self._fetched[position]

    def fetch(self, positions: Sequence[str]) -> None:
        """Fetch these commands in one pass; this only saves time."""
        missing = sorted({each for each in positions if each not in self._fetched})
        if missing:
            self._fetch(missing)

    def _fetch(self, positions: Sequence[str]) -> None:
        offsets_of: dict[TopicPartition, set[int]] = {}
        for text in positions:
            self._fetched[text] = None
            topic, partition, offset = text.split("/")
            offsets_of.setdefault(TopicPartition(topic, int(partition)), set()).add(int(offset))
        for tp, offsets in offsets_of.items():
            for record in read_offsets(self.log, tp, offsets):
                self._store(record)

    def _store(self, record: Record) -> None:
        topic = topics.BY_NAME[record.topic.removeprefix(self.prefix)]
        text = f"{record.topic}/{record.partition}/{record.offset}"
        self._fetched[text] = value_of(topic, record.value)


def value_of(topic: Topic, row: bytes | None) -> Any:
    """Return a row as its Avro value."""
    return decode(row, topic.record or "").value
