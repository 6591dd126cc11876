"""What an edge does to a value before it is judged: fill in, drop what nobody knows, mask.

A value that is not an object is left as it is; the rules say what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from schemas import Problem, apc
from schemas.rtes import MAX_ERRORS, drop_unknown, validate_event, validate_payload
from streams.engine.headers import iso
from streams.errors import UsageError
from streams.settings import Settings

DROPPED_KEYS = "headrace-dropped-keys"
MAX_PACKET_ERRORS = 10
UNMASKED = "[REDACTED:not_yet]"


class Prepared(NamedTuple):
    """A value as it would be produced, and how many unknown keys were left out."""

    value: Any
    dropped_keys: int | None = None


class Kind(NamedTuple):
    """One kind of envelope.  prepare: takes the edge's clock (ms).  most: problems reported."""

    name: str
    prepare: Callable[[Any, int], Prepared]
    problems: Callable[[Any, Settings], list[Problem]]
    most: int


def _packet(value: Any, now_ms: int) -> Prepared:
    if isinstance(value, dict) and "created_at" not in value:
        return Prepared({**value, "created_at": iso(now_ms).decode()})
    return Prepared(value)


def _packet_problems(value: Any, settings: Settings) -> list[Problem]:
    return apc.validate(value, max_bytes=settings.apc_max_packet_bytes)


def _event(value: Any, now_ms: int) -> Prepared:
    clean, dropped = drop_unknown(value)
    return Prepared(_without_text(clean), dropped)


def _payload(value: Any, now_ms: int) -> Prepared:
    return Prepared(value)


def _without_text(event: Any) -> Any:
    """Text that may hold secrets is not masked yet, so it must not reach the log at all.

    The processor answers such events with `not_yet` in any case.
    """
    payload = event.get("payload") if isinstance(event, dict) else None
    if not isinstance(payload, dict):
        return event
    replaced: dict[str, Any] = {}
    if isinstance(payload.get("line"), str):
        replaced["line"] = UNMASKED
    if isinstance(payload.get("arguments"), dict):
        replaced["arguments"] = {}
    return {**event, "payload": {**payload, **replaced}} if replaced else event


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("apc.packet", _packet, _packet_problems, MAX_PACKET_ERRORS),
        Kind("rtes.event", _event, lambda value, _: validate_event(value), MAX_ERRORS),
        Kind("rtes.payload", _payload, lambda value, _: validate_payload(value), MAX_ERRORS),
    )
}


def kind_of(name: str) -> Kind:
    """Raises UsageError for a kind that does not exist."""
    if name not in KINDS:
        raise UsageError(f"{name} is not a kind of envelope", advice=f"Kinds: {', '.join(KINDS)}.")
    return KINDS[name]


def check(
    kind: Kind, value: Any, now_ms: int, settings: Settings
) -> tuple[Prepared, list[Problem]]:
    """The value as the edge would produce it, and every rule it breaks, the first ones first."""
    prepared = kind.prepare(value, now_ms)
    return prepared, kind.problems(prepared.value, settings)[: kind.most]
