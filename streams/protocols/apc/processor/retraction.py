"""Retraction: the sender takes a packet back, whatever became of it.

The packet is no longer counted and not delivered again, and everyone who holds it is told.  What
others did because of it stays.
"""

from __future__ import annotations

from schemas.apc import rules
from streams.engine.processor import AvroValue
from streams.protocols.apc.processor import delivery, lifecycle, moves
from streams.protocols.apc.processor.inbound import Desk, Inbound
from topology.keys import composite


def retract(packet: Inbound, deadline_at: int, desk: Desk) -> None:
    """What an accepted RETRACTION does to its target."""
    row = packet.target
    assert row is not None
    if row["state"] == "ROUTED":
        delivery.disarm(row, desk)
    message = f"Retracted by {packet.value['sender']['agent_id']}."
    moves.move(packet, row, lifecycle.RETRACTED, rules.RETRACTED.code, message, desk)
    _notify(packet, row, deadline_at, desk)


def _notify(packet: Inbound, row: AvroValue, deadline_at: int, desk: Desk) -> None:
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
            delivery.send(desk, notice, packet.cause, packet.at, packet.cause, packet.traceparent)
