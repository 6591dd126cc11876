"""Secrets in any place of a span are masked at the edge, and in the processor."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import encode, from_json
from streams.masking import Masker
from streams.protocols.otel.masking import mask_span
from tests.unit.protocols.otel.support import Bench, span, whole_span

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
TOOL = {"gen_ai.operation.name": "execute_tool"}
PLACES: dict[str, dict[str, Any]] = {
    "attributes": {"attributes": {"note": f"with {SECRET}"}},
    "nested": {"attributes": {"notes": [{"deep": [SECRET]}]}},
    "named": {"attributes": {"db.password": "hunter2hunter2"}},
    "member name": {"attributes": {SECRET: 1}},
    "resource": {"resource": {"process.command_line": f"run --token {SECRET}"}},
    "events": {"events": [{"name": "e", "attributes": {"exception.message": SECRET}}]},
    "links": {"links": [{"attributes": {"note": SECRET}}]},
    "status message": {"status_message": f"refused {SECRET}"},
    "tool arguments": {
        "attributes": {**TOOL, "gen_ai.tool.call.arguments": f'{{"key": "{SECRET}"}}'}
    },
    "answer": {"attributes": {"gen_ai.operation.name": "chat", "output.value": SECRET}},
}


def written(bench: Bench) -> bytes:
    """Return every byte that left the processor."""
    records = [encode(each.topic.record or "", each.value) for each in bench.sent]
    rows = [raw for table in bench.tables.values() for raw in table.values()]
    return b"\n".join([*records, *rows])


@pytest.mark.parametrize("place", PLACES)
def test_no_secret_leaves_the_processor(place: str) -> None:
    bench = Bench()
    fact = bench.judge(span(**PLACES[place]))
    assert fact["rule"] == "span_recorded"
    assert SECRET.encode() not in written(bench)
    assert b"hunter2" not in written(bench)
    assert b"[REDACTED:" in written(bench)
    assert fact["span"]["masked"] == (place != "member name")


@pytest.mark.parametrize("place", PLACES)
def test_no_secret_of_a_refused_span_leaves_the_processor(place: str) -> None:
    bench = Bench()
    assert bench.rule(span(span_id="x", **PLACES[place])) == "span_id_invalid"
    assert SECRET.encode() not in written(bench)
    assert b"hunter2" not in written(bench)


@pytest.mark.parametrize("place", PLACES)
def test_a_span_masked_at_the_edge_is_the_same_for_the_processor(place: str) -> None:
    sent, masker = span(**PLACES[place]), Masker()
    masked = mask_span(sent, masker)
    assert mask_span(masked, masker) == masked
    bench = Bench()
    assert bench.rule(sent) == "span_recorded"
    assert bench.rule(masked) == "span_duplicate"


def test_names_ids_and_numbers_are_kept() -> None:
    unmasked = {
        "session.id": SECRET,
        "gen_ai.tool.name": "get_password",
        "gen_ai.usage.input_tokens": 12,
    }
    value = whole_span(name=SECRET, attributes=unmasked, resource={"service.name": SECRET})
    masked = mask_span(value, Masker())
    assert masked["attributes"] == unmasked
    assert (masked["name"], masked["resource"]) == (SECRET, {"service.name": SECRET})


def test_masking_can_be_turned_off() -> None:
    fact = Bench(otel_mask=False).judge(span(attributes={"note": SECRET}))
    assert SECRET in fact["span"]["attributes_json"]


def test_a_record_that_cannot_be_decoded_is_masked_in_its_dead_letter() -> None:
    bench = Bench()
    data = encode("headrace.otel.OtelSpan", from_json("headrace.otel.OtelSpan", span(name=SECRET)))
    topic = bench.input
    masked = bench.processor.dead_letter(topic, data, bench.settings)
    assert masked is not None
    assert SECRET.encode() not in masked
    assert bench.processor.dead_letter(topic, None, bench.settings) is None
