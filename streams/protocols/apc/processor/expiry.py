"""Expiry and redelivery: what the timers of a waiting packet do.

The deadline is compared with the time of the record at hand, so an answer dated before it counts
whenever it is read, and one dated later finds the packet expired, exactly as the timer would
have left it: its fact has the timer's id, so it is never written twice.
"""

from __future__ import annotations

from schemas.apc import rules
from streams.engine.headers import iso
from streams.engine.processor import AvroValue, Timer
from streams.protocols.apc.processor import delivery, facts, intra, lifecycle, tasks
from streams.protocols.apc.processor.inbound import Desk, Inbound, Occasion, packet_value


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
    armed = acks["deadline_at"] if timer.kind == delivery.TTL else acks["ack_due_at"]
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
        handed = delivery.delivery_to(row["packet_id"], agent, "redelivery", acks, row["packet"])
        delivery.send(desk, handed, row["position"], now_ms, row["position"], traceparent)
    desk.work.set_timer(Timer(due_at, delivery.ACK, timer.key, timer.data))


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
    delivery.disarm(row, desk)
    moved = lifecycle.advance(row, lifecycle.EXPIRED, rule, at=at, cause=row["position"])
    fact = facts.fired(row, suffix, rule, message, moved, at=at, due_at=due_at)
    occasion = Occasion(fact["event_id"], at, row["position"], traceparent)
    tasks.remove(row, occasion, desk)
    fact["coordination"] = intra.expired(row, occasion, desk)
    facts.send(desk.work, fact, traceparent)
    desk.put(row)
