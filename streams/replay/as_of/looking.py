"""What a look back rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas import decode
from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.errors import Gone
from streams.log.fetching import fetched
from streams.replay.as_of.point import AsOf, place_of
from streams.replay.as_of.steps import Step, kept
from streams.replay.fold.folding import CommandGone, Folding, Row
from streams.views.positions import Position
from streams.views.reads import Reads
from topology import topics
from topology.declarations import Topic


@dataclass(frozen=True)
class Looking:
    """view: as it is now.  ids: of the path, and parameters of the query that name a thing."""

    view: Reads
    log: Log
    prefix: str
    as_of: AsOf
    ids: Mapping[str, str]
    _fetched: dict[str, Any] = field(default_factory=dict)

    def place(self, topic: Topic, partition: int, offset: int) -> Position:
        return Position(self.prefix + topic.name, partition, offset)

    def caused(self, cause: str) -> tuple[Position, ...]:
        found = place_of(cause)
        return () if found is None else (found,)

    def until(self, steps: Sequence[Step]) -> int:
        """How many of these lie at the point or before it."""
        return kept(steps, self.as_of)

    def folded(self, folding: Folding, steps: Sequence[Step], key: str) -> Row | None:
        """The row of that key after these steps.  Raises Gone."""
        row: Row | None = None
        try:
            for step in steps:
                if folding.row_key(step.topic, step.value) == key:
                    row = folding.step(row, step.topic, step.value, self.command)
        except CommandGone as exc:
            raise Gone(f"the record at {exc} is not kept any more", "command_gone") from exc
        return row

    def command(self, position: str) -> Any:
        """The Avro value of the record there, None when it is there no more."""
        if position not in self._fetched:
            self._fetch([position])
        return self._fetched[position]

    def fetch(self, positions: Sequence[str]) -> None:
        """Have these commands at hand; only a matter of speed."""
        missing = sorted({each for each in positions if each not in self._fetched})
        if missing:
            self._fetch(missing)

    def _fetch(self, positions: Sequence[str]) -> None:
        wanted: dict[TopicPartition, set[int]] = {}
        for text in positions:
            self._fetched[text] = None
            topic, partition, offset = text.split("/")
            wanted.setdefault(TopicPartition(topic, int(partition)), set()).add(int(offset))
        for tp, offsets in wanted.items():
            for record in fetched(self.log, tp, offsets):
                self._note(record)

    def _note(self, record: Record) -> None:
        topic = topics.BY_NAME[record.topic.removeprefix(self.prefix)]
        text = f"{record.topic}/{record.partition}/{record.offset}"
        self._fetched[text] = value_of(topic, record.value)


def value_of(topic: Topic, row: bytes | None) -> Any:
    """As Avro."""
    return decode(row, topic.record or "").value
