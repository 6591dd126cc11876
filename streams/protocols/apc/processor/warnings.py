"""Oddities that a packet's fact names and that change no verdict."""

from __future__ import annotations

from collections.abc import Callable

from schemas.apc import rules
from streams.protocols.apc.processor.gates import pass_agrees
from streams.protocols.apc.processor.inbound import Inbound


def of_content(packet: Inbound) -> list[str]:
    """The warnings that a well-formed packet's own content calls for."""
    found: list[str] = []
    named = packet.value["recipients"]
    if len(named) > 1 and len({recipient["agent_id"] for recipient in named}) < len(named):
        found.append(rules.RECIPIENT_REPEATED.code)
    of_type = _BY_TYPE.get(packet.packet_type)
    if of_type is not None:
        of_type(packet, found)
    return found


def _claim(packet: Inbound, found: list[str]) -> None:
    bundle = packet.value["proof_bundle"]
    if not bundle["evidence_refs"] and not bundle["falsifiers"]:
        found.append(rules.PROOF_BUNDLE_EMPTY.code)


def _eval(packet: Inbound, found: list[str]) -> None:
    _claim(packet, found)
    if not pass_agrees(packet.payload):
        found.append(rules.EVAL_PASS_DISAGREES.code)


def _transfer(packet: Inbound, found: list[str]) -> None:
    payload = packet.payload
    if payload["from_swarm"] == payload["to_swarm"]:
        found.append(rules.SELF_TRANSFER.code)
    if payload["from_swarm"] != packet.value["sender"]["swarm_id"]:
        found.append(rules.FROM_SWARM_NOT_SENDER.code)
    mode = packet.value["lineage"]["transfer_mode"]
    if mode is not None and mode != payload["transfer_policy"]["mode"]:
        found.append(rules.TRANSFER_MODE_DIFFERS.code)


def _nack(packet: Inbound, found: list[str]) -> None:
    if packet.payload["ack_status"] != "REJECTED":
        found.append(rules.NACK_STATUS_IGNORED.code)


_BY_TYPE: dict[str, Callable[[Inbound, list[str]], None]] = {
    "CLAIM": _claim,
    "EVAL": _eval,
    "TRANSFER": _transfer,
    "NACK": _nack,
}
