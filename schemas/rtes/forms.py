"""The JSON form of an event without unknown members, and its content hash."""

from __future__ import annotations

from typing import Any

from schemas.canonical import canonical_json, sha256_hex
from schemas.json_mapping.json_form import to_json
from schemas.rtes.models import BY_NAME, Event

JsonObject = dict[str, Any]

_EVENT_MEMBERS = frozenset(Event.model_fields)
_PAYLOAD_MEMBERS = {name: frozenset(each.model.model_fields) for name, each in BY_NAME.items()}


def event_json(avro_value: dict[str, Any]) -> JsonObject:
    """Return the JSON form of an RtesEvent, with `origin` when it has one."""
    return to_json("headrace.rtes.RtesEvent", avro_value)


def drop_unknown(value: Any) -> tuple[Any, int]:
    """Return the event without unknown members (`origin` is one), and the number of these.

    Each counts as one, whatever its value.  Members inside `arguments` are kept.  The payload of an
    unknown type and values that are no objects are not changed.
    """
    if not isinstance(value, dict):
        return value, 0
    clean = {name: member for name, member in value.items() if name in _EVENT_MEMBERS}
    dropped = len(value) - len(clean)
    payload = clean.get("payload")
    kind = payload.get("type") if isinstance(payload, dict) else None
    known = _PAYLOAD_MEMBERS.get(kind) if isinstance(kind, str) else None
    if isinstance(payload, dict) and known is not None:
        clean["payload"] = {name: member for name, member in payload.items() if name in known}
        dropped += len(payload) - len(clean["payload"])
    return clean, dropped


def content_hash(event: JsonObject) -> str:
    """Return the SHA-256 of the event's JSON, `event_id` in lower case (SAOP guide, 5.2)."""
    folded = {**event, "event_id": str(event["event_id"]).lower()}
    return sha256_hex(canonical_json(folded))
