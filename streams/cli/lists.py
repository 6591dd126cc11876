"""Commands that print one page of a list, as a table or as the route answers it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import urlencode

import click

from streams.cli import common
from streams.settings import Settings


class Column(NamedTuple):
    """path: of the member in an item, dotted."""

    title: str
    path: str


def columns(*paths: str) -> tuple[Column, ...]:
    """Each titled by the last part of its path."""
    return tuple(Column(path.rpartition(".")[2], path) for path in paths)


def options(function: Any) -> Any:
    """`--limit`, `--cursor`, `--after` and `--json`."""
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
    shown: tuple[Column, ...],
    as_json: bool,
    members: tuple[str, str] = ("items", "next"),
    **given: Any,
) -> None:
    """One page.

    members: of the answer, that hold the items and the cursor of the next page.
    given: parameters of the route; those that are None are left out.
    """
    query = {name: _text(value) for name, value in given.items() if value is not None}
    answer = common.ask(path, urlencode(query), Settings.load())
    if as_json:
        common.show_json(answer)
        return
    items, following = members
    show_items(shown, answer[items])
    show_next(answer[following])


def show_next(cursor: str | None) -> None:
    """On stderr, where the next page begins."""
    if cursor is not None:
        click.echo(f"more with --cursor {cursor}", err=True)


def show_items(shown: tuple[Column, ...], items: Iterable[Any]) -> None:
    rows = [tuple(_cell(item, column.path) for column in shown) for item in items]
    common.show_table(tuple(column.title for column in shown), rows)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cell(item: Any, path: str) -> str:
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
