"""Delivery, acknowledgement and expiry.

A packet is delivered once to each distinct recipient.  One that asks for acknowledgements stays
ROUTED until all have accepted, one has refused, the attempts are used up or its deadline passes.
The deadline is compared with the time of the record at hand, so an answer dated before it counts
whenever it is read, and one dated later finds the packet expired, exactly as the timer would
have left it.
"""

from __future__ import annotations

from schemas import AvroBody, canonical_json
from schemas.apc import rules
from schemas.formats import parse_time
from streams.engine.headers import iso
from streams.engine.processor import AvroValue, Timer
from streams.processors.apc import facts, lifecycle, tasks, verification
from streams.processors.apc.inbound import Desk, Inbound, packet_value
from topology.keys import composite
from topology.topics import APC_INBOX

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


def _standing(packet: Inbound, deadline_at: int) -> AvroValue:
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


def deliver(packet: Inbound, row: AvroValue, deadline_at: int, desk: Desk) -> str:
    """Hand an accepted packet to its recipients; it waits for their answers or moves on at once.

    Returns the sentence of its verdict.
    """
    row["acks"] = acks = _standing(packet, deadline_at)
    for agent in acks["recipients"]:
        delivery = _delivery(packet.packet_id, agent, "packet", acks, packet.packet)
        send(desk, delivery, packet.cause, packet.at, packet.cause, packet.traceparent)
    message = f"Accepted and delivered to {len(acks['recipients'])}"
    if not acks["required"]:
        ending = verification.ending(row, desk)
        lifecycle.arrive(row, (*lifecycle.ROUTED, *lifecycle.APPLIED, *ending))
        return f"{message}; no acknowledgement is asked for."
    lifecycle.arrive(row, lifecycle.ROUTED)
    data = _timer_data(packet.traceparent)
    desk.work.set_timer(Timer(deadline_at, TTL, packet.key, data))
    if acks["ack_due_at"] is not None:
        desk.work.set_timer(Timer(acks["ack_due_at"], ACK, packet.key, data))
    return f"{message}; acknowledgements are awaited until {iso(deadline_at).decode()}."


def send(
    desk: Desk,
    delivery: AvroValue,
    position: str,
    at: int,
    cause: str,
    traceparent: bytes | None,
) -> None:
    delivery["position"] = position
    delivery["at"] = at
    desk.work.send(
        APC_INBOX,
        delivery["recipient_agent_id"],
        delivery,
        id=delivery["delivery_id"],
        at=at,
        cause=cause,
        traceparent=traceparent,
    )


def acknowledge(packet: Inbound, desk: Desk) -> None:
    """What an accepted ACK or NACK does to the packet it names."""
    row = packet.target
    assert row is not None
    status = packet.payload["ack_status"]
    if row["state"] != "ROUTED":
        packet.warnings.append(rules.ACK_WITHOUT_EFFECT.code)
    elif packet.value["sender"]["agent_id"] not in row["acks"]["pending"]:
        packet.warnings.append(rules.ACK_REPEATED.code)
    elif packet.packet_type == "NACK" or status == "REJECTED":
        _refuse(packet, row, desk)
    elif status == "DEFERRED":
        _defer(packet, row, desk)
    else:
        _accept(packet, row, desk)


def _accept(packet: Inbound, row: AvroValue, desk: Desk) -> None:
    acks, agent = row["acks"], packet.value["sender"]["agent_id"]
    pending = [name for name in acks["pending"] if name != agent]
    accepted = [name for name in acks["recipients"] if name == agent or name in acks["accepted"]]
    row["acks"] = {**acks, "pending": pending, "accepted": accepted}
    if pending:
        lifecycle.advance(row, (), rules.ACK_RECORDED.code, at=packet.at, cause=packet.cause)
        message = f"{agent} accepted; still awaited: {', '.join(pending)}."
        facts.effect(packet, row, rules.ACK_RECORDED.code, message, [])
    else:
        disarm(row, desk)
        events = (*lifecycle.APPLIED, *verification.ending(row, desk))
        moved = lifecycle.advance(
            row, events, rules.DELIVERED.code, at=packet.at, cause=packet.cause
        )
        if not row["counted"]:
            tasks.remove(row, desk)
        message = f"{agent} accepted, and so all {len(accepted)} recipients have."
        facts.effect(packet, row, rules.DELIVERED.code, message, moved)
    desk.put(row)


def _refuse(packet: Inbound, row: AvroValue, desk: Desk) -> None:
    rule, reason = rules.RECIPIENT_REFUSED.code, packet.payload["reason"]
    disarm(row, desk)
    moved = lifecycle.advance(
        row,
        lifecycle.REFUSED,
        rule,
        at=packet.at,
        cause=packet.cause,
        metadata_json=None if reason is None else canonical_json({"reason": reason}).decode(),
    )
    tasks.remove(row, desk)
    message = f"{packet.value['sender']['agent_id']} refused it with {packet.packet_type}."
    facts.effect(packet, row, rule, message, moved)
    desk.put(row)


