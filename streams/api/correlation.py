"""`X-Correlation-Id`: an envelope's correlationId beside the body (sap spec 6.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schemas import Problem
from schemas.formats import is_uuid

HEADER = "X-Correlation-Id"


def shared(values: Sequence[Any]) -> dict[str, str]:
    """The header of an answer about these envelopes, if all have one correlationId."""
    ids = [_id(value) for value in values]
    first = ids[0] if ids else None
    if first is None or any(other is None or other.lower() != first.lower() for other in ids):
        return {}
    return {HEADER: first}


def _id(value: Any) -> str | None:
    found = value.get("correlationId") if isinstance(value, dict) else None
    return found if isinstance(found, str) and is_uuid(found) else None


def given(headers: Mapping[str, str]) -> str | None:
    """What a request says in its header."""
    return next((v.strip() for k, v in headers.items() if k.lower() == HEADER.lower()), None)


def mismatch(value: Mapping[str, Any], wanted: str) -> Problem | None:
    """value: a valid envelope."""
    own = str(value["correlationId"])
    if own.lower() == wanted.lower():
        return None
    message = f"{HEADER} is not the correlationId of the envelope, {own}."
    return Problem("correlation_mismatch", "/correlationId", message)
