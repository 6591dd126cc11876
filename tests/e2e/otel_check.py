"""Compares what a run has left of spans with what follows from the spans that were sent.

It is for `tests.e2e.otel_traffic`: no span holds a secret or names a session, and the only rule of
shape that is broken is that of the times.

Source: OTel guide, 1, 4.1, 4.3 and 5.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from uuid import NAMESPACE_URL, uuid5

from streams.engine.records import position
from tests.e2e.findings import differences
from tests.e2e.history import Source, values_of
from tests.e2e.outputs import Json
from topology.otel import OTEL_EVENTS, OTEL_SPANS
from topology.saop import RTES_EVENTS

_EVENTS: Mapping[str, tuple[str, ...]] = {
    "chat": ("THOUGHT_STREAM",),
    "execute_tool": ("TOOL_LIFECYCLE_INVOKED", "TOOL_LIFECYCLE_COMPLETED"),
    "invoke_agent": ("TASK_TRANSITION", "TASK_TRANSITION"),
}
"""The events of a span, by its operation; another one has none."""
_NO_CONTENT = ("session_hint", "masked")


def verdicts(source: Source) -> Iterator[str]:
    recorded = values_of(source, OTEL_EVENTS)
    facts = {one["cause"]: (one["verdict"], one["rule"], one["first_position"]) for one in recorded}
    yield from differences("verdict on a span", facts, dict(_decided(_spans(source))))


def events(source: Source) -> Iterator[str]:
    spans = _spans(source)
    answers = dict(_decided(spans))
    accepted = [span for place, span in spans.items() if answers[place][0] == "accepted"]
    recorded = Counter(
        (event["session_id"], event["event_id"], event["payload"]["type"])
        for event in values_of(source, RTES_EVENTS)
        if event["origin"] == "otel"
    )
    yield from differences("event of a span", recorded, Counter(_events(accepted)))


def _spans(source: Source) -> dict[str, Json]:
    """Return the spans that were sent, by position; those of a partition are in order."""
    places = map(position, source.records(OTEL_SPANS))
    return dict(zip(places, values_of(source, OTEL_SPANS), strict=True))


def _decided(spans: Mapping[str, Json]) -> Iterator[tuple[str, tuple[str, str, str | None]]]:
    """Yield the position of each span with its verdict, its rule and the span that was first."""
    known: dict[tuple[str, str], tuple[str, Json]] = {}
    for place, span in spans.items():
        content = {name: each for name, each in span.items() if name not in _NO_CONTENT}
        key = span["trace_id"], span["span_id"]
        if int(span["end_time_unix_nano"]) < int(span["start_time_unix_nano"]):
            yield place, ("rejected", "time_invalid", None)
        elif key not in known:
            known[key] = place, content
            yield place, ("accepted", "span_recorded", None)
        elif known[key][1] == content:
            yield place, ("duplicate", "span_duplicate", known[key][0])
        else:
            yield place, ("rejected", "span_conflict", known[key][0])


def _events(spans: list[Json]) -> Iterator[tuple[str, str, str]]:
    """Yield the session, id and type of each event."""
    for span in spans:
        kinds = _EVENTS.get(span["attributes"].get("gen_ai.operation.name"), ())
        for number, kind in enumerate(kinds):
            name = f"headrace:otel/{span['trace_id']}/{span['span_id']}/{number}"
            yield span["trace_id"], str(uuid5(NAMESPACE_URL, name)), kind
