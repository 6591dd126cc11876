"""The throttle rows: who received a protocol from a swarm in a generation of a run.

A receiver takes its place once and keeps it: what was handed over was seen, whatever becomes of
the packet.  Refused transfers are counted by the rule that refused them.
"""

from __future__ import annotations

from schemas.apc import rules
from streams.engine.processor import AvroValue
from streams.protocols.apc.processor.inbound import Desk, Inbound
from streams.protocols.apc.processor.throttle import Judged, judge, places_left
from streams.protocols.apc.processor.transfer import Standing, transfer_of
from streams.protocols.apc.processor.windows import window_of
from topology.keys import composite


def throttled(packet: Inbound, desk: Desk) -> Judged:
    """Checks 4 to 14; what they saw stays with the packet."""
    row = desk.throttling.get(_key(packet))
    receivers = [] if row is None else [receiver["to_swarm"] for receiver in row["receivers"]]
    decay = decay_of(desk.lineage(packet.payload["protocol_id"]), desk.settings["APC_DECAY_MODE"])
    judged = judge(transfer_of(packet.value), Standing(receivers, decay))
    packet.throttle = judged.throttle
    if judged.flagged:
        packet.warnings.append(rules.PROTOCOL_DECAYED.code)
    return judged


def decay_of(lineage: AvroValue | None, mode: str) -> AvroValue:
    """The figures of a protocol as a Throttle shows them; lineage: its total row, if it has one."""
    if lineage is None:
        return {**_UNKNOWN, "mode": mode}
    return {
        "blocked": lineage["blocked"],
        "reasons": lineage["blocked_reasons"],
        "transfer_count": lineage["transfers"],
        "effectiveness_score": lineage["effectiveness_score"],
        "avg_drift_risk": lineage["avg_drift_risk"],
        "mode": mode,
        "lineage_version": lineage["version"],
    }


def take_place(packet: Inbound, desk: Desk) -> None:
    """An accepted TRANSFER takes its place, unless its receiver has one."""
    row, throttle = _row(packet, desk), packet.throttle
    assert throttle is not None
    if not throttle["already_received"]:
        receiver = {
            "to_swarm": throttle["to_swarm"],
            "packet_id": packet.packet_id,
            "at": packet.at,
        }
        row["receivers"] = [*row["receivers"], receiver]
    row["accepted"] += 1
    row["last_top_k"] = throttle["top_k"]
    desk.throttling.put(_key(packet), row)


def leave_place(packet: Inbound) -> None:
    """An accepted TRANSFER that had expired takes none, and its record says so."""
    throttle = packet.throttle
    assert throttle is not None
    before = len(throttle["receivers_before"])
    packet.throttle = {**throttle, "places_left": places_left(throttle["top_k"], before)}


def count_refusal(packet: Inbound, rule: str, desk: Desk) -> None:
    row = _row(packet, desk)
    row["rejected"] = {**row["rejected"], rule: row["rejected"].get(rule, 0) + 1}
    desk.throttling.put(_key(packet), row)


def standing(packet: Inbound) -> AvroValue | None:
    """The member `transfer` of the packet's row: what an arbitration or a removal needs of it."""
    branch, payload = packet.value["payload"]
    if packet.packet_type != "TRANSFER" or branch != _TRANSFER:
        return None
    lineage = packet.value["lineage"] or {}
    return {
        "protocol_id": payload["protocol_id"],
        "to_swarm": payload["to_swarm"],
        "sender_score": payload["sender_score"],
        "receiver_score": payload["receiver_score"],
        "accepted": bool(payload["accepted"]),
        "cross_use_case": bool(lineage.get("cross_use_case")),
        "selection": None if packet.throttle is None else packet.throttle["selection"],
    }


def key_of(packet: Inbound) -> str | None:
    """The key of the row that a TRANSFER needs; None if its payload is another's."""
    payload = packet.payload
    if "protocol_id" not in payload:
        return None
    trace = packet.trace
    return composite(
        packet.session_id,
        trace["run_id"],
        str(trace["generation"]),
        payload["protocol_id"],
        payload["from_swarm"],
    )


def _key(packet: Inbound) -> str:
    key = key_of(packet)
    assert key is not None
    return key


def _row(packet: Inbound, desk: Desk) -> AvroValue:
    """The row as it is to be changed by this packet."""
    row = desk.throttling.get(_key(packet))
    if row is not None:
        return {**row, "updated_at": packet.at}
    generation = packet.trace["generation"]
    return {
        "session_id": packet.session_id,
        "run_id": packet.trace["run_id"],
        "generation": generation,
        "protocol_id": packet.payload["protocol_id"],
        "from_swarm": packet.payload["from_swarm"],
        "window": window_of(generation).name,
        "receivers": [],
        "last_top_k": None,
        "accepted": 0,
        "rejected": {},
        "updated_at": packet.at,
    }


_TRANSFER = "headrace.apc.TransferPayload"
_UNKNOWN: AvroValue = {
    "blocked": False,
    "reasons": [],
    "transfer_count": 0,
    "effectiveness_score": 0.0,
    "avg_drift_risk": None,
    "lineage_version": 0,
}
