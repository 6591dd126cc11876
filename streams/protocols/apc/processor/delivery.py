"""Delivery of a packet, once to each distinct recipient whatever the delivery mode, and its
outcome.

A packet that asks for acknowledgements stays ROUTED until all recipients have accepted, one has
refused, its attempts are used up or its deadline passes.  A NACK is a refusal whatever status it
carries.  A recipient may defer, which costs no attempt: its acknowledgement timer starts again.

The deadline is compared with the time of the record at hand, so an answer dated before it counts
whenever it is read.  One dated later finds the packet expired, exactly as the timer would have
left it: its fact has the timer's id, so it is never written twice.

A sender may retract a packet in any state.  The packet is then no longer counted nor delivered
again, and its recipients get a notice.  What others did because of it stays.
"""

from __future__ import annotations

from schemas import AvroBody, canonical_json
from schemas.apc import rules
from schemas.formats import parse_time
from streams.engine.headers import iso
from streams.engine.processor import AvroValue, Timer
from streams.processing.decision import traceparent_of
from streams.protocols.apc.processor import (
    agent_events,
    contributions,
    facts,
    lifecycle,
    verification,
)
from streams.protocols.apc.processor.batch import BatchContext, EventContext, Inbound, packet_value
from streams.protocols.apc.processor.coordination import AckOutcome
from topology.apc import APC_EVENTS, APC_INBOX
from topology.keys import composite
from topology.machines.apc_intra import IntraEvent

TTL = "apc.ttl"
ACK = "apc.ack"


