"""Budgets of a session: its limits, what it has used, and the halt when one is exhausted.

Limits are those of the policy and of the constraints of accepted tasks, the smallest of each; they
only get smaller.  From the first limit on, accepted packets are counted.  The packet that uses more
than a limit is accepted and halts the session; the limit of seconds halts it by a timer, or before
a packet that is dated later.

`limits_after`, `use_after` and `exhausted` read no table, so that `headrace verify` derives the
same.

Source: APC guide, 4.8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, Decimal

from schemas.apc import rules
from schemas.decimals import dec, format_plain, product, total
from streams.engine.headers import iso
from streams.engine.processor import AvroValue, Timer
from streams.processing.decision import traceparent_of
from streams.protocols.apc.policy_values import BUDGETS as NAMES
from streams.protocols.apc.processor import facts
from streams.protocols.apc.processor.batch import BatchContext, EventContext, Inbound
from streams.protocols.apc.processor.coordination import CoordinationUpdate
from topology.apc import APC_EVENTS
from topology.keys import composite
from topology.machines.apc_inter import InterEvent, InterState

SESSION_BUDGET = "apc.session-budget"
UNCOUNTED = frozenset({"ACK", "NACK", "HEARTBEAT"})
_EXPRESSION = re.compile(
    rf"\s*({'|'.join(NAMES)})\s*<=\s*([0-9]{{1,15}}(?:\.[0-9]{{1,15}})?)\s*", re.ASCII
)
_MAX_DIGITS = 15
ENDED = frozenset({InterState.CLOSED, InterState.HALTED})
_NO_USE: AvroValue = {"packets": 0, "generations": 0, "tokens": 0, "cost_usd": "0"}


def has_unknown_constraint(packet: Inbound) -> bool:
    """Return whether a budget of a task is no limit that the service knows."""
    return any(limit is None for limit in _constraints(packet))


def limits_after(
    packet: Inbound, limits: Mapping[str, Decimal], policy: Mapping[str, Decimal]
) -> dict[str, Decimal]:
    """Return the limits of a session after a packet, from those before it and the policy's."""
    after = dict(limits)
    for name, limit in (*policy.items(), *filter(None, _constraints(packet))):
        after[name] = min(limit, after.get(name, limit))
    return after


def _constraints(packet: Inbound) -> Iterator[tuple[str, Decimal] | None]:
    """Yield the limits in a task, None for a budget of another expression."""
    if packet.packet_type != "TASK_IR" or packet.value["channel"] != "INTER_AGENT":
        return
    for each in packet.json["payload"]["objects"]:
        if each["type"] == "Constraint" and each["constraint_kind"] == "BUDGET":
            match = _EXPRESSION.fullmatch(each["expression"])
            limit = None if match is None else Decimal(match[2])
            short = limit is not None and len(limit.normalize().as_tuple().digits) <= _MAX_DIGITS
            yield (match[1], limit) if match is not None and limit is not None and short else None


def use_after(packet: Inbound, used: AvroValue | None) -> AvroValue:
    """Return what a session has used after an accepted packet."""
    before = used or _NO_USE
    usage = packet.metadata.get("usage", {})
    cost = total(Decimal(before["cost_usd"]), dec(usage.get("cost_usd", 0)))
    return {
        "packets": before["packets"] + (packet.packet_type not in UNCOUNTED),
        "generations": max(before["generations"], packet.trace["generation"]),
        "tokens": before["tokens"] + int(usage.get("tokens", 0)),
        "cost_usd": format_plain(cost),
    }


def exhausted(limits: Mapping[str, Decimal], used: AvroValue) -> str | None:
    """Return the name of the first limit that a use is above; seconds are left to the timer."""
    counted = (name for name in NAMES if name in limits and name in used)
    return next((name for name in counted if Decimal(used[name]) > limits[name]), None)


def limits_of(row: AvroValue) -> dict[str, Decimal]:
    """Return the limits in a session's row."""
    limits = row["limits"] or {}
    return {name: dec(limits[name]) for name in NAMES if limits.get(name) is not None}


