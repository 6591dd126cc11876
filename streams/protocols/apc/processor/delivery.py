"""Delivery: once to each distinct recipient, whatever the delivery mode, and what comes of it.

A packet that asks for acknowledgements stays ROUTED until all recipients have accepted, one has
refused, its attempts are used up or its deadline passes.  A NACK is a refusal whatever status it
carries.  A recipient may defer, which costs no attempt: the wait for this one begins anew.

The deadline is compared with the time of the record at hand, so an answer dated before it counts
whenever it is read, and one dated later finds the packet expired, exactly as the timer would
have left it: its fact has the timer's id, so it is never written twice.

A sender may take a packet back, whatever became of it.  The packet is no longer counted and not
delivered again, and everyone who holds it is told.  What others did because of it stays.
"""

from __future__ import annotations

from schemas import AvroBody, canonical_json
from schemas.apc import rules
from schemas.formats import parse_time
from streams.engine.headers import iso
from streams.engine.processor import AvroValue, Timer
from streams.protocols.apc.processor import (
    agent_events,
    contributions,
    facts,
    lifecycle,
    verification,
)
from streams.protocols.apc.processor.batch import BatchContext, EventContext, Inbound, packet_value
from streams.protocols.apc.processor.coordination import AckOutcome
from topology.apc import APC_INBOX
from topology.keys import composite
from topology.machines.apc_intra import IntraEvent

TTL = "apc.ttl"
ACK = "apc.ack"


def deadline(packet: Inbound) -> int:
    """When the packet expires, ms; not after its record's time if it came too late."""
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
    """Hand an accepted packet to its recipients; it waits for their answers or moves on at once.

    Returns the sentence of its verdict.
    """
    row["acks"] = acks = _new_acks(packet, deadline_at)
    metadata = selected(row)
    for agent in acks["recipients"]:
        handed = delivery_to(packet.packet_id, agent, "packet", acks, packet.packet)
        send(context, handed, packet.cause, packet.at, packet.cause, packet.traceparent)
    message = f"Accepted and delivered to {len(acks['recipients'])}"
    if not acks["required"]:
        ending = verification.ending(row, context)
        lifecycle.arrive(row, (*lifecycle.ROUTED, *lifecycle.APPLIED, *ending), metadata)
        return f"{message}; no acknowledgement is asked for."
    data = timer_data(packet.traceparent)
    lifecycle.arrive(row, lifecycle.ROUTED, metadata)
    context.work.set_timer(Timer(deadline_at, TTL, packet.key, data))
    if acks["ack_due_at"] is not None:
        context.work.set_timer(Timer(acks["ack_due_at"], ACK, packet.key, data))
    return f"{message}; acknowledgements are awaited until {iso(deadline_at).decode()}."


def selected(row: AvroValue) -> dict[str, str] | None:
    """What the transitions of an accepted TRANSFER carry."""
    transfer = row["transfer"]
    if transfer is None:
        return None
    return {"policy_pass": canonical_json(transfer["selection"]).decode()}


def send(
    context: BatchContext,
    delivery: AvroValue,
    position: str,
    at: int,
    cause: str,
    traceparent: bytes | None,
) -> None:
    delivery["position"] = position
    delivery["at"] = at
    context.work.send(
        APC_INBOX,
        delivery["recipient_agent_id"],
        delivery,
        id=delivery["delivery_id"],
        at=at,
        cause=cause,
        traceparent=traceparent,
    )


def disarm(row: AvroValue, context: BatchContext) -> None:
    """Delete the timers of a packet that leaves ROUTED."""
    acks, key = row["acks"], context.key_of(row)
    context.work.delete_timer(acks["deadline_at"], TTL, key)
    if acks["ack_due_at"] is not None:
        context.work.delete_timer(acks["ack_due_at"], ACK, key)
        row["acks"] = {**acks, "ack_due_at": None}


def timer_data(traceparent: bytes | None) -> dict[str, str]:
    return {} if traceparent is None else {"traceparent": traceparent.decode("utf-8", "replace")}


def delivery_to(
    packet_id: str, agent: str, kind: str, acks: AvroValue, packet: AvroValue | AvroBody
) -> AvroValue:
    return {
        "delivery_id": composite(packet_id, agent, str(acks["attempt"])),
        "kind": kind,
        "recipient_agent_id": agent,
        "attempt": acks["attempt"],
        "packet": packet,
        "deadline_at": acks["deadline_at"],
        "ack_due_at": acks["ack_due_at"],
    }


def acknowledge(packet: Inbound, context: BatchContext) -> AckOutcome | None:
    """What an accepted ACK or NACK does to the packet it names."""
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
    disarm(row, context)
    events = (*lifecycle.APPLIED, *verification.ending(row, context))
    message = f"{agent} accepted, and so all {len(accepted)} recipients have."
    lifecycle.move(packet, row, events, rules.DELIVERED.code, message, context)
    return AckOutcome(IntraEvent.ACK_ACCEPTED, row)


def _record_refusal(packet: Inbound, row: AvroValue, context: BatchContext) -> AckOutcome:
    reason = packet.payload["reason"]
    disarm(row, context)
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
        context.work.set_timer(Timer(due_at, ACK, key, timer_data(packet.traceparent)))
        row["acks"] = {**acks, "ack_due_at": due_at}
        message = f"{message[:-1]}; it is awaited until {iso(due_at).decode()}."
    lifecycle.move(packet, row, (), rules.ACK_DEFERRED.code, message, context)
    return AckOutcome(IntraEvent.ACK_REJECTED_OR_DEFERRED, row)


