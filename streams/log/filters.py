"""What of a stream is wanted: one of several values of a kind, of every kind that is given."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from streams.engine.records import Record
from streams.log.record_json import key_text

Words = str | Collection[str] | None


class Filters:
    """Each is one value, several, or (None or empty) any.  kind: payload or packet type."""

    __slots__ = ("kinds", "sessions", "tasks")

    def __init__(self, session_id: Words = None, kind: Words = None, task_id: Words = None) -> None:
        self.sessions = _several(session_id)
        self.kinds = _several(kind)
        self.tasks = _several(task_id)

    @property
    def session_id(self) -> str | None:
        """The session, if exactly one is asked for."""
        return next(iter(self.sessions)) if self.sessions and len(self.sessions) == 1 else None

    def fit(self, record: Record, value: Any) -> bool:
        """value: the record's, as JSON."""
        if self.sessions and _of("session_id", value, key_text(record)) not in self.sessions:
            return False
        if self.kinds and self.kinds.isdisjoint(_kinds_of(value)):
            return False
        return not self.tasks or _of("task_id", value, None) in self.tasks


def _several(words: Words) -> frozenset[str] | None:
    if words is None:
        return None
    return frozenset([words] if isinstance(words, str) else words) or None


def _of(name: str, value: Any, default: str | None) -> str | None:
    """A member of the value, of its packet or of that one's trace, or of its payload."""
    if not isinstance(value, dict):
        return default
    packet = value.get("packet")
    places = (value, value.get("trace"), packet, value.get("payload"))
    inner = packet.get("trace") if isinstance(packet, dict) else None
    for holder in (*places, inner):
        if isinstance(holder, dict) and isinstance(found := holder.get(name), str):
            return found
    return default


def _kinds_of(value: Any) -> tuple[str, ...]:
    if not isinstance(value, dict):
        return ()
    payload, packet = value.get("payload"), value.get("packet")
    named = [value.get("packet_type"), value.get("type"), value.get("kind")]
    named += [holder.get("type") for holder in (payload,) if isinstance(holder, dict)]
    named += [holder.get("packet_type") for holder in (packet,) if isinstance(holder, dict)]
    return tuple(name for name in named if isinstance(name, str))
