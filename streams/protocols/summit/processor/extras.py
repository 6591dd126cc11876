"""Members that Summit does not name: kept, delivered, never read."""

from __future__ import annotations

from collections.abc import Collection

from schemas import canonical_json, summit


def extra_json(value: summit.JsonObject, named: Collection[str]) -> str | None:
    """The members beside those that are named, as one object in RFC 8785; None for none."""
    extra = {name: member for name, member in value.items() if name not in named}
    return canonical_json(extra).decode() if extra else None
