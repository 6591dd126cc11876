"""`headrace otel trace` draws the spans of a trace as a tree."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from streams.cli import common, main
from streams.cli.otel.traces import trace, walk

Json = dict[str, Any]


def span(span_id: str, parent: str | None, **members: Any) -> Json:
    return {
        "span_id": span_id,
        "parent_span_id": parent,
        "name": f"span {span_id}",
        "type": "task",
        "duration_ms": 1910.0,
        "status": "ok",
        "failed": False,
        "session_id": "sess-lc",
        "agent": "bot",
        "tool": None,
        "model": None,
        "input_tokens": None,
        "output_tokens": None,
        **members,
    }


def test_spans_are_below_their_parents_and_each_is_there_once() -> None:
    spans = [span("b", "a"), span("a", None), span("c", "b"), span("d", "lost")]
    spans += [span("x", "y"), span("y", "x")]
    drawn = [(depth, each["span_id"]) for depth, each in walk(spans)]
    assert drawn == [(0, "a"), (1, "b"), (2, "c"), (0, "d"), (0, "x"), (0, "y")]


def test_a_trace_is_drawn_for_people(monkeypatch: pytest.MonkeyPatch) -> None:
    spans = [
        span("a", None),
        span("b", "a", type="model", model="m-1", input_tokens=12, output_tokens=7),
        span("c", "a", type="tool", tool="search", failed=True),
    ]
    monkeypatch.setattr(common, "ask", lambda *_: {"items": spans, "next": None})
    drawn = CliRunner().invoke(trace, ["t-1", "--text"], **main.context_settings)
    assert [" ".join(line.split()) for line in drawn.output.splitlines()] == [
        "span type took status session said",
        "span a task 1.91 s ok sess-lc bot",
        "├─ span b model 1.91 s ok sess-lc m-1, 12 → 7 tokens",
        "└─ span c tool 1.91 s failed sess-lc search",
        "more of it: headrace lineage trace:t-1",
    ]
