"""The query parameters of `POST /summit`."""

from __future__ import annotations

from streams.views.parse import QueryParams
from streams.views.query_params import AFTER


def parse_after(query: str) -> str | None:
    """Return the position that queries have to see.  Raises QueryError for any other parameter."""
    return QueryParams(query, (AFTER,)).text(AFTER.name)
