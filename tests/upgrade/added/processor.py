"""The processor that the next version adds: one fact for each note, and two rows for each id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.engine.processor import Message, ProcessorContext, Timer
from streams.engine.records import position
from tests.upgrade.added.declared import COUNTS, KEPT, LATEST, NOTES
from topology.declarations import Topic

REMIND_MS = 3_600_000


class NotesProcessor:
    """Counts notes, and asks to be reminded of each new id."""

    declaration = NOTES

    def decide(self, batch: Sequence[Message], work: ProcessorContext) -> None:
        for message in batch:
            work.cause = position(message.record)
            self._one(message.value["data"]["id"], message.record.timestamp, work)

    def _one(self, ident: str, at: int, work: ProcessorContext) -> None:
        row = work.rows(COUNTS).get(ident)
        count = int(row["data"]["n"]) if row else 0
        if not count:
            work.set_timer(Timer(at + REMIND_MS, "notes.remind", ident, {"id": ident}))
        row_after = {"data": {"id": ident, "n": str(count + 1)}}
        work.rows(COUNTS).put(ident, row_after)
        work.rows(LATEST).put(ident, {"data": {"at": str(at)}})
        work.send(KEPT, ident, row_after, id=f"{work.cause}/0", at=at, cause=work.cause)

    def fire(self, timers: Sequence[Timer], now_ms: int, work: ProcessorContext) -> None:
        """A reminder is nothing more than that."""

    def too_large(self, message: Message, topic: Topic, size: int, work: ProcessorContext) -> None:
        raise ValueError(f"{size} bytes for {topic.name}, which takes {topic.max_bytes}")

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value