def texts_of(limits: Mapping[str, Decimal]) -> dict[str, str]:
    """Return limits as texts, the same for equal ones."""
    return {name: format_plain(limit) for name, limit in limits.items()}


def due_at(row: AvroValue) -> int | None:
    """Return when a session has used its seconds (ms); None if they have no limit."""
    limits = row["limits"]
    if limits is None or limits["seconds"] is None:
        return None
    return seconds_end(row["opened_at"], dec(limits["seconds"]))


def seconds_end(opened_at: int, seconds: Decimal) -> int:
    """Return when a session has used its seconds (ms)."""
    ms = product(seconds, Decimal(1000)).to_integral_value(ROUND_CEILING)
    return opened_at + int(ms)


def count(packet: Inbound, update: CoordinationUpdate) -> None:
    """Count an accepted packet in its session; halt the session if it exhausts a limit.

    The session went on before the packet, which may have ended it by itself.
    """
    row = update.session()
    before = limits_of(row)
    limits = limits_after(packet, before, update.context.policy.budget)
    if not limits:
        return
    if limits != before:
        _set_limits(packet, row, limits)
    row["used"] = use_after(packet, row["used"])
    update.mark_changed(row)
    name = exhausted(limits, row["used"])
    if name is not None and row["state"] not in ENDED:
        update.raise_in_session(InterEvent.STOP_SIGNAL_OR_BUDGET_EXHAUSTED, by=f"budget:{name}")


def _set_limits(packet: Inbound, row: AvroValue, limits: Mapping[str, Decimal]) -> None:
    """Write limits into the row, and set the timer of the seconds anew where they changed."""
    if row["opened_at"] is None:  # of a row that an earlier version made
        row["opened_at"] = packet.at
    armed, holder = due_at(row), row["limits"]
    row["limits"] = {
        **{name: float(limits[name]) if name in limits else None for name in NAMES},
        "packet_id": packet.packet_id if holder is None else holder["packet_id"],
    }
    due, key = due_at(row), composite(row["session_id"])
    if due == armed or due is None:
        return
    row["limits"]["packet_id"] = packet.packet_id
    if armed is not None:
        packet.event_context.work.delete_timer(armed, SESSION_BUDGET, key)
    packet.event_context.set_timer(due, SESSION_BUDGET, key)


def halt_overdue(packet: Inbound, row: AvroValue, context: BatchContext) -> None:
    """Halt a session before a packet that is dated after its seconds, if no timer has yet."""
    due = due_at(row)
    if due is not None and packet.at >= due and row["state"] not in ENDED:
        context.work.delete_timer(due, SESSION_BUDGET, composite(row["session_id"]))
        _halt(row, due, packet.at, packet.traceparent, context)
        packet.event_context.resume()


def fire(timer: Timer, now_ms: int, context: BatchContext) -> None:
    """Halt the session of a due timer, if it goes on and has no newer one."""
    row = context.coordination.get(timer.key)
    if row is not None and row["state"] not in ENDED and due_at(row) == timer.due_ms:
        _halt(row, timer.due_ms, now_ms, traceparent_of(timer), context)


def _halt(
    row: AvroValue, due: int, at: int, traceparent: bytes | None, context: BatchContext
) -> None:
    session_id, packet_id = row["session_id"], row["limits"]["packet_id"]
    holder = context.states.get(composite(session_id, packet_id))
    assert holder is not None
    cause = holder["position"]
    ctx = EventContext(context.work, cause, at, traceparent, f"{cause}/budget")
    update = CoordinationUpdate(context, session_id, packet_id, ctx)
    update.raise_in_session(InterEvent.STOP_SIGNAL_OR_BUDGET_EXHAUSTED, by="budget:seconds")
    update.write()
    message = (
        f"The budget of {format_plain(dec(row['limits']['seconds']))} seconds, "
        f"counted from {iso(row['opened_at']).decode()}, is exhausted."
    )
    fact = facts.session_timer_fact(session_id, rules.SESSION_BUDGET.code, message, due, ctx)
    fact["coordination"] = update.notes
    ctx.send(APC_EVENTS, session_id, fact, fact["event_id"])
