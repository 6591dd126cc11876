"""The facts of `apc.events`: one verdict per packet record, effects on other packets, timers.

`event_id` is `<position>/0` for the verdict and `<position>/1`, `/2`, … for the effects in the
order written; a timer's is `<position of the packet>/ttl` or `…/ack/<attempt>`, that of a session's
budget `…/budget`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streams.engine.processor import AvroValue
from streams.protocols.apc.processor.batch import EventContext, Inbound

MAX_ERRORS = 10

_DEFAULTS: AvroValue = {
    "fault": None,
    "packet_id": None,
    "packet_type": None,
    "run_id": None,
    "task_id": None,
    "trace_id": None,
    "cause_packet_id": None,
    "packet": None,
    "packet_hash": None,
    "identity_hash": None,
    "state": None,
    "throttle": None,
    "gates": None,
    "anti_drift": None,
    "acks": None,
    "verification": None,
    "due_at": None,
    "errors": [],
    "transitions": [],
    "coordination": [],
    "warnings": [],
    "strategies": None,
}


def verdict(packet: Inbound, name: str, rule: str, message: str, /, **members: Any) -> AvroValue:
    """Return the verdict on a packet record; `members` are those that not every verdict has."""
    trace = packet.trace
    return {
        **_DEFAULTS,
        "event_id": packet.cause + "/0",
        "verdict": name,
        "rule": rule,
        "message": message,
        "at": packet.at,
        "cause": packet.cause,
        "session_id": packet.session_id,
        "packet_id": packet.packet_id,
        "packet_type": packet.packet_type,
        "run_id": trace["run_id"],
        "task_id": trace["task_id"],
        "trace_id": packet.trace_id,
        "throttle": packet.throttle,
        "warnings": sorted(set(packet.warnings)),
        **members,
    }


def rejection(
    packet: Inbound, rule: str, message: str, /, *, fault: str = "sender", **members: Any
) -> AvroValue:
    return verdict(packet, "rejected", rule, message, fault=fault, **members)


def anti_drift(packet: Inbound) -> AvroValue:
    """Return the drift checks in the form that the packet's fact has."""
    checks = packet.metadata.get("anti_drift")
    return {"evaluated": checks is not None, "checks": checks or {}}


def duplicate(packet: Inbound, rule: str, message: str) -> AvroValue:
    return verdict(
        packet,
        "duplicate",
        rule,
        message,
        packet_hash=packet.packet_hash,
        identity_hash=packet.identity_hash,
    )


def add_effect(
    packet: Inbound, row: AvroValue, rule: str, message: str, transitions: Sequence[AvroValue]
) -> str:
    """Add the fact of what the packet did to the packet of `row` (after the change); return its
    id.
    """
    event_id = f"{packet.cause}/{len(packet.effects) + 1}"
    packet.effects.append(
        {
            **_row_members(row),
            "event_id": event_id,
            "verdict": "effect",
            "rule": rule,
            "message": message,
            "at": packet.at,
            "cause": packet.cause,
            "cause_packet_id": packet.packet_id,
            "transitions": transitions,
        }
    )
    return event_id


def timer_fact(
    row: AvroValue,
    rule: str,
    message: str,
    transitions: Sequence[AvroValue],
    due_at: int,
    ctx: EventContext,
) -> AvroValue:
    """Return the fact that a timer went off.  due_at: when it was due (ms)."""
    return {
        **_row_members(row),
        "event_id": ctx.event_id,
        "verdict": "fired",
        "rule": rule,
        "message": message,
        "at": ctx.at,
        "cause": ctx.cause,
        "transitions": transitions,
        "due_at": due_at,
    }


def session_timer_fact(
    session_id: str, rule: str, message: str, due_at: int, ctx: EventContext
) -> AvroValue:
    """Return the fact that a timer of a session went off; it is about no packet."""
    return {
        **_DEFAULTS,
        "event_id": ctx.event_id,
        "verdict": "fired",
        "rule": rule,
        "message": message,
        "at": ctx.at,
        "cause": ctx.cause,
        "session_id": session_id,
        "due_at": due_at,
    }


def _row_members(row: AvroValue) -> AvroValue:
    return {
        **_DEFAULTS,
        "session_id": row["session_id"],
        "packet_id": row["packet_id"],
        "packet_type": row["packet_type"],
        "run_id": row["run_id"],
        "task_id": row["task_id"],
        "trace_id": row["trace_id"],
        "state": row["state"],
        "gates": row["gates"],
        "acks": row["acks"],
        "verification": row["verification"],
    }
