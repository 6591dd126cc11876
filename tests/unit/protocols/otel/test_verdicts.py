"""The verdict on each span, by rule."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.otel import rules
from tests.unit.protocols.otel.support import PARENT, TRACE, Bench, span
from topology.core import LINEAGE_EDGES, RTES_RAW
from topology.keys import partition_of
from topology.otel import OTEL_EVENTS, OTEL_SPANS

MODEL = {"gen_ai.operation.name": "chat"}
NAMED = {"session.id": "sess-1"}


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"trace": "0" * 32}, "trace_id_invalid"),
        ({"trace": TRACE.upper()}, "trace_id_invalid"),
        ({"trace": TRACE[2:]}, "trace_id_invalid"),
        ({"span_id": "0" * 16}, "span_id_invalid"),
        ({"span_id": "abc"}, "span_id_invalid"),
        ({"parent_span_id": "0" * 16}, "parent_id_invalid"),
        ({"start_time_unix_nano": "0"}, "time_invalid"),
        ({"start_time_unix_nano": "-1"}, "time_invalid"),
        ({"end_time_unix_nano": "1"}, "time_invalid"),
        ({"end_time_unix_nano": str(2**63)}, "time_invalid"),
        ({"refused": "text_invalid"}, "text_invalid"),
        ({"attributes": {f"a{n}": n for n in range(1025)}}, "attributes_too_many"),
        ({"resource": {f"a{n}": n for n in range(1025)}}, "attributes_too_many"),
        ({"events": [{"attributes": {f"a{n}": n for n in range(1025)}}]}, "attributes_too_many"),
        ({"attributes": {"a": nested(65)}}, "nesting_too_deep"),
        ({"links": [{"attributes": {"a": nested(65)}}]}, "nesting_too_deep"),
        ({"attributes": []}, "schema_invalid"),
        ({"attributes": "no JSON"}, "schema_invalid"),
        ({"events": {}}, "schema_invalid"),
    ],
)
def test_a_span_that_breaks_a_rule_is_refused_with_it(changes: dict[str, Any], rule: str) -> None:
    bench = Bench()
    sent = bench.decide_json(span(**changes))
    (fact,) = [each.value for each in sent]
    assert (fact["verdict"], fact["rule"], fact["fault"]) == ("rejected", rule, "sender")
    assert fact["errors"][0]["rule"] == rule
    assert fact["span"]["name"] == "work"
    assert not any(bench.tables.values())


@pytest.mark.parametrize(
    "changes",
    [
        {"attributes": {f"a{n}": n for n in range(1024)}},
        {"attributes": {"a": nested(64)}},
        {"end_time_unix_nano": str(2**63 - 1)},
        {"start_time_unix_nano": "1", "end_time_unix_nano": "1"},
    ],
)
def test_a_span_at_a_bound_is_recorded(changes: dict[str, Any]) -> None:
    assert Bench().rule(span(**changes)) == "span_recorded"


def test_a_span_under_another_key_or_on_another_partition_is_refused() -> None:
    bench = Bench(partitions=4)
    assert bench.rule(span(), key="another") == "key_mismatch"
    assert bench.rule(span(), key=None, partition=0) == "key_mismatch"
    elsewhere = (partition_of(TRACE.encode(), 4) + 1) % 4
    assert bench.rule(span(), partition=elsewhere) == "partition_mismatch"


def test_the_same_span_again_is_a_duplicate_and_another_one_a_conflict() -> None:
    bench = Bench()
    assert bench.rule(span(attributes=MODEL)) == "span_recorded"
    for repeated in (span(attributes=MODEL), span(attributes=MODEL, session_hint="s", masked=3)):
        sent = bench.decide_json(repeated)
        (fact,) = [each.value for each in sent]
        assert (fact["verdict"], fact["rule"]) == ("duplicate", "span_duplicate")
        assert (fact["first_position"], fact["span"]) == (f"{OTEL_SPANS.name}/0/0", None)
    (fact,) = [each.value for each in bench.decide_json(span(attributes=MODEL, name="another"))]
    assert (fact["verdict"], fact["rule"]) == ("rejected", "span_conflict")
    assert fact["first_position"] == f"{OTEL_SPANS.name}/0/0"
    assert fact["span"]["name"] == "another"


def test_a_span_of_another_trace_may_have_the_same_id() -> None:
    bench = Bench()
    assert [bench.rule(span(trace=each)) for each in (TRACE, "a" * 32)] == ["span_recorded"] * 2


@pytest.mark.parametrize(("parent", "edges"), [(PARENT, 2), (None, 1)])
def test_a_span_that_is_work_joins_the_lineage_graph(parent: str | None, edges: int) -> None:
    bench = Bench()
    sent = bench.of(LINEAGE_EDGES, bench.decide_json(span(parent_span_id=parent, attributes=MODEL)))
    node = f"otel:span:{TRACE}/0000000000000001"
    edge_names = [
        (each.value["from_node"], each.value["relation"], each.value["to_node"]) for each in sent
    ]
    assert (
        edge_names
        == [
            (node, "same_trace", f"trace:{TRACE}"),
            (node, "child_of", f"otel:span:{TRACE}/{PARENT}"),
        ][:edges]
    )


def test_what_a_span_causes_belongs_to_its_trace() -> None:
    bench = Bench()
    sent = bench.decide_json(span(attributes=MODEL))
    assert {each.topic for each in sent} == {OTEL_EVENTS, RTES_RAW, LINEAGE_EDGES}
    assert {each.traceparent for each in sent} == {f"00-{TRACE}-0000000000000001-01".encode()}


def test_the_session_is_the_spans_own_then_the_requests_the_traces_or_the_trace() -> None:
    bench = Bench()
    assert bench.judge(span(1))["session_id"] == TRACE
    assert bench.judge(span(2, session_hint="hint"))["session_id"] == "hint"
    assert bench.judge(span(3))["session_id"] == TRACE
    assert bench.judge(span(4, attributes=NAMED, session_hint="hint"))["session_id"] == "sess-1"
    assert bench.judge(span(5))["session_id"] == "sess-1"
    assert bench.judge(span(6, session_hint="hint"))["session_id"] == "hint"
    assert bench.judge(span(7))["session_id"] == "sess-1"


def test_a_span_that_writes_too_much_is_refused_without_it() -> None:
    bench = Bench()
    message = bench.message(span())
    (fact,) = [each.value for each in bench.too_large(message, OTEL_EVENTS, 1 << 30)]
    assert (fact["rule"], fact["fault"]) == (rules.OUTPUT_TOO_LARGE.code, "service")
    assert fact["span"] is None
