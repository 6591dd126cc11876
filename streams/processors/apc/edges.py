"""Lineage: what an accepted packet came of, names or is about, as edges of a graph.

Source: APC spec, 5.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from schemas.formats import is_uuid
from streams.processors.apc.inbound import Desk, Inbound, named_by
from topology.topics import LINEAGE_EDGES

Edge = tuple[str, str, str]
"""From, relation, to."""

_EVALUATING = ("EVAL", "ARBITRATION")


def draw(packet: Inbound, desk: Desk) -> None:
    """Send each edge of the packet once."""
    for source, relation, target in dict.fromkeys(edges(packet)):
        edge_id = sha256(f"{source}|{relation}|{target}".encode()).hexdigest()
        edge = {
            "edge_id": edge_id,
            "from_node": source,
            "relation": relation,
            "to_node": target,
            "at": packet.at,
            "cause": packet.cause,
        }
        desk.work.send(
            LINEAGE_EDGES,
            edge_id,
            edge,
            id=edge_id,
            at=packet.at,
            cause=packet.cause,
            traceparent=packet.traceparent,
        )


def edges(packet: Inbound) -> Iterator[Edge]:
    own, trace = _packet(packet.packet_id), packet.value["trace"]
    yield own, "same_trace", f"trace:{packet.session_id}"
    if trace["parent_packet_id"] is not None:
        yield own, "child_of", _packet(trace["parent_packet_id"])
    if trace["root_packet_id"] != packet.packet_id:
        yield own, "part_of", _packet(trace["root_packet_id"])
    match packet.packet_type:
        case "ACK" | "NACK":
            yield own, "acknowledges", _packet(packet.payload["acked_packet_id"])
        case "RETRACTION":
            yield from _retraction(packet, own)
    if packet.value["lineage"] is not None:
        yield from _lineage(packet, own)
    if packet.packet_type in _EVALUATING:
        for named in named_by(packet):
            if is_uuid(named):
                yield own, "evaluates", _packet(named)


def _retraction(packet: Inbound, own: str) -> Iterator[Edge]:
    target = _packet(packet.payload["target_packet_id"])
    replacement = packet.payload["replacement_packet_id"]
    yield own, "retracts", target
    if replacement is not None:
        yield _packet(replacement), "replaces", target


def _lineage(packet: Inbound, own: str) -> Iterator[Edge]:
    lineage = packet.value["lineage"]
    protocol = _protocol(lineage["protocol_id"])
    yield own, "transfers" if packet.packet_type == "TRANSFER" else "derived_from", protocol
    for parent in lineage["parent_protocol_ids"] or ():
        yield protocol, "derived_from", _protocol(parent)


def _packet(packet_id: str) -> str:
    return f"apc:packet:{packet_id}"


def _protocol(protocol_id: str) -> str:
    return f"apc:protocol:{protocol_id}"
