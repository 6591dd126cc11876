"""Lines of RTES events: thoughts, tool calls, pulses and transitions.

Commands that ask a gateway import this, so it imports neither schemas nor topology.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from streams.api.lines import Line, Sign, duration, one_line, parts, short, verdict_line

Json = Mapping[str, Any]

_WHOLE_THOUGHTS = "otel"
"""The origin of events whose thoughts are no chunks of a stream."""


def _thought(event: Json) -> Line:
    payload = event["payload"]
    agent, turn = payload.get("agent") or payload["agent_id"], payload["turn_index"]
    is_whole = event.get("origin") == _WHOLE_THOUGHTS
    stream = (event["session_id"], event.get("task_id") or "", agent, str(turn))
    text = one_line(payload["chunk"])
    return Line(
        who=f"{agent}, turn {turn}", sign=Sign.THOUGHT, text=text, stream=() if is_whole else stream
    )


def _invoked(event: Json) -> Line:
    payload = event["payload"]
    arguments = json.dumps(payload["arguments"], ensure_ascii=False, separators=(",", ":"))
    return Line(
        who=short(payload["call_id"]), sign=Sign.CALL, text=f"{payload['tool']} {arguments}"
    )


def _completed(event: Json) -> Line:
    payload = event["payload"]
    status = payload["status"]
    return Line(
        who=short(payload["call_id"]),
        sign=Sign.ACCEPTED if status == "success" else Sign.REFUSED,
        text=f"{payload['tool']} {status}, {duration(payload['duration_ms'])}",
    )


def _pulse(event: Json) -> Line:
    payload = event["payload"]
    text = one_line(payload["line"])
    return Line(
        who="sandbox",
        sign=Sign.PULSE,
        text=f"{text}  (masked)" if payload.get("masked") else text,
    )


def _transition(event: Json) -> Line:
    payload = event["payload"]
    states = f"{payload['from_state']} → {payload['to_state']}"
    return Line(
        who=short(payload["task_id"]),
        sign=Sign.TRANSITION,
        text=parts(states, payload.get("git_hash")),
    )


def _escalated(event: Json) -> Line:
    payload = event["payload"]
    return Line(
        who=turn_name(payload["task_id"], payload.get("turn_index")),
        what=payload.get("agent_id") or "",
        text=payload["outcome"],
        rule=", ".join(payload["rules"]),
    )


def turn_name(task_id: str | None, turn_index: int | None) -> str:
    return short(task_id) if turn_index is None else f"{short(task_id)}, turn {turn_index}"


_BY_TYPE = {
    "THOUGHT_STREAM": _thought,
    "TOOL_LIFECYCLE_INVOKED": _invoked,
    "TOOL_LIFECYCLE_COMPLETED": _completed,
    "SANDBOX_PULSE": _pulse,
    "TASK_TRANSITION": _transition,
    "ESCALATION_RAISED": _escalated,
}


def _event(event: Json) -> Line:
    """Return the line of an event; one of a type without a form of its own shows its JSON."""
    payload = event["payload"]
    if (form := _BY_TYPE.get(payload["type"])) is not None:
        return form(event)
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return Line(who=payload["type"], text=text)


def sent_line(event: Json) -> Line:
    """Return the line of an event as it was sent."""
    return replace(_event(event), what=f"session {short(event['session_id'])}", stream=())


def recorded_line(event: Json) -> Line:
    """Return the line of a recorded event: session and number stand in place of the position."""
    line = _event(event)
    masked = event["masked_arguments"]
    notes = [*event["flags"], *([f"{masked} masked"] if masked else [])]
    return replace(
        line,
        place=f"{short(event['session_id'])} #{event['sequence']}",
        text=f"{line.text}  ({', '.join(notes)})" if notes else line.text,
        stream=() if notes else line.stream,
    )


def rejection_line(value: Json) -> Line:
    """Return the line of a duplicate or refused event."""
    transition = _rejected_transition(value)
    id = None if transition else short(value["event_id"])
    return verdict_line(
        transition or value["type"] or "event",
        parts(f"session {short(value['session_id'])}", id),
        value["verdict"],
        value["rule"],
        rejection_reason(value),
    )


def _rejected_transition(value: Json) -> str | None:
    """Return the task and the states of a refused transition; None where a part is no text."""
    event = value.get("event")
    payload = event.get("payload") if isinstance(event, dict) else None
    if not isinstance(payload, dict) or value["type"] != "TASK_TRANSITION":
        return None
    names = [payload.get(name) for name in ("task_id", "from_state", "to_state")]
    if not all(isinstance(name, str) for name in names):
        return None
    task_id, from_state, to_state = (one_line(str(name)) for name in names)
    return f"{short(task_id)} {from_state} → {to_state}"


def rejection_reason(value: Json) -> str:
    """Return why an event was not recorded: what is wrong with it, and the event before it."""
    message = value["errors"][0]["message"] if value["errors"] else ""
    figures = value["figures"]
    first = value["first_sequence"] or figures.get("first_sequence") or figures.get("sequence")
    if first is None:
        return message
    return f"{message}; first recorded as #{first}" if message else f"recorded before as #{first}"
