"""The functions that read things, by the kind of their nodes, of all protocols."""

from __future__ import annotations

from collections.abc import Mapping

from streams.api.things import ThingQuery
from streams.protocols.queries import QUERIES

KINDS: Mapping[str, ThingQuery] = {
    kind: query for side in QUERIES for kind, query in side.things.items()
}
"""By kind; traces are the host's own."""
