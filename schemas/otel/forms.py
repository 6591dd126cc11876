"""The JSON form of a span, and its canonical hash."""

from __future__ import annotations

from typing import Any

from schemas.canonical import canonical_json, sha256_hex
from schemas.json_mapping.json_form import to_json
from schemas.otel.models import Span

JsonObject = dict[str, Any]

_NOT_HASHED = ("session_hint", "masked")
_MEMBERS = frozenset(Span.model_fields)


def span_json(avro_value: dict[str, Any]) -> JsonObject:
    """Return the JSON form of an OtelSpan."""
    return to_json("headrace.otel.OtelSpan", avro_value)


def drop_unknown(value: Any) -> tuple[Any, int]:
    """Return the span without unknown members, and the number of these."""
    if not isinstance(value, dict):
        return value, 0
    clean = {name: member for name, member in value.items() if name in _MEMBERS}
    return clean, len(value) - len(clean)


def span_hash(span: JsonObject) -> str:
    """Return the SHA-256 of a masked span's JSON, without what depends on its request."""
    hashed = {name: member for name, member in span.items() if name not in _NOT_HASHED}
    return sha256_hex(canonical_json(hashed))
