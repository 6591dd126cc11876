"""Lineage: what an accepted packet came of, names or is about, as edges of a graph.

Source: APC spec, 5.5.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas.formats import is_uuid
from streams.processing import graph
from streams.protocols.apc.processor.inbound import Desk, Inbound, named_by

Edge = tuple[str, str, str]
"""From, relation, to."""

_EVALUATING = ("EVAL", "ARBITRATION")


def draw(packet: Inbound, desk: Desk) -> None:
    """Send each edge of the packet once."""
    for edge in dict.fromkeys(edges(packet)):
        graph.draw(edge, packet.at, packet.cause, desk.work, packet.traceparent)


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
