"""Whatever lies on `asap.envelopes` gets one verdict, and never an exception."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import asap, from_json
from streams.engine.processor import AvroValue
from streams.engine.records import position
from tests.examples import example_count
from tests.unit.processing.spoiling import change, places
from tests.unit.protocols.asap.processor.support import (
    INDEXER,
    PLANNER,
    SERVICE,
    SNAPSHOT,
    STRANGER,
    Bench,
    Json,
    envelope,
)
from topology.asap import ASAP_ENVELOPES, ASAP_EVENTS, ASAP_TASKS_TABLE

TEXTS = st.text(max_size=8) | st.sampled_from(["", "T", "U", "0.1", PLANNER, SERVICE, "x" * 257])
JSON_TEXTS = st.sampled_from(
    [
        "{",
        "[]",
        "3",
        '"x"',
        "null",
        '{"a":1,"a":2}',
        '{"a":1e999}',
        '{"a":NaN}',
        "",
        '{"b":1,"a":2}',
    ]
) | (
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**60), 2**60)
        | st.floats()
        | st.text(max_size=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=5,
    ).map(json.dumps)
)
EXTENSIONS: list[Json | None] = [
    None,
    {SNAPSHOT: {"data": {"a": 1}, "checkpoint": True}},
    {SNAPSHOT: {"patch": {"a": None}}},
    {SNAPSHOT: {"delete": True}},
    {SNAPSHOT: {"data": {}, "version": 3, "id": "s", "created_at": "0001-01-01T00:00:00+09:00"}},
    {SNAPSHOT: {"data": {}, "version": 2**53 - 1}},
    {SNAPSHOT: []},
    {asap.EXT_ANSWERS: "e"},
    {asap.EXT_PARTS: [{"id": "p", "part": {"type": "text", "content": ""}}]},
    {asap.EXT_RESTORE: True},
]
CONFIGS: list[Json | None] = [
    None,
    {"timeout_seconds": 1},
    {"state_mode": "event-sourced", "event_retention_hours": 1},
    {"idempotency_key": "k"},
]
PAYLOADS: list[tuple[str, Json]] = [
    *[("TaskRequest", {"config": config}) for config in CONFIGS],
    ("TaskRequest", {"parent_task_id": "U"}),
    *[("TaskUpdate", {"status": status}) for status in ("working", "paused", "failed")],
    *[("TaskResponse", {"status": status}) for status in ("completed", "input_required")],
    ("TaskResponse", {"final_state": {"data": {"b": 1}}}),
    ("TaskCancel", {}),
    (
        "MessageSend",
        {"sender": PLANNER, "parts": ["p", {"type": "data", "data": {}, "schema_uri": None}]},
    ),
    ("StateQuery", {}),
    ("StateQuery", {"version": 1}),
    *[("StateRestore", {"snapshot_id": name}) for name in ("s", "T@1", "T@2")],
    ("ArtifactNotify", {}),
    ("McpToolCall", {"request_id": "c"}),
    ("McpToolResult", {"request_id": "c"}),
    ("McpResourceFetch", {}),
    ("McpResourceData", {}),
]
PARTIES = [(PLANNER, INDEXER), (INDEXER, PLANNER), (INDEXER, SERVICE), (STRANGER, INDEXER)]


@st.composite
def sound(draw: st.DrawFn) -> Json:
    """An envelope that is well formed, more often than not."""
    kind, members = draw(st.sampled_from(PAYLOADS))
    sender, recipient = draw(st.sampled_from(PARTIES))
    payload = {**members}
    if kind in ("TaskUpdate", "TaskResponse", "TaskCancel", "MessageSend", "ArtifactNotify") or (
        kind.startswith("State")
    ):
        payload["task_id"] = draw(st.sampled_from(["T", "T", "T", "U"]))
    return envelope(
        kind,
        payload,
        id=draw(st.sampled_from(["T", "U", "e1", "e2", "e3"])),
        sender=sender,
        recipient=recipient,
        correlation_id=draw(st.sampled_from([None, "T", "e1"])),
        extensions=draw(st.sampled_from(EXTENSIONS)),
    )


def spoiled(draw: st.DrawFn, name: str | int, old: Any) -> Any:
    if isinstance(name, str) and name.endswith("_json"):
        return draw(JSON_TEXTS)
    if isinstance(old, str) and name not in ("status", "update_type", "role"):
        return draw(TEXTS)
    if name == "timestamp":
        return draw(st.integers(-(2**63), 2**63 - 1))
    return draw(st.booleans()) if isinstance(old, bool) else old


@st.composite
def records(draw: st.DrawFn) -> tuple[AvroValue, Any, int]:
    form = draw(sound())
    value = from_json("dev.headrace.asap.AsapEnvelope", form)
    for path in draw(st.lists(st.sampled_from(places(value)), max_size=2)):
        change(value, path, partial(spoiled, draw))
    try:
        key: Any = asap.task_key(form)
    except asap.MalformedEnvelopeError:
        key = None
    key = draw(st.sampled_from([key, key, key, key, "T", None, b"\xff"]))
    return value, key, draw(st.sampled_from([0, 0, 0, 500, 1500, 7_200_000]))


@settings(max_examples=example_count(300), deadline=None)
@given(st.lists(records(), max_size=12))
def test_any_record_gets_one_verdict(line: list[tuple[AvroValue, Any, int]]) -> None:
    bench = Bench()
    places: list[str] = []
    for value, key, wait_ms in line:
        if wait_ms > 1000:
            bench.advance_to(bench.now + wait_ms)
        bench.now += wait_ms
        message = bench.message(value, bench.now, key=key, avro=True, topic=ASAP_ENVELOPES)
        places.append(position(message.record))
        bench.settle(bench.decide(message))
    facts = [one.value for one in bench.of(ASAP_EVENTS)]
    assert sorted(f["cause"] for f in facts if f["kind"] == "envelope") == sorted(places)
    for task in bench.rows(ASAP_TASKS_TABLE).values():
        task_facts = [
            f for f in facts if f["task_id"] == task["task_id"] and f["sequence"] is not None
        ]
        assert [fact["sequence"] for fact in task_facts] == list(range(1, task["sequence"] + 1))
        steps = [step for fact in task_facts for step in fact["transitions"]]
        assert [step["from_status"] for step in steps[1:]] == [s["to_status"] for s in steps[:-1]]
        assert (task_facts[-1]["status"], steps[-1]["to_status"]) == (
            task["status"],
            task["status"],
        )
        if task["state_mode"] == "event-sourced" and task["events_available"]:
            replayed = asap.replay(task_facts)
            assert replayed is not None
            assert replayed.task["progress"] is None or task["progress_json"] is not None
