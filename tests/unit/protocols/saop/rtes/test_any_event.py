"""Whatever Avro can carry gets exactly one verdict, and nothing is raised."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import example_count
from tests.unit.protocols.saop.rtes.support import Bench, invoked, uuid
from topology.saop import RTES_EVENTS

TEXTS = st.text(max_size=20) | st.sampled_from(["PENDING", "in_progress", "5c0ffee", "[", "{}"])
TIMES = st.sampled_from(["2026-01-01T00:00Z", "2026-02-29T00:00:00Z", "0000-01-01T00:00:00.1Z"])
LONGS = st.integers(-(2**63), 2**63 - 1)
AGENTS = st.sampled_from(["researcher", "architect", "developer", "reviewer"])

PAYLOADS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "ThoughtStream": {
        "agent_id": AGENTS,
        "turn_index": LONGS,
        "chunk": TEXTS,
        "is_final": st.booleans(),
    },
    "ToolInvoked": {"call_id": TEXTS, "tool": TEXTS, "arguments_json": TEXTS, "timestamp": TIMES},
    "ToolCompleted": {
        "call_id": TEXTS,
        "tool": TEXTS,
        "status": st.sampled_from(["success", "failure", "timeout"]),
        "duration_ms": st.floats(),
        "timestamp": TIMES,
    },
    "TaskTransition": {
        "task_id": TEXTS,
        "from_state": TEXTS,
        "to_state": TEXTS,
        "git_hash": st.none() | TEXTS,
        "timestamp": TIMES | TEXTS,
    },
    "SandboxPulse": {"line": TEXTS, "masked": st.booleans(), "timestamp": TIMES},
}


@st.composite
def avro_events(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(sorted(PAYLOADS) + ["TaskTransition"] * 2))
    payload = {member: draw(values) for member, values in PAYLOADS[name].items()}
    return {
        "event_id": draw(st.integers(0, 5).map(uuid) | TEXTS),
        "session_id": draw(st.sampled_from(["s1", "", "s/1"]) | TEXTS),
        "payload": (f"headrace.rtes.{name}", payload),
        "origin": draw(st.none() | st.sampled_from(["apc", "asap", "sap", "summit"])),
    }


KEYS = st.none() | st.binary(max_size=4)


@settings(max_examples=example_count(150), deadline=None)
@given(st.lists(st.tuples(avro_events(), st.booleans(), KEYS), max_size=8))
def test_any_event_gets_one_verdict(line: list[tuple[dict[str, Any], bool, bytes | None]]) -> None:
    bench = Bench()
    batch = [bench.event(e) if keyed else bench.event(e, key=key) for e, keyed, key in line]
    for message, sent in zip(batch, bench.judge_all(batch), strict=True):
        assert sent.key == message.value["session_id"] == sent.value["session_id"]
        if sent.topic is RTES_EVENTS:
            assert sent.value["payload"][0] == message.value["payload"][0]
            continue
        assert json.loads(sent.value["figures_json"]) is not None
        assert (sent.value["fault"] is None) == (sent.value["verdict"] == "duplicate")
        for error in sent.value["errors"]:
            assert set(error) == {"rule", "path", "message"}


@pytest.mark.parametrize(
    "arguments",
    ["", "null", "[" * 100_000, '{"a":' * 20_000, '{"a":1,"a":2}', '{"a":1e999}', '{"a":NaN}'],
)
def test_arguments_that_are_no_object_break_the_shape(arguments: str) -> None:
    value = Bench().judge(invoked(1, arguments)).value
    assert (value["rule"], value["errors"][0]["path"]) == ("schema_invalid", "/payload/arguments")
    assert json.loads(value["event_json"])["payload"]["call_id"] == "c1"
