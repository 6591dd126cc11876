"""The mapping of spans to their Avro records."""

from __future__ import annotations

from schemas.json_mapping.mapping import Codes, JsonMapping

MAPPING = JsonMapping(
    namespaces=("headrace.otel",),
    sparse=frozenset({"headrace.otel.OtelSpan"}),
    codes=Codes(named={"lone_surrogate": "text_invalid"}, otherwise="schema_invalid"),
)
