"""Edges as processors write them, in rows that are kept in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

from schemas import encode
from streams.engine.records import LogRecord
from streams.processing.decision import emit_edge
from streams.processing.graph import LineageEdge
from streams.view_store.graph import GRAPH_PARAMS, lineage_graph
from streams.view_store.graph.queries import MOST_EDGES
from streams.view_store.rows import FOLLOWED
from streams.views.changes import MemoryStore, WriteBatch
from streams.views.parse import QueryParams
from streams.views.reads import StoredRows
from topology.core import LINEAGE_EDGES

Json = dict[str, Any]


class Drawn(NamedTuple):
    """Where and when an edge was written."""

    edge: LineageEdge
    at: int = 0
    partition: int = 0
    offset: int = 0

    @property
    def cause(self) -> str:
        return f"apc.packets/{self.partition}/{self.offset}"


class _Sent:
    """Takes what `emit_edge` sends."""

    def __init__(self) -> None:
        self.values: list[Json] = []

    def send(self, topic: Any, key: str, value: Json, **headers: Any) -> None:
        assert key == value["edge_id"]
        self.values.append(value)


def record(drawn: Drawn) -> LogRecord:
    sent: Any = _Sent()
    emit_edge(drawn.edge, drawn.at, drawn.cause, sent)
    (value,) = sent.values
    edge_key = value["edge_id"].encode()
    framed = encode(LINEAGE_EDGES.record or "", value)
    return LogRecord(LINEAGE_EDGES.name, drawn.partition, drawn.offset, drawn.at, edge_key, framed)


class Graph(StoredRows):
    """The rows of a view that has read edges, a batch at a time."""

    def __init__(self, *batches: Iterable[Drawn]) -> None:
        self._memory = MemoryStore()
        super().__init__(self._memory)
        for batch in batches:
            self.read(batch)

    def read(self, batch: Iterable[Drawn]) -> None:
        rows = WriteBatch(self._memory)
        apply = FOLLOWED[LINEAGE_EDGES.name]
        assert apply is not None
        apply(LINEAGE_EDGES, [record(drawn) for drawn in batch], rows)
        self._memory.write(rows)

    def ask(self, node: str, size: int = MOST_EDGES, **query: Any) -> Json:
        text = urlencode({"node": node, **query})
        snapshot = StoredRows(self._memory, self.suspended)
        return lineage_graph(snapshot, QueryParams(text, GRAPH_PARAMS), size)

    def pages(self, node: str, **query: Any) -> Iterator[Json]:
        page = self.ask(node, **query)
        yield page
        while page["next"] is not None:
            page = self.ask(node, cursor=page["next"], **query)
            yield page


def drawn(*texts: str) -> list[Drawn]:
    """Of `from relation to`, one after the other."""
    return [Drawn(LineageEdge(*text.split()), n, 0, n) for n, text in enumerate(texts)]


def names(page: Json) -> list[str]:
    """Of the edges, as `drawn` takes them."""
    return [f"{e['from_node']} {e['relation']} {e['to_node']}" for e in page["items"]]


def distances(page: Json) -> dict[str, int]:
    return {node["node"]: node["distance"] for node in page["nodes"]}