def _defer(packet: Inbound, row: AvroValue, desk: Desk) -> None:
    """No attempt is counted; the wait for this one begins anew."""
    acks = row["acks"]
    timeout = packet_value(row["packet"])["routing"]["ack_timeout_ms"]
    message = f"{packet.value['sender']['agent_id']} deferred its answer."
    if timeout is not None:
        key, due_at = desk.key_of(row), packet.at + timeout
        desk.work.delete_timer(acks["ack_due_at"], ACK, key)
        desk.work.set_timer(Timer(due_at, ACK, key, _timer_data(packet.traceparent)))
        row["acks"] = {**acks, "ack_due_at": due_at}
        message = f"{message[:-1]}; it is awaited until {iso(due_at).decode()}."
    lifecycle.advance(row, (), rules.ACK_DEFERRED.code, at=packet.at, cause=packet.cause)
    facts.effect(packet, row, rules.ACK_DEFERRED.code, message, [])
    desk.put(row)


def expire_overdue(row: AvroValue, packet: Inbound, desk: Desk) -> None:
    """A record names a packet whose deadline has passed before its timer fired."""
    if row["state"] == "ROUTED" and packet.at >= row["acks"]["deadline_at"]:
        desk.work.cause = row["position"]
        _expire_by_ttl(row, packet.at, packet.traceparent, desk)
        desk.work.cause = packet.cause


def fire(timer: Timer, now_ms: int, desk: Desk) -> None:
    """A timer is due; it does nothing when its packet has moved on or was armed anew."""
    row = desk.states.get(timer.key)
    if row is None or row["state"] != "ROUTED":
        return
    acks = row["acks"]
    armed = acks["deadline_at"] if timer.kind == TTL else acks["ack_due_at"]
    if armed != timer.due_ms:
        return
    desk.work.cause = row["position"]
    parent = timer.data.get("traceparent")
    traceparent = None if parent is None else parent.encode()
    if now_ms >= acks["deadline_at"]:
        _expire_by_ttl(row, now_ms, traceparent, desk)
    elif acks["attempt"] <= (packet_value(row["packet"])["routing"]["retry_limit"] or 0):
        _redeliver(row, timer, now_ms, traceparent, desk)
    else:
        message = f"{acks['attempt']} attempts went unanswered by: {', '.join(acks['pending'])}."
        suffix = f"ack/{acks['attempt']}"
        _expire(
            row, rules.ACK_TIMEOUT.code, suffix, message, now_ms, timer.due_ms, traceparent, desk
        )


def _redeliver(
    row: AvroValue, timer: Timer, now_ms: int, traceparent: bytes | None, desk: Desk
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
    facts.send(desk.work, fact, traceparent)
    desk.put(row)
    for agent in acks["pending"]:
        delivery = _delivery(row["packet_id"], agent, "redelivery", acks, row["packet"])
        send(desk, delivery, row["position"], now_ms, row["position"], traceparent)
    desk.work.set_timer(Timer(due_at, ACK, timer.key, timer.data))


def _expire_by_ttl(row: AvroValue, at: int, traceparent: bytes | None, desk: Desk) -> None:
    due_at = row["acks"]["deadline_at"]
    message = f"Its deadline {iso(due_at).decode()} passed while it waited for: "
    message += f"{', '.join(row['acks']['pending'])}."
    _expire(row, rules.TTL_EXPIRED.code, "ttl", message, at, due_at, traceparent, desk)


def _expire(
    row: AvroValue,
    rule: str,
    suffix: str,
    message: str,
    at: int,
    due_at: int,
    traceparent: bytes | None,
    desk: Desk,
) -> None:
    disarm(row, desk)
    moved = lifecycle.advance(row, lifecycle.EXPIRED, rule, at=at, cause=row["position"])
    tasks.remove(row, desk)
    fact = facts.fired(row, suffix, rule, message, moved, at=at, due_at=due_at)
    facts.send(desk.work, fact, traceparent)
    desk.put(row)


def disarm(row: AvroValue, desk: Desk) -> None:
    """Delete the timers of a packet that leaves ROUTED."""
    acks, key = row["acks"], desk.key_of(row)
    desk.work.delete_timer(acks["deadline_at"], TTL, key)
    if acks["ack_due_at"] is not None:
        desk.work.delete_timer(acks["ack_due_at"], ACK, key)
        row["acks"] = {**acks, "ack_due_at": None}


def _timer_data(traceparent: bytes | None) -> dict[str, str]:
    return {} if traceparent is None else {"traceparent": traceparent.decode("utf-8", "replace")}


def _delivery(
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
