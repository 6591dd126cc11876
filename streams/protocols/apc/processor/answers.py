"""Answers: what an ACK or NACK does to the packet it names.

All recipients must accept; one refusal refuses.  A NACK is a refusal whatever status it carries.
A recipient may defer, which costs no attempt: the wait for this one begins anew.
"""

from __future__ import annotations

from schemas import canonical_json
from schemas.apc import rules
from streams.engine.headers import iso
from streams.engine.processor import AvroValue, Timer
from streams.protocols.apc.processor import delivery, lifecycle, moves, verification
from streams.protocols.apc.processor.inbound import Desk, Inbound, packet_value
from topology.machines.apc_intra import IntraEvent


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
        message = f"{agent} accepted; still awaited: {', '.join(pending)}."
        moves.move(packet, row, (), rules.ACK_RECORDED.code, message, desk)
        return
    delivery.disarm(row, desk)
    events = (*lifecycle.APPLIED, *verification.ending(row, desk))
    message = f"{agent} accepted, and so all {len(accepted)} recipients have."
    moves.move(packet, row, events, rules.DELIVERED.code, message, desk)
    packet.answered = IntraEvent.ACK_ACCEPTED, row


def _refuse(packet: Inbound, row: AvroValue, desk: Desk) -> None:
    reason = packet.payload["reason"]
    delivery.disarm(row, desk)
    moves.move(
        packet,
        row,
        lifecycle.REFUSED,
        rules.RECIPIENT_REFUSED.code,
        f"{packet.value['sender']['agent_id']} refused it with {packet.packet_type}.",
        desk,
        metadata_json=None if reason is None else canonical_json({"reason": reason}).decode(),
    )
    packet.answered = IntraEvent.ACK_REJECTED_OR_DEFERRED, row


def _defer(packet: Inbound, row: AvroValue, desk: Desk) -> None:
    acks = row["acks"]
    timeout = packet_value(row["packet"])["routing"]["ack_timeout_ms"]
    message = f"{packet.value['sender']['agent_id']} deferred its answer."
    if timeout is not None:
        key, due_at = desk.key_of(row), packet.at + timeout
        desk.work.delete_timer(acks["ack_due_at"], delivery.ACK, key)
        desk.work.set_timer(
            Timer(due_at, delivery.ACK, key, delivery.timer_data(packet.traceparent))
        )
        row["acks"] = {**acks, "ack_due_at": due_at}
        message = f"{message[:-1]}; it is awaited until {iso(due_at).decode()}."
    moves.move(packet, row, (), rules.ACK_DEFERRED.code, message, desk)
    packet.answered = IntraEvent.ACK_REJECTED_OR_DEFERRED, row
