"""Queries of the verdicts on the envelopes with an id, and of calls."""

from __future__ import annotations

from streams.errors import NotFound
from streams.protocols.asap.queries.rows import call_end_key
from streams.views.keys import key, text_key
from streams.views.pages import rows_by_index, rows_of
from streams.views.parse import QueryParams
from streams.views.query_params import Parameter
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, filters_of, json_of, matches
from topology.asap import ASAP_EVENTS

VERDICT_PARAMS = (Parameter("sender", "sent by this agent", example="urn:asap:agent:planner"),)


def verdicts(view: ReadOnlyStore, envelope_id: str, params: QueryParams) -> Json:
    """Return the AsapEvents in log order; empty for an unknown id."""
    sender = filters_of(params, ("sender",))
    index = rows_of(view, key("asap verdict") + text_key(envelope_id), lambda row_key: row_key)
    facts = rows_by_index(view, index, _render_fact)(None)
    return {"events": [fact for _, fact in facts if fact is not None and matches(fact, sender)]}


def _render_fact(row: bytes) -> Json | None:
    """Return the fact as JSON; None if it has expired."""
    return json_of(ASAP_EVENTS, row) if row else None


def call(view: ReadOnlyStore, call_key: str) -> Json:
    """Return a call and its answer.  Raises NotFound."""
    opened = _fact_at_pointer(view, key("asap call") + text_key(call_key))
    if opened is None:
        raise NotFound(f"there is no call {call_key}", "call_not_found")
    closed = _fact_at_pointer(view, call_end_key(call_key))
    return {
        "key": call_key,
        "kind": "tool" if opened["payload_type"] == "McpToolCall" else "resource",
        "state": _state(closed),
        "caller": opened["sender"],
        "callee": opened["recipient"],
        "call": opened["envelope"],
        "answer": None if closed is None else closed["envelope"],
        "opened_at": opened["at"],
        "closed_at": None if closed is None else closed["at"],
    }


def _state(closed: Json | None) -> str:
    if closed is None:
        return "open"
    return "answered" if closed["rule"] == "call_answered" else "timed_out"


def _fact_at_pointer(view: ReadOnlyStore, pointer: bytes) -> Json | None:
    (fact_key,) = view.get_many([pointer])
    (row,) = view.get_many([fact_key]) if fact_key is not None else (None,)
    return None if row is None else json_of(ASAP_EVENTS, row)
