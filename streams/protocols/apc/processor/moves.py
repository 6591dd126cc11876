"""A packet moves another: its row changes, a fact says so, and if it ceased to be counted it
gives back what it had added to the sums.
"""

from __future__ import annotations

from collections.abc import Sequence

from streams.engine.processor import AvroValue
from streams.protocols.apc.processor import facts, lifecycle, tasks
from streams.protocols.apc.processor.inbound import Desk, Inbound


def move(
    packet: Inbound,
    row: AvroValue,
    events: Sequence[str],
    rule: str,
    message: str,
    desk: Desk,
    *,
    metadata_json: str | None = None,
) -> None:
    """Take the packet of `row` along these events (none: its row changed and its state stays)."""
    counted = row["counted"]
    moved = lifecycle.advance(
        row, events, rule, at=packet.at, cause=packet.cause, metadata_json=metadata_json
    )
    event_id = facts.effect(packet, row, rule, message, moved)
    if counted and not row["counted"]:
        tasks.remove(row, packet.occasion(event_id), desk)
    desk.put(row)
