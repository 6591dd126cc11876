"""The events of RTES that spans become."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest

from schemas.rtes import validate_event
from streams.protocols.otel.span_events import time_text
from tests.unit.protocols.otel.support import TRACE, Bench, span

MODEL = {"gen_ai.operation.name": "chat", "gen_ai.completion.0.content": "So."}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": {"city": "Tallinn"}}
REF = f"{TRACE}-0000000000000001"
START, END = "2026-09-21T14:13:20.000000000Z", "2026-09-21T14:13:20.001500000Z"


def ids(*numbers: int) -> list[str]:
    names = [f"headrace:otel/{TRACE}/0000000000000001/{number}" for number in numbers]
    return [str(uuid5(NAMESPACE_URL, name)) for name in names]


def payloads(value: Any) -> list[Any]:
    events = Bench().events(value)
    assert [event["event_id"] for event in events] == ids(*range(len(events)))
    assert {(event["session_id"], event["origin"]) for event in events} == {(TRACE, "otel")}
    assert [validate_event(event, avro=True) for event in events] == [[]] * len(events)
    return [event["payload"] for event in events]


@pytest.mark.parametrize(
    ("error", "status"),
    [(None, "success"), ("ValueError", "failure"), ("ReadTimeout", "timeout")],
)
def test_a_tool_is_a_call_with_its_end(error: str | None, status: str) -> None:
    attributes = TOOL | ({"error.type": error} if error else {})
    call = {"call_id": REF, "tool": "search"}
    assert payloads(span(1, "search", attributes=attributes)) == [
        {
            "type": "TOOL_LIFECYCLE_INVOKED",
            **call,
            "arguments": {"city": "Tallinn"},
            "timestamp": START,
        },
        {
            "type": "TOOL_LIFECYCLE_COMPLETED",
            **call,
            "status": status,
            "duration_ms": 1.5,
            "timestamp": END,
        },
    ]


@pytest.mark.parametrize(("name", "agent_id"), [("Developer", "developer"), ("bot", "other")])
def test_a_model_is_one_whole_thought(name: str, agent_id: str) -> None:
    assert payloads(span(attributes={**MODEL, "gen_ai.agent.name": name})) == [
        {
            "type": "THOUGHT_STREAM",
            "agent_id": agent_id,
            "turn_index": 0,
            "chunk": "So.",
            "is_final": True,
            "agent": name,
        }
    ]


@pytest.mark.parametrize(("status", "state"), [("UNSET", "SUCCESS"), ("ERROR", "FAILED")])
def test_a_task_begins_and_ends(status: str, state: str) -> None:
    task = {"type": "TASK_TRANSITION", "task_id": REF}
    assert payloads(span(parent_span_id=None, status=status)) == [
        {**task, "from_state": "none", "to_state": "RUNNING", "timestamp": START},
        {**task, "from_state": "RUNNING", "to_state": state, "timestamp": END},
    ]


def test_any_other_span_becomes_no_event() -> None:
    bench = Bench()
    assert bench.events(span()) == []
    assert bench.judge(span(2))["rtes_events"] == 0


def test_thoughts_are_numbered_in_their_trace() -> None:
    bench = Bench()
    indexes = [
        event["payload"]["turn_index"]
        for number in range(3)
        for event in bench.events(span(number + 1, attributes=MODEL))
    ]
    assert indexes == [0, 1, 2]
    (other,) = bench.events(span(1, trace="a" * 32, attributes=MODEL))
    assert other["payload"]["turn_index"] == 0


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (1, "1970-01-01T00:00:00.000000001Z"),
        (2**63 - 1, "2262-04-11T23:47:16.854775807Z"),
    ],
)
def test_a_time_has_nine_digits(nanoseconds: int, text: str) -> None:
    assert time_text(nanoseconds) == text
