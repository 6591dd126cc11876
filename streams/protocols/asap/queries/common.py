"""What the queries of this protocol share."""

from __future__ import annotations

from streams.views.query_params import CURSOR, limit
from streams.views.values import Json

PAGED = (limit(100, 1000), CURSOR)


def paged(name: str, page: Json) -> Json:
    """A page of a list as this protocol names its members."""
    return {name: page["items"], "cursor": page["next"]}
