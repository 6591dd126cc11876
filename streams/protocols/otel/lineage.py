"""The names of the lineage graph's nodes for spans."""

from __future__ import annotations

from topology.otel import span_key


def span_node(trace_id: str, span_id: str) -> str:
    return f"otel:span:{span_key(trace_id, span_id)}"
