"""A packet's JSON form, its ids in lower case, and its hashes (APC guide, 1)."""

from __future__ import annotations

from typing import Any

from schemas.canonical import canonical_json, sha256_hex
from schemas.formats import is_uuid
from schemas.json_mapping.json_form import to_json

JsonObject = dict[str, Any]

_PAYLOAD_IDS = {
    "RETRACTION": ("target_packet_id", "replacement_packet_id"),
    "ACK": ("acked_packet_id",),
    "NACK": ("acked_packet_id",),
}
_REFERENCE = "packet:"


def packet_json(avro_value: dict[str, Any]) -> JsonObject:
    """Return the JSON form of an ApcPacket."""
    return to_json("headrace.apc.ApcPacket", avro_value)


def packet_hashes(packet: JsonObject) -> tuple[str, str]:
    """packet_hash and identity_hash, which leaves out `created_at`, of a packet's JSON form."""
    folded = fold_ids(packet)
    whole = canonical_json(folded)
    return sha256_hex(whole), sha256_hex(_without_created_at(folded, whole))


def _without_created_at(packet: JsonObject, whole: bytes) -> bytes:
    """Return the canonical JSON of the packet without `created_at`; whole: with it.

    Usually cuts the member out of `whole`.  `channel` sorts before `created_at`, so the packet's
    own member follows a comma, and if that text occurs only once, it is that member.
    """
    created_at = packet.get("created_at")
    if "channel" in packet and isinstance(created_at, str):
        member = b',"created_at":' + canonical_json(created_at)
        if whole.count(member) == 1:
            return whole.replace(member, b"")
    return canonical_json({name: m for name, m in packet.items() if name != "created_at"})


def fold_ids(packet: JsonObject) -> JsonObject:
    """Return the packet with the UUIDs in its members and references in lower case.

    Returns the same object if nothing changes, else a copy that shares the unchanged members.
    Members of other shapes are left alone, so that a packet that breaks rules can be folded too.
    """
    result: JsonObject = _folded(packet, ("packet_id",))
    trace = _folded(packet.get("trace"), ("root_packet_id", "parent_packet_id"))
    payload = _folded_payload(packet.get("packet_type"), packet.get("payload"))
    proof = _folded_references(packet.get("proof_bundle"))
    for name, member in (("trace", trace), ("payload", payload), ("proof_bundle", proof)):
        if member is not packet.get(name):
            result = {**result, name: member}
    return result


def _fold(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    lower = text.lower()
    return lower if lower != text and is_uuid(text) else text


def _folded(members: Any, names: tuple[str, ...]) -> Any:
    if not isinstance(members, dict):
        return members
    changed = {}
    for name in names:
        before = members.get(name)
        after = _fold(before)
        if after is not before:
            changed[name] = after
    return {**members, **changed} if changed else members


def _folded_payload(packet_type: Any, payload: Any) -> Any:
    if packet_type == "ARBITRATION" and isinstance(payload, dict):
        candidates = payload.get("candidates")
        folded = _each(candidates, _folded_candidate)
        return payload if folded is candidates else {**payload, "candidates": folded}
    names = _PAYLOAD_IDS.get(packet_type) if isinstance(packet_type, str) else None
    return _folded(payload, names) if names else payload


def _folded_candidate(candidate: Any) -> Any:
    if not isinstance(candidate, dict):
        return candidate
    ids = candidate.get("packet_ref_ids")
    folded = _each(ids, _fold)
    return candidate if folded is ids else {**candidate, "packet_ref_ids": folded}


def _folded_references(proof: Any) -> Any:
    if not isinstance(proof, dict) or not proof.get("evidence_refs"):
        return proof
    refs = proof["evidence_refs"]
    folded = _each(refs, _fold_reference)
    return proof if folded is refs else {**proof, "evidence_refs": folded}


def _fold_reference(text: Any) -> Any:
    if isinstance(text, str) and text.startswith(_REFERENCE):
        id = text[len(_REFERENCE) :]
        folded = _fold(id)
        return text if folded is id or folded == id else _REFERENCE + folded
    return text


def _each(items: Any, change: Any) -> Any:
    """Apply `change` to each item; return the same list if no item changes."""
    if not isinstance(items, list):
        return items
    changed = [change(item) for item in items]
    same = all(after is before for after, before in zip(changed, items, strict=True))
    return items if same else changed
