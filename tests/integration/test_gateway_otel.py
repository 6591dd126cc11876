"""Spans over HTTP: a real gateway, worker and Kafka."""

from __future__ import annotations

import uuid
from typing import Any

from tests.integration.system import Live
from tests.integration.test_gateway import got, sent
from tests.unit.protocols.otel.support import span

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
Json = dict[str, Any]


def trace_of(session: str) -> tuple[str, list[Json]]:
    """Return the id and the spans of a new trace: a tool, a model and their agent."""
    trace = uuid.uuid4().hex
    named = {"session.id": session}
    tool = {**named, "gen_ai.operation.name": "execute_tool", "tool.parameters": {"key": SECRET}}
    model = {**named, "gen_ai.operation.name": "chat", "gen_ai.completion.0.content": "So."}
    agent = {**named, "gen_ai.operation.name": "invoke_agent"}
    return trace, [
        span(1, "search", trace=trace, attributes=tool),
        span(2, "chat", trace=trace, attributes=model),
        span(3, "bot", trace=trace, attributes=agent, parent_span_id=None),
    ]


def test_spans_become_a_session_and_each_counts_once(system: Live) -> None:
    session = f"s-{uuid.uuid4().hex[:8]}"
    trace, spans = trace_of(session)
    with system.client as http:
        sent(http, "/v1/otel/spans", spans)
        position = sent(http, "/v1/otel/spans", spans[:1])[-1]
        items = got(http, f"/v1/otel/traces/{trace}", after=position)["items"]
        assert [item["type"] for item in items] == ["tool", "model", "task"]
        assert {item["session_id"] for item in items} == {session}
        assert SECRET not in str(items)
        listed = got(http, "/v1/otel/traces", session_id=session)["items"]
        assert [(each["trace_id"], each["name"], each["span_count"]) for each in listed] == [
            (trace, "bot", 3)
        ]
        events = got(http, "/v1/rtes/events", session_id=session, fresh="true")["items"]
        while len(events) < 5:
            events = got(http, "/v1/rtes/events", session_id=session, fresh="true")["items"]
        assert [event["sequence"] for event in events] == [1, 2, 3, 4, 5]
        assert {event["origin"] for event in events} == {"otel"}
        assert SECRET not in str(events)
