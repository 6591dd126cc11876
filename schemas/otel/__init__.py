"""Spans of OpenTelemetry: models, validation, hashes."""

from schemas.otel.forms import drop_unknown, span_hash, span_json
from schemas.otel.models import Span
from schemas.otel.validate import MAX_ERRORS, validate_span

__all__ = ["MAX_ERRORS", "Span", "drop_unknown", "span_hash", "span_json", "validate_span"]
