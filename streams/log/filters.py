"""Filters of a stream: for each kind given, a record must have one of the values."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from streams.engine.records import Record
from streams.log.record_json import key_text

Values = str | Collection[str] | None


class Filters:
    """Filters by session, task and kind (payload or packet type); None or empty matches all."""

    __slots__ = ("kinds", "sessions", "tasks")

    def __init__(
        self, session_id: Values = None, kind: Values = None, task_id: Values = None
    ) -> None:
        self.sessions = _as_set(session_id)
        self.kinds = _as_set(kind)
        self.tasks = _as_set(task_id)

    @property
    def session_id(self) -> str | None:
        """Return the session, if exactly one is requested."""
        return next(iter(self.sessions)) if self.sessions and len(self.sessions) == 1 else None

    def fit(self, record: Record, value: Any) -> bool:
        """Check whether a record passes; `value` is the record's value as JSON."""
        if (
            self.sessions
            and _find_member("session_id", value, key_text(record)) not in self.sessions
        ):
            return False
        if self.kinds and self.kinds.isdisjoint(_kinds_of(value)):
            return False
        return not self.tasks or _find_member("task_id", value, None) in self.tasks


def _as_set(values: Values) -> frozenset[str] | None:
    if values is None:
        return None
    return frozenset([values] if isinstance(values, str) else values) or None


def _find_member(name: str, value: Any, default: str | None) -> str | None:
    """Return a text member of the value, of its packet, of either's trace, or of its payload."""
    if not isinstance(value, dict):
        return default
    packet = value.get("packet")
    holders = (value, value.get("trace"), packet, value.get("payload"))
    inner = packet.get("trace") if isinstance(packet, dict) else None
    for holder in (*holders, inner):
        if isinstance(holder, dict) and isinstance(text := holder.get(name), str):
            return text
    return default


def _kinds_of(value: Any) -> tuple[str, ...]:
    if not isinstance(value, dict):
        return ()
    payload, packet = value.get("payload"), value.get("packet")
    names = [value.get("packet_type"), value.get("type"), value.get("kind")]
    names += [holder.get("type") for holder in (payload,) if isinstance(holder, dict)]
    names += [holder.get("packet_type") for holder in (packet,) if isinstance(holder, dict)]
    return tuple(name for name in names if isinstance(name, str))
