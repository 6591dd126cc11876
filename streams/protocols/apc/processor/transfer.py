"""What is looked at in a TRANSFER, and around it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from schemas.apc.decimals import dec
from streams.engine.processor import AvroValue


class Transfer(NamedTuple):
    """What the checks look at in a packet."""

    protocol_id: str
    lineage_protocol_id: str
    to_swarm: str
    run_phase: str
    generation: int
    sender_score: Decimal
    receiver_score: Decimal
    confidence: Decimal
    top_k: int | None
    mode: str
    cross_use_case: bool
    min_generation: int
    threshold_multiplier: Decimal | None


class Standing(NamedTuple):
    """What the checks look at besides: the receivers so far, and the protocol's figures.

    decay: {blocked, reasons, transfer_count, effectiveness_score, avg_drift_risk, mode,
    lineage_version}.
    """

    receivers: Sequence[str]
    decay: AvroValue


def transfer_of(packet: AvroValue) -> Transfer:
    """From the Avro value of a well-formed TRANSFER."""
    payload, lineage = packet["payload"][1], packet["lineage"]
    policy = payload["transfer_policy"]
    threshold = policy["threshold_multiplier"]
    return Transfer(
        payload["protocol_id"],
        lineage["protocol_id"],
        payload["to_swarm"],
        packet["run_phase"],
        packet["trace"]["generation"],
        dec(payload["sender_score"]),
        dec(payload["receiver_score"]),
        dec(packet["confidence"]),
        policy["top_k"],
        policy["mode"],
        bool(lineage["cross_use_case"]),
        policy["min_generation"],
        None if threshold is None else dec(threshold),
    )
