"""Commands that print one page of a list, as a table or as the route's JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import urlencode

import click

from streams.cli import common
from streams.settings import Settings


class Column(NamedTuple):
    """A column of a table; `path` is the dotted path of its member in an item."""

    title: str
    path: str


def columns(*paths: str) -> tuple[Column, ...]:
    """Return columns with the last part of their paths as titles."""
    return tuple(Column(path.rpartition(".")[2], path) for path in paths)


def options(function: Any) -> Any:
    """Add `--limit`, `--cursor`, `--after` and `--json`."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the response as JSON."),
        common.after_option,
        click.option(
            "--cursor", metavar="CURSOR", help="Cursor of the page, from the previous one."
        ),
        click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True),
    ):
        function = option(function)
    return function


def show(
    path: str,
    table_columns: tuple[Column, ...],
    as_json: bool,
    members: tuple[str, str] = ("items", "next"),
    **params: Any,
) -> None:
    """Print one page.

    members: the names of the response's members with the items and the cursor of the next page.
    params: parameters of the route; those that are None are left out.
    """
    query = {name: _query_text(value) for name, value in params.items() if value is not None}
    answer = common.ask(path, urlencode(query), Settings.load())
    if as_json:
        common.show_json(answer)
        return
    items, following = members
    show_items(table_columns, answer[items])
    show_next(answer[following])


def show_next(cursor: str | None) -> None:
    """Print on stderr how to get the next page, if there is one."""
    if cursor is not None:
        common.echo(f"more with --cursor {cursor}", err=True)


def show_items(table_columns: tuple[Column, ...], items: Iterable[Any]) -> None:
    rows = [tuple(_cell_text(item, column.path) for column in table_columns) for item in items]
    common.show_table(tuple(column.title for column in table_columns), rows)


def _query_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cell_text(item: Any, path: str) -> str:
    for name in path.split("."):
        item = item.get(name) if isinstance(item, dict) else None
    match item:
        case None:
            return "-"
        case list():
            return ",".join(str(part) for part in item) or "-"
        case bool():
            return "yes" if item else "no"
    return str(item)
