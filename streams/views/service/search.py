"""The search for ids by their beginning: in the lineage graph, in rows of protocols, and agents."""

from __future__ import annotations

from typing import NamedTuple


class SearchedRows(NamedTuple):
    """Rows whose keys begin with the id of a thing.

    kind: of the thing's node.  prefix: of the keys, before the id.
    """

    kind: str
    prefix: bytes
