"""Spans in the JSON form of OtelSpan, and an otel processor on a bench."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streams.protocols.otel.processor import OtelProcessor
from streams.settings import Settings
from tests.unit.processing.harness import START_MS, Harness, Sent
from topology.core import RTES_RAW
from topology.otel import OTEL_EVENTS

__all__ = [
    "PARENT",
    "START_MS",
    "START_NS",
    "TRACE",
    "Bench",
    "Sent",
    "facts_of",
    "span",
    "whole_span",
]

Json = dict[str, Any]
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
START_NS = 1_790_000_000_000_000_000


def span(number: int = 1, /, name: str = "work", *, trace: str = TRACE, **members: Any) -> Json:
    """Return a span of 1.5 ms with a parent.  members: others, or attributes in a dict of them."""
    value: Json = {
        "trace_id": trace,
        "span_id": f"{number:016x}",
        "parent_span_id": PARENT,
        "name": name,
        "start_time_unix_nano": str(START_NS),
        "end_time_unix_nano": str(START_NS + 1_500_000),
        **members,
    }
    return {member: each for member, each in value.items() if each is not None}


def whole_span(name: str = "work", **members: Any) -> Json:
    """Return a span with all members that the mapping reads."""
    default = {"attributes": {}, "resource": {}, "events": [], "links": [], "status": "UNSET"}
    return {**default, **span(1, name, **members)}


class Bench(Harness):
    """An otel processor; each record is 1 ms later than the last."""

    def __init__(self, partitions: int = 1, **settings: Any) -> None:
        work = Settings.load({}, **settings).as_work()
        super().__init__(OtelProcessor(), work, partitions=partitions)

    def judge(self, value: Json, at: int | None = None, **record: Any) -> Json:
        """Return the fact about a span, as Avro has it."""
        facts = self.of(OTEL_EVENTS, self.decide_json(value, at, **record))
        assert len(facts) == 1
        return facts[0].value

    def rule(self, value: Json, at: int | None = None, **record: Any) -> str:
        return str(self.judge(value, at, **record)["rule"])

    def events(self, value: Json) -> list[Json]:
        """Return the events of RTES that a span becomes, as JSON."""
        return [sent.json for sent in self.of(RTES_RAW, self.decide_json(value))]


def facts_of(sent: Sequence[Sent]) -> list[Json]:
    """Return the facts among what was written, without what depends on the order of records."""
    facts = [each.json for each in sent if each.topic is OTEL_EVENTS]
    for fact in facts:
        for name in ("event_id", "cause", "at", "first_position"):
            del fact[name]
    return facts
