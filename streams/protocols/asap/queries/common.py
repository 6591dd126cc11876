"""Paging of the queries of ASAP."""

from __future__ import annotations

from streams.views.query_params import CURSOR, limit
from streams.views.values import Json

PAGED = (limit(100, 1000), CURSOR)


def paged(name: str, page: Json) -> Json:
    """Return a page of a list with ASAP's member names."""
    return {name: page["items"], "cursor": page["next"]}
