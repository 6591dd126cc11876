"""What an edge does to a value before it is judged: fill in, drop what nobody knows, mask.

A value that is not an object is left as it is; the rules say what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from schemas import Problem, canonical_json, validate
from schemas.rtes import drop_unknown
from streams.engine.headers import iso
from streams.errors import UsageError
from streams.settings import Settings

DROPPED_KEYS = "headrace-dropped-keys"
UNMASKED = "[REDACTED:not_yet]"


class Prepared(NamedTuple):
    """A value as it would be produced, and how many unknown keys were left out."""

    value: Any
    dropped_keys: int | None = None


class Kind(NamedTuple):
    """One kind of envelope.  most: how many problems are reported."""

    name: str
    prepare: Callable[[Any, int], Prepared]
    most: int


def _packet(value: Any, now_ms: int) -> Prepared:
    if isinstance(value, dict) and "created_at" not in value:
        return Prepared({**value, "created_at": iso(now_ms).decode()})
    return Prepared(value)


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
        Kind("apc.packet", _packet, 10),
        Kind("rtes.event", _event, 16),
        Kind("rtes.payload", _payload, 16),
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
    problems = validate(kind.name, prepared.value) or _too_large(kind, prepared.value, settings)
    return prepared, problems[: kind.most]


def _too_large(kind: Kind, value: Any, settings: Settings) -> list[Problem]:
    if kind.name != "apc.packet":
        return []
    size, most = len(canonical_json(value)), settings.apc_max_packet_bytes
    if size <= most:
        return []
    return [Problem("packet_too_large", "", f"The packet has {size} bytes, {most} are allowed.")]
