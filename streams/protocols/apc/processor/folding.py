"""A packet whose ids were sent in upper case, with its ids in lower case.

Its JSON form is folded by `schemas.apc.fold_ids`; this carries the folded ids into the Avro
value.  It takes packets as they are, whatever rules they break.
"""

from __future__ import annotations

from streams.engine.processor import AvroValue

_TRACE_IDS = ("root_packet_id", "parent_packet_id")
_PAYLOAD_IDS = ("acked_packet_id", "target_packet_id", "replacement_packet_id")


def folded_value(value: AvroValue, json: AvroValue) -> AvroValue:
    """The Avro value with the ids of its folded JSON form."""
    branch, payload = value["payload"]
    folded = {
        **value,
        "packet_id": json["packet_id"],
        "trace": _with(value["trace"], json["trace"], _TRACE_IDS),
        "payload": (branch, _payload(payload, json["payload"])),
    }
    if value["proof_bundle"] is not None:
        bundle = _with(value["proof_bundle"], json["proof_bundle"], ("evidence_refs",))
        folded["proof_bundle"] = bundle
    return folded


def _payload(payload: AvroValue, json: AvroValue) -> AvroValue:
    folded = _with(payload, json, _PAYLOAD_IDS)
    if "candidates" in payload:
        pairs = zip(payload["candidates"], json["candidates"], strict=True)
        folded["candidates"] = [_with(one, other, ("packet_ref_ids",)) for one, other in pairs]
    return folded


def _with(members: AvroValue, json: AvroValue, names: tuple[str, ...]) -> AvroValue:
    return {**members, **{name: json[name] for name in names if name in json}}
