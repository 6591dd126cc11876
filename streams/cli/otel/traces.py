"""The commands `headrace otel` that query the views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from streams.cli import common, lists, text
from streams.cli.cells import Cell
from streams.cli.tree_stems import stems
from streams.settings import Settings

Json = Mapping[str, Any]

_SPAN = lists.columns(
    *("span_id", "parent_span_id", "name", "type", "duration_ms", "status", "session_id"),
    *("agent", "tool", "model", "input_tokens", "output_tokens"),
)
_TRACE = lists.columns(
    *("started_at", "trace_id", "session_id", "name", "service_name", "span_count"),
    *("failed_count", "input_tokens", "output_tokens"),
)
_REJECTION = lists.columns("at", "trace_id", "span_id", "rule", "span.name", "cause")


@click.command("traces")
@click.option("--session", "session_id", metavar="ID", help="Traces of this session.")
@click.option("--service", "service_name", metavar="NAME", help="Traces of this program.")
@lists.options
def traces(**params: Any) -> None:
    """Show traces, the newest first.

    \b
    Example:
      headrace otel traces --service weather-bot
    """
    lists.show("/v1/otel/traces", "traces", _TRACE, **params)


@click.command("rejections")
@click.option("--trace", "trace_id", metavar="ID", help="Spans of this trace.")
@lists.options
def rejections(**params: Any) -> None:
    """Show refused spans, the newest first.

    \b
    Example:
      headrace otel rejections --limit 10
    """
    lists.show("/v1/otel/rejections", "rejections", _REJECTION, **params)


@click.command("trace")
@click.argument("trace_id")
@lists.options
def trace(trace_id: str, **params: Any) -> None:
    """Show the spans of a trace as a tree.

    \b
    Example:
      headrace otel trace 4bf92f3577b34da6a3ce929d0e0e4736
    """
    path = f"/v1/otel/traces/{trace_id}"
    answer = common.ask(path, common.query_of(params), Settings.load())

    def render(answer: Any, page: text.Page) -> None:
        _show_tree(answer["items"], page)
        page.more(len(answer["items"]), answer["next"])
        page.line(page.plain(f"more of it: headrace lineage trace:{trace_id}", "dim"))

    def pipe(answer: Any) -> None:
        lists.show_items(_SPAN, answer["items"])
        lists.show_next(answer["next"])

    text.show(answer, render, pipe)


def _show_tree(items: Sequence[Json], page: text.Page) -> None:
    nodes = list(walk(items))
    drawn = stems([depth for depth, _ in nodes])
    rows = [_cells(span, stem, page) for stem, (_, span) in zip(drawn, nodes, strict=True)]
    page.table(("span", "type", "took", "status", "session", "said"), rows, what="spans")


def walk(items: Sequence[Json]) -> Iterator[tuple[int, Json]]:
    """Yield spans depth first with their depths; one whose parent is not there is a root."""
    ids = {span["span_id"] for span in items}
    children: dict[str | None, list[Json]] = {}
    for span in items:
        parent = span["parent_span_id"]
        children.setdefault(parent if parent in ids else None, []).append(span)
    seen: set[str] = set()
    waiting = [(0, span) for span in reversed(children.get(None, []))]
    while waiting:
        depth, span = waiting.pop()
        seen.add(span["span_id"])
        yield depth, span
        waiting += [(depth + 1, each) for each in reversed(children.get(span["span_id"], []))]
    for span in items:  # of parents that are each other's
        if span["span_id"] not in seen:
            yield 0, span


def _cells(span: Json, stem: str, page: text.Page) -> list[Cell]:
    return [
        page.plain(stem + span["name"]),
        page.plain(span["type"]),
        page.plain(f"{span['duration_ms'] / 1000:.2f} s"),
        page.plain("failed" if span["failed"] else span["status"], "red" if span["failed"] else ""),
        page.id(span["session_id"]),
        page.message(_said(span)),
    ]


def _said(span: Json) -> str:
    """Return what is particular to the type: tokens, the tool, the agent."""
    if span["type"] == "model":
        read, wrote = span["input_tokens"], span["output_tokens"]
        tokens = None if read is None and wrote is None else f"{read or 0} → {wrote or 0} tokens"
        return ", ".join(part for part in (span["model"], tokens) if part)
    return str(span["tool"] or span["agent"])
