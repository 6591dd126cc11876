"""Spans, as things."""

from __future__ import annotations

from streams.api.route import Call
from streams.api.things import (
    Ids,
    Step,
    Thing,
    ThingAgent,
    ThingQuery,
    ThingVerdict,
    cause_or_none,
    unknown_node,
)
from streams.protocols.otel.lineage import span_node
from streams.protocols.otel.queries import traces
from streams.protocols.otel.verdicts import message_of
from streams.replay.as_of.query import value_of
from streams.views.keys import key
from streams.views.parse import QueryParams
from streams.views.reads import ReadOnlyStore
from streams.views.values import json_of
from topology.keys import split
from topology.otel import OTEL_EVENTS

_RECORDED = "recorded"


def _find_span(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    parts = split(name)
    return [dict(zip(("trace_id", "span_id"), parts, strict=True))] if len(parts) == 2 else []


def _span(call: Call) -> Thing:
    trace_id, span_id = call.ids["trace_id"], call.ids["span_id"]
    node = span_node(trace_id, span_id)
    row = traces.span_row(call.view, trace_id, span_id)
    if row is None:
        raise unknown_node(node)
    at, fact = value_of(OTEL_EVENTS, row)["at"], json_of(OTEL_EVENTS, row)
    cause = cause_or_none(fact["cause"])
    verdict = ThingVerdict(
        at=at,
        verdict=fact["verdict"],
        rule=fact["rule"],
        message=message_of(fact),
        fault=fact["fault"],
        figures={},
        errors=fact["errors"],
        checks=(),
        cause=cause,
        fact=None,
    )
    return Thing(
        node=node,
        title=f"{fact['type']} {fact['span']['name'][:64]}",
        state=_RECORDED,
        terminal=True,
        machine=None,
        api=f"/v1/otel/traces/{trace_id}",
        details=lambda: traces.trace(call.view, trace_id, QueryParams("", traces.PAGED)),
        steps=[Step(at, None, None, _RECORDED, fact["verdict"], fact["rule"], cause=cause)],
        facts=OTEL_EVENTS,
        verdicts=lambda: [verdict],
        agents=[ThingAgent(fact["agent"], "agent")],
        session_id=fact["session_id"],
        trace=trace_id,
        started_at=at,
        ended_at=at,
    )


THINGS = {
    "otel:span": ThingQuery(
        _span,
        _find_span,
        row=lambda ids: key("otel span at", ids["trace_id"], ids["span_id"]),
    )
}
"""By kind of node."""
