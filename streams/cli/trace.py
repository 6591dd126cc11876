"""`headrace trace`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote

import click

from streams.cli import common, text
from streams.cli.cells import Cell, Row
from streams.cli.thing_text import rule_beside
from streams.settings import Settings

Json = Mapping[str, Any]
BAR_WIDTH = 24
NARROW_BAR_WIDTH = 10
_MAX_INDENT = 12


class Span(NamedTuple):
    """The first and the last moment of a trace, in seconds since the epoch."""

    start: float
    end: float


@click.command("trace")
@click.argument("trace_id", metavar="ID")
@common.as_of_option
@text.options
@common.read_options
def command(trace_id: str, **params: Any) -> None:
    """Show what came of a trace in all protocols: a bar for each thing, below its parent.

    \b
    Example:
      headrace trace sess-01
    """
    path = f"/v1/traces/{quote(trace_id, safe='')}"
    answer = common.ask(path, common.query_of(params), Settings.load())
    text.show(answer, _show, pipe=None)


def _show(answer: Any, page: text.Page) -> None:
    items = answer["items"]
    span = span_of(items)
    rows = [_row(item, depth, span, page) for item, depth in in_order(items)]
    rule = () if page.is_narrow else ("rule",)
    page.table(("time", "thing", "state", "verdict", *rule, _duration(span)), rows)
    if answer["cut"] is not None:
        common.echo(f"cut by {answer['cut']['by']} at {answer['cut']['bound']}", err=True)


def _row(item: Json, depth: int, span: Span, page: text.Page) -> Row:
    """Return a row; on a narrow page the bar is short, and the rule stands below."""
    block, rule = "#" if page.ascii else "█", rule_beside(item)
    cells = [
        page.time(item["started_at"]),
        _title(item, depth, page),
        page.plain(item["state"]),
        page.verdict(item["verdict"]),
    ]
    if page.is_narrow:
        short = Cell(bar(item, span, block, NARROW_BAR_WIDTH))
        return Row([*cells, short], page.plain(rule, "dim") if rule else None)
    return Row([*cells, page.plain(rule), Cell(bar(item, span, block))])


def _title(item: Json, depth: int, page: text.Page) -> Cell:
    indent = "  " * min(depth, _MAX_INDENT)
    protocol = page.plain(item["protocol"].upper()).text
    title = page.id(item["title"])
    return title._replace(text=f"{indent}{protocol} {title.text}")


def in_order(items: list[Json]) -> list[tuple[Json, int]]:
    """Return each item with its depth, children after their parent."""
    children: dict[str | None, list[Json]] = {}
    for item in items:
        children.setdefault(item["parent"], []).append(item)
    ordered: list[tuple[Json, int]] = []
    waiting = [(item, 0) for item in reversed(children.get(None, []))]
    while waiting:
        item, depth = waiting.pop()
        ordered.append((item, depth))
        waiting += [(each, depth + 1) for each in reversed(children.get(item["node"], []))]
    return ordered


def span_of(items: list[Json]) -> Span:
    """Return the span of all items that have times."""
    times = [
        _seconds(item[name]) for item in items for name in ("started_at", "ended_at") if item[name]
    ]
    return Span(min(times), max(times)) if times else Span(0, 0)


def bar(item: Json, span: Span, block: str, width: int = BAR_WIDTH) -> str:
    """Return a bar from the item's start to its end; an item that has not ended goes on."""
    if item["started_at"] is None:
        return ""
    length = span.end - span.start
    start = _seconds(item["started_at"]) - span.start
    end = _seconds(item["ended_at"]) - span.start if item["ended_at"] else length
    first = round(start / length * (width - 1)) if length else 0
    last = round(end / length * (width - 1)) if length else 0
    return " " * first + block * max(1, last - first + 1)


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def _duration(span: Span) -> str:
    return f"{span.end - span.start:.3f} s"
