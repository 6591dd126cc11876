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

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        for message in batch:
            ctx.cause = position(message.record)
            self._one(message.value["data"]["id"], message.record.timestamp, ctx)

    def _one(self, ident: str, at: int, ctx: ProcessorContext) -> None:
        row = ctx.rows(COUNTS).get(ident)
        count = int(row["data"]["n"]) if row else 0
        if not count:
            ctx.set_timer(Timer(at + REMIND_MS, "notes.remind", ident, {"id": ident}))
        row_after = {"data": {"id": ident, "n": str(count + 1)}}
        ctx.rows(COUNTS).put(ident, row_after)
        ctx.rows(LATEST).put(ident, {"data": {"at": str(at)}})
        ctx.send(KEPT, ident, row_after, id=f"{ctx.cause}/0", at=at, cause=ctx.cause)

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        """A reminder is nothing more than that."""

    def too_large(self, message: Message, topic: Topic, size: int, ctx: ProcessorContext) -> None:
        raise ValueError(f"{size} bytes for {topic.name}, which takes {topic.max_bytes}")

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value
