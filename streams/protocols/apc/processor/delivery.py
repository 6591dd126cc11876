"""Delivery: once to each distinct recipient, whatever the delivery mode.

A packet that asks for acknowledgements stays ROUTED until all recipients have accepted, one has
refused (`answers`), its attempts are used up or its deadline passes (`expiry`).
"""

from __future__ import annotations

from schemas import AvroBody, canonical_json
from schemas.formats import parse_time
from streams.engine.headers import iso
from streams.engine.processor import AvroValue, Timer
from streams.protocols.apc.processor import lifecycle, verification
from streams.protocols.apc.processor.inbound import Desk, Inbound
from topology.apc import APC_INBOX
from topology.keys import composite

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
    metadata = selected(row)
    for agent in acks["recipients"]:
        handed = delivery_to(packet.packet_id, agent, "packet", acks, packet.packet)
        send(desk, handed, packet.cause, packet.at, packet.cause, packet.traceparent)
    message = f"Accepted and delivered to {len(acks['recipients'])}"
    if not acks["required"]:
        ending = verification.ending(row, desk)
        lifecycle.arrive(row, (*lifecycle.ROUTED, *lifecycle.APPLIED, *ending), metadata)
        return f"{message}; no acknowledgement is asked for."
    lifecycle.arrive(row, lifecycle.ROUTED, metadata)
    data = timer_data(packet.traceparent)
    desk.work.set_timer(Timer(deadline_at, TTL, packet.key, data))
    if acks["ack_due_at"] is not None:
        desk.work.set_timer(Timer(acks["ack_due_at"], ACK, packet.key, data))
    return f"{message}; acknowledgements are awaited until {iso(deadline_at).decode()}."


def selected(row: AvroValue) -> dict[str, str] | None:
    """What the transitions of an accepted TRANSFER carry."""
    transfer = row["transfer"]
    if transfer is None:
        return None
    return {"policy_pass": canonical_json(transfer["selection"]).decode()}


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


def disarm(row: AvroValue, desk: Desk) -> None:
    """Delete the timers of a packet that leaves ROUTED."""
    acks, key = row["acks"], desk.key_of(row)
    desk.work.delete_timer(acks["deadline_at"], TTL, key)
    if acks["ack_due_at"] is not None:
        desk.work.delete_timer(acks["ack_due_at"], ACK, key)
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
