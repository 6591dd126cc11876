"""What the queries of this protocol share."""

from __future__ import annotations

from streams.views.parameters import CURSOR, limit
from streams.views.values import Json, fits, json_of, wanted

__all__ = ["AGENTS", "PAGED", "Json", "fits", "json_of", "wanted"]

PAGED = (limit(100, 1000, "limit_invalid"), CURSOR)
AGENTS = ("researcher", "architect", "developer", "reviewer")
