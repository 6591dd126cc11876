"""The declarations of spans for the schema layer."""

from __future__ import annotations

from schemas.model import json_schema_text
from schemas.otel.mapping import MAPPING
from schemas.otel.meanings import MEANINGS
from schemas.otel.models import Span
from schemas.otel.validate import validate_span
from schemas.spec import Spec

SPEC = Spec(
    "otel",
    records=(
        "headrace.otel.OtelSpan",
        "headrace.otel.OtelEvent",
        "headrace.otel.OtelSpanKnown",
        "headrace.otel.OtelTrace",
    ),
    kinds={"otel.span": validate_span},
    export=lambda: {"otel/span.json": json_schema_text(Span)},
    mapping=MAPPING,
    meanings=MEANINGS,
)
