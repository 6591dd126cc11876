"""Commands that print one page of a list, as a table or as the route's JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import click

from streams.cli import common, text
from streams.cli.cells import Cell, Row
from streams.cli.numbers import number_text
from streams.settings import Settings

_MAX_INDENT = 12
"""What is nested deeper is compact JSON."""
MAX_LIMIT = 1000
"""The most items of one page."""


class Column(NamedTuple):
    """A column of a table; `path` is the dotted path of its member in an item.

    kind: the method of `text.Page` that makes its cells; "" for the one that its name suggests.
    """

    title: str
    path: str
    kind: str = ""


class TextTable(NamedTuple):
    """A table for people.  row: returns the cells of an item."""

    titles: Sequence[str]
    row: Callable[[Any, text.Page], Row | Sequence[Any]]

    def show(self, page: text.Page, items: Iterable[Any], what: str) -> None:
        """Print the table.  what: as of `Page.table`."""
        page.table(self.titles, [self.row(item, page) for item in items], what=what)


def columns(*paths: str) -> tuple[Column, ...]:
    """Return columns with the last part of their paths as titles."""
    return tuple(Column(path.rpartition(".")[2], path) for path in paths)


def options(function: Any) -> Any:
    """Add `--limit`, `--cursor`, `--after`, and the options of `text` and of the gateway."""
    for option in (
        text.options,
        common.read_options,
        click.option(
            "--cursor", metavar="CURSOR", help="Cursor of the page, from the previous one."
        ),
        click.option("--limit", type=click.IntRange(1, MAX_LIMIT), default=100, show_default=True),
    ):
        function = option(function)
    return function


def window_options(word: str) -> Callable[[Any], Any]:
    """Add `--from` and `--to`, whose parameters are `from` and `to`.  word: as `Created`."""

    def add(function: Any) -> Any:
        start = click.option(
            "--from", "from", metavar="TIME", help=f"{word} not earlier, ISO 8601."
        )
        end = click.option("--to", metavar="TIME", help=f"{word} earlier than this, ISO 8601.")
        return start(end(function))

    return add


def show(
    path: str,
    what: str,
    table_columns: tuple[Column, ...],
    members: tuple[str, str] = ("items", "next"),
    text_table: TextTable | None = None,
    **params: Any,
) -> None:
    """Print one page.

    what: the items, in the plural.
    members: the names of the response's members with the items and the cursor of the next page.
    text_table: for people, where the columns of a pipe are too many, or lack some.
    params: parameters of the route; those that are None are left out.
    """
    answer = common.ask(path, common.query_of(params), Settings.load())
    items, following = members

    def render(answer: Any, page: text.Page) -> None:
        if text_table is None:
            show_text(page, table_columns, answer[items], what)
        else:
            text_table.show(page, answer[items], what)
        page.more(len(answer[items]), answer[following])

    def pipe(answer: Any) -> None:
        show_items(table_columns, answer[items])
        show_next(answer[following])

    text.show(answer, render, pipe)


def every_item(path: str, **params: Any) -> Iterator[Any]:
    """Yield the items of all pages of a list.  params: as of `show`."""
    settings, params = Settings.load(), {"limit": MAX_LIMIT, **params}
    while True:
        answer = common.ask(path, common.query_of(params), settings)
        yield from answer["items"]
        if answer["next"] is None:
            return
        params["cursor"] = answer["next"]


def show_next(cursor: str | None) -> None:
    """Print on stderr how to get the next page, if there is one."""
    if cursor is not None:
        common.echo(f"more with --cursor {cursor}", err=True)


def show_items(table_columns: tuple[Column, ...], items: Iterable[Any]) -> None:
    """Print a table as pipes get it: nothing is cut, and every value is as it is in JSON."""
    rows = [
        tuple(_cell_text(_member(item, column.path)) for column in table_columns) for item in items
    ]
    common.show_table(tuple(column.title for column in table_columns), rows)


def show_text(
    page: text.Page, table_columns: tuple[Column, ...], items: Iterable[Any], what: str
) -> None:
    """Print a table for people.  what: as of `Page.table`."""
    rows = [[_text_cell(page, column, item) for column in table_columns] for item in items]
    page.table(tuple(column.title for column in table_columns), rows, what=what)


def show_member_lines(page: text.Page, members: Mapping[str, Any], indent: int = 0) -> None:
    """Print one member per line for people: ids and times are shortened, objects come last."""
    nested = {
        name: value
        for name, value in members.items()
        if isinstance(value, Mapping) and value and indent < _MAX_INDENT
    }
    cells = {
        name: getattr(page, _kind_of(name))(value)._replace(flexible=True, right=False)
        for name, value in members.items()
        if name not in nested
    }
    page.members(cells, indent)
    for name, value in nested.items():
        page.line(page.plain(name, "dim"), indent=indent)
        show_member_lines(page, value, indent + 2)


def show_value(page: text.Page, value: Any, indent: int = 0) -> None:
    """Print a value for people: an object member by member."""
    if isinstance(value, Mapping) and value:
        show_member_lines(page, value, indent)
    else:
        page.line(page.message(value), indent=indent)


def _text_cell(page: text.Page, column: Column, item: Any) -> Cell:
    value = _member(item, column.path)
    kind = column.kind or _kind_of(column.path.rpartition(".")[2])
    cell: Cell = getattr(page, kind)(value)
    return cell


def _kind_of(name: str) -> str:
    """Return the kind of the member of that name."""
    if name in _MESSAGES:
        return "message"
    if name == "verdict":
        return "verdict"
    if name in _TIMES or name.endswith(("_at", "At")):
        return "time"
    is_id = name in _IDS or name.endswith(("_id", "Id", "_hash", "Hash", "Sha256"))
    return "id" if is_id else "plain"


_MESSAGES = ("message", "reason", "detail", "figures", "rules")
_TIMES = ("at", "timestamp")
_IDS = ("id", "node", "key", "cacheKey", "fingerprint")


def _member(item: Any, path: str) -> Any:
    for name in path.split("."):
        item = item.get(name) if isinstance(item, dict) else None
    return item


def _cell_text(value: Any) -> str:
    match value:
        case None:
            return "-"
        case list():
            return ",".join(str(part) for part in value) or "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return number_text(value)
    return str(value)
