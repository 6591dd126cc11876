"""The events of RTES that a span becomes (OTel guide, 4.3).

Pure functions of the JSON form of a masked OtelSpan that breaks no rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from schemas import canonical_json, uuid5_url
from schemas.members import AGENTS
from schemas.rtes.models import OTHER_AGENT
from streams.masking import Masker
from streams.protocols.otel.span_members import (
    SpanMembers,
    answer_of,
    arguments_of,
    has_timed_out,
)

Json = Mapping[str, Any]
Payload = tuple[str, dict[str, Any]]
"""A payload as Avro has it: the full name of its record, and its value."""

_THOUGHT = "headrace.rtes.ThoughtStream"
_INVOKED = "headrace.rtes.ToolInvoked"
_COMPLETED = "headrace.rtes.ToolCompleted"
_TRANSITION = "headrace.rtes.TaskTransition"
_SECOND = 1_000_000_000


def event_id(span: Json, number: int) -> str:
    """Return the id of a span's event, by its number from 0."""
    return uuid5_url(f"headrace:otel/{span['trace_id']}/{span['span_id']}/{number}")


def ref_of(span: Json) -> str:
    """Return the id of a span's call or task."""
    return f"{span['trace_id']}-{span['span_id']}"


def payloads_of(span: Json, members: SpanMembers, turn_index: int, masker: Masker) -> list[Payload]:
    """Return the payloads of a span's events, in their order.

    turn_index: how many spans of models the trace has had before.
    """
    match members.type:
        case "tool":
            return _tool_payloads(span, members, masker)
        case "model":
            return [(_THOUGHT, _thought(span, members, turn_index))]
        case "task":
            return _task_payloads(span, members)
    return []


def _tool_payloads(span: Json, members: SpanMembers, masker: Masker) -> list[Payload]:
    start, end = times_of(span)
    arguments, _ = masker.arguments(arguments_of(span))
    call = {"call_id": ref_of(span), "tool": members.tool}
    invoked = {
        **call,
        "arguments_json": canonical_json(arguments).decode(),
        "timestamp": time_text(start),
    }
    completed = {
        **call,
        "status": _status(span, members),
        "duration_ms": (end - start) / 1_000_000,
        "timestamp": time_text(end),
    }
    return [(_INVOKED, invoked), (_COMPLETED, completed)]


def _status(span: Json, members: SpanMembers) -> str:
    if not members.failed:
        return "success"
    return "timeout" if has_timed_out(span) else "failure"


def _thought(span: Json, members: SpanMembers, turn_index: int) -> dict[str, Any]:
    name = members.agent.lower()
    return {
        "agent_id": name if name in AGENTS else OTHER_AGENT,
        "turn_index": turn_index,
        "chunk": answer_of(span),
        "is_final": True,
        "agent": members.agent,
    }


def _task_payloads(span: Json, members: SpanMembers) -> list[Payload]:
    start, end = times_of(span)
    final = "FAILED" if members.failed else "SUCCESS"
    steps = (("none", "RUNNING", start), ("RUNNING", final, end))
    return [
        (
            _TRANSITION,
            {
                "task_id": ref_of(span),
                "from_state": before,
                "to_state": after,
                "git_hash": None,
                "timestamp": time_text(at),
            },
        )
        for before, after, at in steps
    ]


def times_of(span: Json) -> tuple[int, int]:
    """Return the start and the end of a span, in nanoseconds since the epoch."""
    return int(span["start_time_unix_nano"]), int(span["end_time_unix_nano"])


def time_text(nanoseconds: int) -> str:
    """Format nanoseconds since the epoch as RFC 3339 with nine digits."""
    seconds, fraction = divmod(nanoseconds, _SECOND)
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat()[:19]}.{fraction:09d}Z"
