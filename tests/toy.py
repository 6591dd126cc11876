"""A small topology and its processor, with which the engine is tested on both logs.

Inputs carry a map of strings (`headrace.core.TimerRow` is such a record):
  id: counted in the row of its key; each record leaves one fact
  timer: ms after the record's time at which a timer fires, unless `answer` names it in time
  poison: the decide step raises
  large: bytes of text in the fact, to exceed the topic's limit
`toy.second` is a second input of the same processor, merged by time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schemas import encode
from streams.engine.log import NewTopic
from streams.engine.processor import Message, ProcessorContext, Timer
from streams.engine.records import Output, header, position
from topology.core import CHANGELOG
from topology.declarations import ProcessorDeclaration, Table, Topic, TopicKind
from topology.topics import config_of, dead_letters_of

RECORD = "headrace.core.TimerRow"
INPUT = Topic("toy.in", TopicKind.COMMAND, RECORD, "id", "what is to be counted")
SECOND = Topic("toy.second", TopicKind.INTERNAL, RECORD, "id", "a second input")
FACTS = Topic("toy.facts", TopicKind.FACT, RECORD, "id", "one per record", max_bytes=64 << 10)
ROWS = Topic("toy.rows", TopicKind.TABLE, RECORD, "id", "how often each id was seen")
COUNTS = Table("toy.rows", RECORD, "id", "how often each id was seen", topic=ROWS)
OPEN = Table("toy-open", RECORD, "id", "what waits for an answer")


class ToyProcessor:
    """Counts, times and fails on demand.  tolerant: does not fail for poison in records."""

    def __init__(self, *, second: bool = False, tolerant: bool = False) -> None:
        self._tolerant = tolerant
        self.declaration = ProcessorDeclaration(
            "toy",
            "for tests",
            (INPUT, SECOND) if second else (INPUT,),
            (FACTS, ROWS),
            (COUNTS, OPEN),
        )

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        ctx.rows(COUNTS).load(m.value["data"].get("id", "") for m in batch)
        for message in batch:
            self._one(message, ctx)

    def _one(self, message: Message, ctx: ProcessorContext) -> None:
        data = message.value["data"]
        record = message.record
        ctx.cause = position(record)
        if "poison" in data and not self._tolerant:
            raise ValueError(f"poison {data['id']}")
        ident = data["id"]
        counts = ctx.rows(COUNTS)
        row = counts.get(ident) or {"data": {"n": "0"}}
        row["data"]["n"] = str(int(row["data"]["n"]) + 1)
        counts.put(ident, row)
        fact = {"id": ident, "n": row["data"]["n"], "kind": "seen", "topic": message.topic.name}
        if "timer" in data:
            due = record.timestamp + int(data["timer"])
            ctx.set_timer(Timer(due, "toy.wait", ident, {"cause": ctx.cause}))
            ctx.rows(OPEN).put(ident, {"data": {"due": str(due)}})
        if "answer" in data:
            fact["kind"] = self._answer(ident, record.timestamp, ctx)
        if "large" in data:
            fact["text"] = "x" * int(data["large"])
        self._send(ident, fact, record.timestamp, ctx, header(record, "traceparent"))

    def _answer(self, ident: str, at: int, ctx: ProcessorContext) -> str:
        row = ctx.rows(OPEN).get(ident)
        if row is None or at >= int(row["data"]["due"]):
            return "late"
        ctx.rows(OPEN).delete(ident)
        ctx.delete_timer(int(row["data"]["due"]), "toy.wait", ident)
        return "answered"

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        for timer in timers:
            ctx.cause = timer.data["cause"]
            if timer.key.startswith("bad"):
                raise ValueError("a timer that fails")
            ctx.rows(OPEN).delete(timer.key)
            fact = {"id": timer.key, "kind": "fired", "due": str(timer.due_ms)}
            self._send(timer.key, fact, now_ms, ctx)

    def too_large(self, message: Message, topic: Topic, size: int, ctx: ProcessorContext) -> None:
        ctx.cause = position(message.record)
        fact = {"id": message.value["data"]["id"], "kind": "too_large", "topic": topic.name}
        self._send(fact["id"], fact, message.record.timestamp, ctx)

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value

    def _send(
        self,
        key: str,
        data: dict[str, str],
        at: int,
        ctx: ProcessorContext,
        trace: bytes | None = None,
    ) -> None:
        id = f"{ctx.cause}/{data['kind']}"
        value = {"data": data}
        ctx.send(FACTS, key, value, id=id, at=at, cause=ctx.cause, traceparent=trace)


def toy_topics(partitions: int, prefix: str = "") -> list[NewTopic]:
    """Everything the toy needs, for `Log.create`."""
    declared = [INPUT, SECOND, FACTS, ROWS, CHANGELOG]
    topics = [NewTopic(prefix + t.name, partitions, config_of(t)) for t in declared]
    dead = [dead_letters_of(INPUT), dead_letters_of(SECOND)]
    return topics + [NewTopic(prefix + t.name, 1, config_of(t)) for t in dead]


def toy_record(ident: str, *, topic: Topic = INPUT, prefix: str = "", **data: Any) -> Output:
    """One input record, to be appended."""
    value = {"data": {"id": ident} | {name: str(v) for name, v in data.items()}}
    return Output(prefix + topic.name, ident.encode(), encode(RECORD, value))