def expire_overdue(row: AvroValue, packet: Inbound, context: BatchContext) -> None:
    """A record names a packet whose deadline has passed before its timer fired."""
    if row["state"] == "ROUTED" and packet.at >= row["acks"]["deadline_at"]:
        context.work.cause = row["position"]
        _expire_by_ttl(row, packet.at, packet.traceparent, context)
        context.work.cause = packet.cause


def fire(timer: Timer, now_ms: int, context: BatchContext) -> None:
    """A timer is due; it does nothing when its packet has moved on or was armed anew."""
    row = context.states.get(timer.key)
    if row is None or row["state"] != "ROUTED":
        return
    acks = row["acks"]
    armed = acks["deadline_at"] if timer.kind == TTL else acks["ack_due_at"]
    if armed != timer.due_ms:
        return
    context.work.cause = row["position"]
    parent = timer.data.get("traceparent")
    traceparent = None if parent is None else parent.encode()
    if now_ms >= acks["deadline_at"]:
        _expire_by_ttl(row, now_ms, traceparent, context)
    elif acks["attempt"] <= (packet_value(row["packet"])["routing"]["retry_limit"] or 0):
        _redeliver(row, timer, now_ms, traceparent, context)
    else:
        message = f"{acks['attempt']} attempts went unanswered by: {', '.join(acks['pending'])}."
        suffix = f"ack/{acks['attempt']}"
        _expire(
            row, rules.ACK_TIMEOUT.code, suffix, message, now_ms, timer.due_ms, traceparent, context
        )


def _redeliver(
    row: AvroValue, timer: Timer, now_ms: int, traceparent: bytes | None, context: BatchContext
) -> None:
    routing = packet_value(row["packet"])["routing"]
    acks = row["acks"]
    unanswered, due_at = acks["attempt"], now_ms + routing["ack_timeout_ms"]
    row["acks"] = acks = {**acks, "attempt": unanswered + 1, "ack_due_at": due_at}
    lifecycle.advance(row, (), rules.REDELIVERED.code, at=now_ms, cause=row["position"])
    message = (
        f"Attempt {unanswered} of {1 + routing['retry_limit']} went unanswered by: "
        f"{', '.join(acks['pending'])}."
    )
    fact = facts.fired(
        row,
        f"ack/{unanswered}",
        rules.REDELIVERED.code,
        message,
        [],
        at=now_ms,
        due_at=timer.due_ms,
    )
    facts.send(context.work, fact, traceparent)
    context.put(row)
    for agent in acks["pending"]:
        handed = delivery_to(row["packet_id"], agent, "redelivery", acks, row["packet"])
        send(context, handed, row["position"], now_ms, row["position"], traceparent)
    context.work.set_timer(Timer(due_at, ACK, timer.key, timer.data))


def _expire_by_ttl(
    row: AvroValue, at: int, traceparent: bytes | None, context: BatchContext
) -> None:
    due_at = row["acks"]["deadline_at"]
    message = f"Its deadline {iso(due_at).decode()} passed while it waited for: "
    message += f"{', '.join(row['acks']['pending'])}."
    _expire(row, rules.TTL_EXPIRED.code, "ttl", message, at, due_at, traceparent, context)


def _expire(
    row: AvroValue,
    rule: str,
    suffix: str,
    message: str,
    at: int,
    due_at: int,
    traceparent: bytes | None,
    context: BatchContext,
) -> None:
    disarm(row, context)
    moved = lifecycle.advance(row, lifecycle.EXPIRED, rule, at=at, cause=row["position"])
    fact = facts.fired(row, suffix, rule, message, moved, at=at, due_at=due_at)
    event_context = EventContext(fact["event_id"], at, row["position"], traceparent)
    contributions.remove(row, event_context, context)
    fact["coordination"] = agent_events.expired(row, event_context, context)
    facts.send(context.work, fact, traceparent)
    context.put(row)


def retract(packet: Inbound, deadline_at: int, context: BatchContext) -> None:
    """What an accepted RETRACTION does to its target."""
    row = packet.target
    assert row is not None
    if row["state"] == "ROUTED":
        disarm(row, context)
    message = f"Retracted by {packet.value['sender']['agent_id']}."
    lifecycle.move(packet, row, lifecycle.RETRACTED, rules.RETRACTED.code, message, context)
    _notify(packet, row, deadline_at, context)


def _notify(packet: Inbound, row: AvroValue, deadline_at: int, context: BatchContext) -> None:
    """Tell those to whom the target was delivered; the RETRACTION's own recipients know."""
    own = lifecycle.recipients(packet.value)
    holders = [] if row["acks"] is None else row["acks"]["recipients"]
    for agent in holders:
        if agent not in own:
            notice = {
                "delivery_id": composite(row["packet_id"], agent, "notice"),
                "kind": "retraction",
                "recipient_agent_id": agent,
                "attempt": 1,
                "packet": packet.packet,
                "deadline_at": deadline_at,
                "ack_due_at": None,
            }
            send(context, notice, packet.cause, packet.at, packet.cause, packet.traceparent)
