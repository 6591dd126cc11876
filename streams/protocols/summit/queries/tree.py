"""The tree of a run: itself, and the runs that name it as their parent, at any depth.

A run names one parent at most, so a path up from any run is its only one.  The tree has no cycle
but one through the run that is asked for, whose own parent may be one of its descendants.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from schemas.projection import Projection
from schemas.summit.results import money_text
from streams.protocols.summit.queries.rows import RUNS, run_key
from streams.protocols.summit.queries.runs import require_row, tree_totals
from streams.views.keys import after, key, text_key, texts_in
from streams.views.pages import Entries, page_of
from streams.views.parse import QueryError, QueryParams
from streams.views.query_params import CURSOR, limit
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json
from topology.summit import SUMMIT_RUNS

TREE_PARAMS = (limit(100, 1000), CURSOR)
_PARENT = "parentRunId"
_RUN = Projection(
    SUMMIT_RUNS.record or "", ("runId", _PARENT, "agentId", "state", "createdAt", "metrics")
)


def run_tree(view: ReadOnlyStore, run_id: str, params: QueryParams) -> Json:
    """Return a page of a run's tree, depth first in order of creation.  Raises NotFound."""
    require_row(view, run_id)
    root = _run_at(view, run_key(run_id))
    assert root is not None, "its row exists"
    prefix = key("summit tree", run_id)

    def entries(after_key: bytes | None) -> Entries:
        path = [] if after_key is None else _path_to(view, root, after_key[len(prefix) :])
        for run, depth in _walk(view, root, path):
            yield prefix + text_key(run["runId"]), _item(view, run, depth)

    return page_of(params, prefix, entries)


def _item(view: ReadOnlyStore, run: Json, depth: int) -> Json:
    """Return a run of the tree, with what it and those below it have spent."""
    totals = tree_totals(view, run)
    return {
        "runId": run["runId"],
        _PARENT: run[_PARENT],
        "depth": depth,
        "agentId": run["agentId"],
        "status": run["state"],
        "tokens": run["metrics"]["tokens"],
        "usd": money_text(run["metrics"]["cost_usd"]),
        "treeUsd": None if totals is None else totals["usd"],
    }


def _walk(view: ReadOnlyStore, root: Json, path: list[Json]) -> Iterator[tuple[Json, int]]:
    """Yield the runs of a tree, each with its depth.

    path: the runs from the root to the last one of the page before; empty for the first page.
    """
    if not path:
        yield root, 0
        path = [root]
    behind: Json | None = None
    while path:
        child = _next_child(view, path[-1]["runId"], behind)
        if child is None:
            behind = path.pop()
        elif child["runId"] == root["runId"]:
            behind = child
        else:
            yield child, len(path)
            path.append(child)
            behind = None


def _next_child(view: ReadOnlyStore, parent_id: str, behind: Json | None) -> Json | None:
    """Return the child of a run that was created next after the child `behind`."""
    prefix = RUNS.filtered(_PARENT, parent_id)
    start = None if behind is None else after(prefix + RUNS.sort_key(behind))
    following = islice(view.scan(prefix, start), 1)
    return next((_run_at(view, row_key) for _, row_key in following), None)


def _run_at(view: ReadOnlyStore, row_key: bytes) -> Json | None:
    (row,) = view.get_many([row_key])
    return None if row is None else dict(_RUN.of(row))


def _path_to(view: ReadOnlyStore, root: Json, encoded: bytes) -> list[Json]:
    """Return the runs from the root to the one that a cursor names.  Raises QueryError."""
    names = texts_in(encoded)
    run = _run_at(view, run_key(names[0])) if len(names) == 1 else None
    path: list[Json] = []
    while run is not None:
        path.append(run)
        if run["runId"] == root["runId"]:
            return path[::-1]
        run = None if run[_PARENT] is None else _run_at(view, run_key(run[_PARENT]))
    raise QueryError(CURSOR.name, "not a cursor of this query")
