"""What the server takes of HTTP besides a body."""

from __future__ import annotations

from streams.views.parse import QueryParams
from streams.views.query_params import AFTER


def after_of(query: str) -> str | None:
    """The position that queries are to have seen.  Raises QueryError for any other parameter."""
    return QueryParams(query, (AFTER,)).text(AFTER.name)
