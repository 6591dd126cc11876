"""The `X-Correlation-Id` header, which repeats an envelope's correlationId (SAP guide, 6.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schemas import Problem
from schemas.formats import is_uuid

HEADER = "X-Correlation-Id"


def response_header(values: Sequence[Any]) -> dict[str, str]:
    """Return the header for a response about these envelopes, if all have one correlationId."""
    ids = [_id(value) for value in values]
    first = ids[0] if ids else None
    if first is None or any(other is None or other.lower() != first.lower() for other in ids):
        return {}
    return {HEADER: first}


def _id(value: Any) -> str | None:
    correlation_id = value.get("correlationId") if isinstance(value, dict) else None
    return correlation_id if isinstance(correlation_id, str) and is_uuid(correlation_id) else None


def requested_id(headers: Mapping[str, str]) -> str | None:
    """Return the id in a request's header, None without one."""
    return next((v.strip() for k, v in headers.items() if k.lower() == HEADER.lower()), None)


def check_correlation(value: Mapping[str, Any], expected: str) -> Problem | None:
    """Return the problem of a valid envelope whose correlationId is not the header's."""
    correlation_id = str(value["correlationId"])
    if correlation_id.lower() == expected.lower():
        return None
    message = f"{HEADER} is not the correlationId of the envelope, {correlation_id}."
    return Problem("correlation_mismatch", "/correlationId", message)