def deadline(packet: Inbound) -> int:
    """Return when the packet expires, ms; its record's time or earlier if it came too late."""
    at = packet.at + int(packet.value["routing"]["ttl_ms"])
    expires_at = packet.value["expires_at"]
    if expires_at is None:
        return at
    expires_ns = parse_time(expires_at)
    assert expires_ns is not None
    return min(at, expires_ns // 1_000_000)


def _new_acks(packet: Inbound, deadline_at: int) -> AvroValue:
    routing = packet.value["routing"]
    required, timeout = routing["requires_ack"], routing["ack_timeout_ms"]
    agents = lifecycle.recipients(packet.value)
    return {
        "required": required,
        "recipients": agents,
        "accepted": [],
        "pending": agents if required else [],
        "attempt": 1,
        "deadline_at": deadline_at,
        "ack_due_at": packet.at + timeout if required and timeout is not None else None,
    }


def deliver(packet: Inbound, row: AvroValue, deadline_at: int, context: BatchContext) -> str:
    """Deliver an accepted packet to its recipients; without acknowledgements it moves on at once.

    Returns the message of its verdict.
    """
    row["acks"] = acks = _new_acks(packet, deadline_at)
    agents, ctx = acks["recipients"], packet.event_context
    deliveries = [
        _delivery(packet.packet_id, agent, "packet", acks, packet.packet, ctx) for agent in agents
    ]
    events: tuple[str, ...] = lifecycle.ROUTED
    if not acks["required"]:
        events += (*lifecycle.APPLIED, *verification.final_events(row, context))
    lifecycle.arrive(row, events, transfer_metadata(row))
    for delivery in deliveries:
        ctx.send(APC_INBOX, delivery["recipient_agent_id"], delivery, delivery["delivery_id"])
    message = f"Accepted and delivered to {len(agents)}"
    if not acks["required"]:
        return f"{message}; no acknowledgement is asked for."
    ctx.set_timer(deadline_at, TTL, packet.key)
    if acks["ack_due_at"] is not None:
        ctx.set_timer(acks["ack_due_at"], ACK, packet.key)
    return f"{message}; acknowledgements are awaited until {iso(deadline_at).decode()}."


def transfer_metadata(row: AvroValue) -> dict[str, str] | None:
    """Return the JSON text that transitions of an accepted TRANSFER carry, by event; else None."""
    transfer = row["transfer"]
    if transfer is None:
        return None
    return {"policy_pass": canonical_json(transfer["selection"]).decode()}


def delete_timers(row: AvroValue, context: BatchContext) -> None:
    """Delete the timers of a packet that leaves ROUTED."""
    acks, key = row["acks"], context.key_of(row)
    context.work.delete_timer(acks["deadline_at"], TTL, key)
    if acks["ack_due_at"] is not None:
        context.work.delete_timer(acks["ack_due_at"], ACK, key)
        row["acks"] = {**acks, "ack_due_at": None}


def _delivery(
    packet_id: str,
    agent: str,
    kind: str,
    acks: AvroValue,
    packet: AvroValue | AvroBody,
    ctx: EventContext,
) -> AvroValue:
    return {
        "delivery_id": composite(packet_id, agent, str(acks["attempt"])),
        "kind": kind,
        "recipient_agent_id": agent,
        "attempt": acks["attempt"],
        "packet": packet,
        "position": ctx.cause,
        "at": ctx.at,
        "deadline_at": acks["deadline_at"],
        "ack_due_at": acks["ack_due_at"],
    }


def acknowledge(packet: Inbound, context: BatchContext) -> AckOutcome | None:
    """Apply an accepted ACK or NACK to the packet it names; None if no agent's state depends on
    it.
    """
    row = packet.target
    assert row is not None
    status = packet.payload["ack_status"]
    if row["state"] != "ROUTED":
        packet.warnings.append(rules.ACK_WITHOUT_EFFECT.code)
    elif packet.value["sender"]["agent_id"] not in row["acks"]["pending"]:
        packet.warnings.append(rules.ACK_REPEATED.code)
    elif packet.packet_type == "NACK" or status == "REJECTED":
        return _record_refusal(packet, row, context)
    elif status == "DEFERRED":
        return _defer(packet, row, context)
    else:
        return _record_acceptance(packet, row, context)
    return None


def _record_acceptance(packet: Inbound, row: AvroValue, context: BatchContext) -> AckOutcome | None:
    acks, agent = row["acks"], packet.value["sender"]["agent_id"]
    pending = [name for name in acks["pending"] if name != agent]
    accepted = [name for name in acks["recipients"] if name == agent or name in acks["accepted"]]
    row["acks"] = {**acks, "pending": pending, "accepted": accepted}
    if pending:
        message = f"{agent} accepted; still awaited: {', '.join(pending)}."
        lifecycle.move(packet, row, (), rules.ACK_RECORDED.code, message, context)
        return None
    delete_timers(row, context)
    events = (*lifecycle.APPLIED, *verification.final_events(row, context))
    message = f"{agent} accepted, and so all {len(accepted)} recipients have."
    lifecycle.move(packet, row, events, rules.DELIVERED.code, message, context)
    return AckOutcome(IntraEvent.ACK_ACCEPTED, row)


def _record_refusal(packet: Inbound, row: AvroValue, context: BatchContext) -> AckOutcome:
    reason = packet.payload["reason"]
    delete_timers(row, context)
    lifecycle.move(
        packet,
        row,
        lifecycle.REFUSED,
        rules.RECIPIENT_REFUSED.code,
        f"{packet.value['sender']['agent_id']} refused it with {packet.packet_type}.",
        context,
        metadata_json=None if reason is None else canonical_json({"reason": reason}).decode(),
    )
    return AckOutcome(IntraEvent.ACK_REJECTED_OR_DEFERRED, row)


def _defer(packet: Inbound, row: AvroValue, context: BatchContext) -> AckOutcome:
    acks = row["acks"]
    timeout = packet_value(row["packet"])["routing"]["ack_timeout_ms"]
    message = f"{packet.value['sender']['agent_id']} deferred its answer."
    if timeout is not None:
        key, due_at = context.key_of(row), packet.at + timeout
        context.work.delete_timer(acks["ack_due_at"], ACK, key)
        packet.event_context.set_timer(due_at, ACK, key)
        row["acks"] = {**acks, "ack_due_at": due_at}
        message = f"{message[:-1]}; it is awaited until {iso(due_at).decode()}."
    lifecycle.move(packet, row, (), rules.ACK_DEFERRED.code, message, context)
    return AckOutcome(IntraEvent.ACK_REJECTED_OR_DEFERRED, row)


def expire_overdue(row: AvroValue, packet: Inbound, context: BatchContext) -> None:
    """Expire a packet that a record names after its deadline but before its timer has fired."""
    if row["state"] == "ROUTED" and packet.at >= row["acks"]["deadline_at"]:
        _expire_by_ttl(row, packet.at, packet.traceparent, context)
        packet.event_context.resume()


def fire(timer: Timer, now_ms: int, context: BatchContext) -> None:
    """Handle a due timer; do nothing if its packet has moved on or has a newer timer."""
    row = context.states.get(timer.key)
    if row is None or row["state"] != "ROUTED":
        return
    acks = row["acks"]
    armed = acks["deadline_at"] if timer.kind == TTL else acks["ack_due_at"]
    if armed != timer.due_ms:
        return
    traceparent = traceparent_of(timer)
    if now_ms >= acks["deadline_at"]:
        _expire_by_ttl(row, now_ms, traceparent, context)
    elif acks["attempt"] <= (packet_value(row["packet"])["routing"]["retry_limit"] or 0):
        ctx = _ack_context(row, now_ms, traceparent, context)
        _redeliver(row, timer, ctx, context)
    else:
        message = f"{acks['attempt']} attempts went unanswered by: {', '.join(acks['pending'])}."
        ctx = _ack_context(row, now_ms, traceparent, context)
        _expire(row, rules.ACK_TIMEOUT.code, message, timer.due_ms, ctx, context)


def _ack_context(
    row: AvroValue, at: int, traceparent: bytes | None, context: BatchContext
) -> EventContext:
    """Begin the decision of an acknowledgement timer."""
    return _timer_context(row, f"ack/{row['acks']['attempt']}", at, traceparent, context)


def _timer_context(
    row: AvroValue, suffix: str, at: int, traceparent: bytes | None, context: BatchContext
) -> EventContext:
    """Begin the decision of a packet's timer.  at: when it fires (ms)."""
    cause = row["position"]
    return EventContext(context.work, cause, at, traceparent, f"{cause}/{suffix}")


def _redeliver(row: AvroValue, timer: Timer, ctx: EventContext, context: BatchContext) -> None:
    routing = packet_value(row["packet"])["routing"]
    acks = row["acks"]
    unanswered, due_at = acks["attempt"], ctx.at + routing["ack_timeout_ms"]
    row["acks"] = acks = {**acks, "attempt": unanswered + 1, "ack_due_at": due_at}
    lifecycle.advance(row, (), rules.REDELIVERED.code, at=ctx.at, cause=ctx.cause)
    message = (
        f"Attempt {unanswered} of {1 + routing['retry_limit']} went unanswered by: "
        f"{', '.join(acks['pending'])}."
    )
    fact = facts.timer_fact(row, rules.REDELIVERED.code, message, [], timer.due_ms, ctx)
    ctx.send(APC_EVENTS, fact["session_id"], fact, fact["event_id"])
    context.put(row)
    for agent in acks["pending"]:
        delivery = _delivery(row["packet_id"], agent, "redelivery", acks, row["packet"], ctx)
        ctx.send(APC_INBOX, agent, delivery, delivery["delivery_id"])
    ctx.set_timer(due_at, ACK, timer.key)


def _expire_by_ttl(
    row: AvroValue, at: int, traceparent: bytes | None, context: BatchContext
) -> None:
    due_at = row["acks"]["deadline_at"]
    message = f"Its deadline {iso(due_at).decode()} passed while it waited for: "
    message += f"{', '.join(row['acks']['pending'])}."
    ctx = _timer_context(row, "ttl", at, traceparent, context)
    _expire(row, rules.TTL_EXPIRED.code, message, due_at, ctx, context)


def _expire(
    row: AvroValue,
    rule: str,
    message: str,
    due_at: int,
    ctx: EventContext,
    context: BatchContext,
) -> None:
    delete_timers(row, context)
    transitions = lifecycle.advance(row, lifecycle.EXPIRED, rule, at=ctx.at, cause=ctx.cause)
    fact = facts.timer_fact(row, rule, message, transitions, due_at, ctx)
    contributions.remove(row, ctx, context)
    fact["coordination"] = agent_events.raise_expired(row, ctx, context)
    ctx.send(APC_EVENTS, fact["session_id"], fact, fact["event_id"])
    context.put(row)


def retract(packet: Inbound, deadline_at: int, context: BatchContext) -> None:
    """Apply an accepted RETRACTION to its target."""
    row = packet.target
    assert row is not None
    if row["state"] == "ROUTED":
        delete_timers(row, context)
    message = f"Retracted by {packet.value['sender']['agent_id']}."
    lifecycle.move(packet, row, lifecycle.RETRACTED, rules.RETRACTED.code, message, context)
    _send_notices(packet, row, deadline_at, context)


def _send_notices(packet: Inbound, row: AvroValue, deadline_at: int, context: BatchContext) -> None:
    """Send a notice to the target's recipients, except those of the RETRACTION itself."""
    recipients = lifecycle.recipients(packet.value)
    holders = [] if row["acks"] is None else row["acks"]["recipients"]
    for agent in holders:
        if agent not in recipients:
            notice = {
                "delivery_id": composite(row["packet_id"], agent, "notice"),
                "kind": "retraction",
                "recipient_agent_id": agent,
                "attempt": 1,
                "packet": packet.packet,
                "position": packet.cause,
                "at": packet.at,
                "deadline_at": deadline_at,
                "ack_due_at": None,
            }
            packet.event_context.send(APC_INBOX, agent, notice, notice["delivery_id"])
