"""Measure the pages of a lineage graph: the seconds of each, and the memory of the process.

python -m bench.lineage_graph [--edges N] [--limit N]
Edges are indexed as a view indexes them, without a broker.  Every node has ten descendants, and all
edges are within six steps of the first node.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from schemas import encode
from streams.engine.store import Store
from streams.view_store.graph.index import index_edges
from streams.view_store.graph.queries import GRAPH_PARAMS, lineage_graph
from streams.views.changes import WriteBatch
from streams.views.parse import QueryParams
from streams.views.reads import StoredRows
from topology.core import LINEAGE_EDGES

FAN = 10
AT_ONCE = 1000
Json = dict[str, Any]


def _node(number: int) -> str:
    return f"apc:packet:00000000-0000-4000-8000-{number:012d}"


def _edges(count: int) -> Iterator[tuple[Json, bytes, bytes]]:
    """Yield edges, each with the key of its row and the row."""
    for number in range(1, count + 1):
        edge = {
            "edge_id": f"e{number}",
            "from_node": _node(number),
            "relation": "child_of",
            "to_node": _node((number - 1) // FAN),
            "at": number,
            "cause": f"apc.packets/0/{number}",
        }
        row_key = b"edge" + number.to_bytes(16, "big")
        yield edge, row_key, encode(LINEAGE_EDGES.record or "", edge)


def fill(store: Store, count: int) -> None:
    """Index this many edges, a batch at a time."""
    batch: list[tuple[Json, bytes]] = []
    rows = WriteBatch(store)
    for edge, row_key, row in _edges(count):
        rows[row_key] = row
        batch.append((edge, row_key))
        if len(batch) == AT_ONCE or edge["at"] == count:
            index_edges(batch, rows)
            store.write(rows.settle())
            batch, rows = [], WriteBatch(store)


def page_seconds(view: StoredRows, limit: int) -> Iterator[float]:
    """Read all pages, and yield the seconds of each."""
    query = {"node": _node(0), "direction": "descendants", "limit": str(limit)}
    cursor: str | None = ""
    while cursor is not None:
        began = time.perf_counter()
        text = urlencode({**query, "cursor": cursor} if cursor else query)
        cursor = lineage_graph(view, QueryParams(text, GRAPH_PARAMS))["next"]
        yield time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=200_000)
    parser.add_argument("--limit", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder)) as store:
        fill(store, options.edges)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds = list(page_seconds(StoredRows(store), options.limit))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"pages {len(seconds)}  first {seconds[0]:.3f} s  last {seconds[-1]:.3f} s")
    print(
        f"slowest {max(seconds):.3f} s  all {sum(seconds):.1f} s  memory +{peak - before >> 10} MiB"
    )


if __name__ == "__main__":
    main()
