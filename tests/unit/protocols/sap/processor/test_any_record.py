"""Whatever lies on a command topic gets one verdict, and never an exception."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import from_json
from streams.engine.processor import AvroValue
from tests.examples import example_count
from tests.unit.protocols.sap.processor.support import Bench, Json, result, signal, task
from topology.declarations import Topic
from topology.sap import SAP_ACKS, SAP_RESULTS, SAP_SIGNALS, SAP_TASK_STATES_TABLE, SAP_TASKS

TEXTS = st.text(max_size=8) | st.sampled_from(
    ["2.0", "RUNNING", "bypass", "2026-01-01T00:00:00Z", " "]
)
JSON_TEXTS = st.sampled_from(
    ["{", "[]", "3", '"x"', "null", '{"a":1,"a":2}', "1e999", "NaN", ""]
) | (
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=5,
    ).map(json.dumps)
)
NUMBERS = st.floats() | st.sampled_from([0.0, 101.0, -1.0])
SAMPLES: list[tuple[Topic, Json]] = [
    (SAP_TASKS, task("prefer", telemetry={"deadline": "2026-01-01T01:00:00Z"})),
    (SAP_TASKS, task(outputContract={"schema": {"type": "object"}}, replyTo={"endpoint": "x"})),
    (SAP_RESULTS, result("RUNNING", metrics={"n": 1})),
    (SAP_RESULTS, result("SUCCEEDED", constitutionalEvidence={"pressureReadings": {"a": 1}})),
    (SAP_RESULTS, result("FAILED", nextActions=[{"action": "x"}])),
    (SAP_SIGNALS, signal("rating")),
    (SAP_SIGNALS, signal("cancel")),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where there is something to spoil in an Avro value."""
    if isinstance(value, dict):
        return [place for name, item in value.items() for place in places(item, (*path, name))]
    if isinstance(value, list):
        return [place for n, item in enumerate(value) for place in places(item, (*path, n))]
    return [path]


def spoiled(draw: st.DrawFn, name: str | int, old: Any) -> Any:
    if isinstance(name, str) and name.endswith("_json"):
        return draw(JSON_TEXTS)
    if isinstance(old, str):
        return draw(TEXTS)
    if isinstance(old, bool):
        return draw(st.booleans())
    if isinstance(old, float):
        return draw(NUMBERS)
    return draw(st.integers(-5, 10)) if isinstance(old, int) else old


@st.composite
def records(draw: st.DrawFn) -> tuple[Topic, AvroValue, Any]:
    topic, sample = draw(st.sampled_from(SAMPLES))
    value = from_json(str(topic.record), sample)
    for path in draw(st.lists(st.sampled_from(places(value)), max_size=3)):
        owner: Any = value
        for part in path[:-1]:
            owner = owner[part]
        owner[path[-1]] = spoiled(draw, path[-1], owner[path[-1]])
    key = draw(st.just(...) | st.none() | st.binary(max_size=3))
    return topic, value, key


@settings(max_examples=example_count(200), deadline=None)
@given(st.lists(records(), max_size=6))
def test_any_record_gets_one_verdict(line: list[tuple[Topic, AvroValue, Any]]) -> None:
    bench = Bench()
    for topic, value, key in line:
        chosen = {} if key is ... else {"key": key}
        before = bench.stored()
        message = bench.record(topic, value, avro=True, **chosen)
        (sent,) = bench.of(SAP_ACKS, bench.decide(message))
        ack = sent.json
        assert ack["position"] == f"{topic.name}/0/{message.record.offset}"
        assert ack["messageId"] == value["signalId" if topic is SAP_SIGNALS else "taskId"]
        nack = ack["status"] == "NACK"
        assert nack == (ack["verdict"] == "rejected") == bool(ack["errors"])
        assert nack == (ack["code"] is not None) == (ack["fault"] is not None)
        assert nack == bool(ack["reason"])
        if ack["verdict"] != "accepted":
            assert bench.stored() == before
        if ack["taskId"] is not None:
            assert sent.key == ack["taskId"] == value["taskId"].lower()
    bench.advance(7_200_000)
    for row in bench.rows(SAP_TASK_STATES_TABLE).values():
        assert row["accepted"]["deadlineAt"] is None or row["closedAt"] is not None
