"""The form of a command's output: text for people, JSON, or what a pipe gets.

On a terminal, and with `--text`, people read it: `render` prints it on a `Page`.  In a pipe a
command of version 0.2 prints what it printed then, and `--json` prints the route's body:

    @click.command("sessions")
    @text.options
    @common.read_options
    def command(**params: Any) -> None:
        answer = common.ask("/v1/apc/sessions", common.query_of(params), Settings.load())
        text.show(answer, _render, pipe=common.show_json)

    def _render(answer: Any, page: text.Page) -> None:
        rows = [(page.time(each["at"]), page.id(each["session_id"])) for each in answer["items"]]
        page.table(("time", "session"), rows)
        page.more(len(rows), answer["next"])

`pipe=None` prints the same text there, with nothing cut.  Texts of others become cells, or lines,
through the methods of the page only, which escape their control characters; they are never markup.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

import click
from click.core import ParameterSource

from streams.cli import common
from streams.cli.cells import GAP, Cell, Row, cut, lay_out
from streams.errors import UsageError

ID_CHARACTERS = 8
NARROW = 100
"""The width below which a table moves what does not fit into a note below its row."""
_JSON, _TEXT, _WIDE, _LOCAL = (f"{__name__}.{name}" for name in ("json", "text", "wide", "local"))
_LONG_ID = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{16,}|[0-9A-HJKMNP-TV-Z]{26}", re.I
)
"""Ids that machines make: UUIDs, hashes and ULIDs."""
_VERDICTS = {
    "accepted": ("✔", "+", "accepted", "green"),
    "rejected": ("✖", "x", "refused", "red"),
    "duplicate": ("=", "=", "duplicate", "yellow"),
}
"""The sign of each verdict, the sign in ASCII, the word for people and the style."""


class Form(StrEnum):
    """A form of output."""

    TEXT = "text"
    JSON = "json"
    PIPE = "pipe"


def options(function: Any) -> Any:
    """Add `--json`, `--text`, `--wide` and `--local`, which `form` and `new_page` read."""

    def flag(name: str, key: str, meaning: str) -> Any:
        def keep(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
            ctx.meta[key] = value

        return click.option(name, is_flag=True, expose_value=False, callback=keep, help=meaning)

    for option in (
        flag("--local", _LOCAL, "Show times in the local zone instead of UTC."),
        flag("--wide", _WIDE, "Cut nothing to fit the width."),
        flag("--text", _TEXT, "Print text for people, as on a terminal."),
        flag("--json", _JSON, "Print the response as JSON."),
    ):
        function = option(function)
    return function


def form() -> Form:
    """Return the form in which the current command prints.  Raises UsageError."""
    as_json, as_text = _is_set(_JSON), _is_set(_TEXT)
    if as_json and as_text:
        raise UsageError("--json and --text exclude each other")
    if as_json:
        return Form.JSON
    return Form.TEXT if as_text or sys.stdout.isatty() else Form.PIPE


def _is_set(key: str) -> bool:
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(key))


def show(
    body: Any,
    render: Callable[[Any, Page], None],
    pipe: Callable[[Any], None] | None = common.show_json,
) -> None:
    """Print the body of a response in the command's form.

    pipe: prints what a pipe gets; None: the same text as on a terminal.
    """
    chosen = form()
    if chosen is Form.JSON:
        common.show_json(body)
    elif chosen is Form.PIPE and pipe is not None:
        pipe(body)
    else:
        render(body, new_page())


def show_coloured_json(value: Any) -> None:
    """Print JSON indented by 2, in colours on a terminal that takes them."""
    json_text = common.json_text(value)
    if sys.stdout.isatty() and len(json_text) <= _MAX_COLOURED and _print_json(json_text):
        return
    common.echo_block(json_text)


_MAX_COLOURED = 1 << 20


def _print_json(json_text: str) -> bool:
    """Print JSON in colours, and return whether the terminal and its user take them."""
    from rich.highlighter import JSONHighlighter
    from rich.text import Text

    if (console := _console()) is None:
        return False
    escaped = Text(common.printable(json_text, common.LINES))
    console.print(JSONHighlighter()(escaped), soft_wrap=True)
    return True


def _console() -> Any:
    """Return rich's console, None where colours are not taken."""
    from rich.console import Console

    console = Console(force_terminal=True, highlight=False, markup=False, emoji=False)
    return None if console.color_system is None or console.no_color else console


def _narrowed() -> str:
    """Return what the user narrowed a list by, as ` of AGENT with --state failed`."""
    ctx = click.get_current_context(silent=True)
    if ctx is None:
        return ""
    names, filters = [], []
    for parameter in ctx.command.params:
        name = parameter.name or ""
        is_typed = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not is_typed or not parameter.expose_value or name in _NO_FILTERS:
            continue
        value = ctx.params[name]
        if isinstance(parameter, click.Argument):
            names.append(f" of {value}")
        elif isinstance(value, bool):
            filters.append((parameter.opts if value else parameter.secondary_opts)[0])
        else:
            filters.append(f"{parameter.opts[0]} {value}")
    return "".join(names) + (f" with {' '.join(filters)}" if filters else "")


_NO_FILTERS = ("limit", "after", "as_of", "include_events", "mcp")
"""Parameters of lists that leave out no item of the first page."""


def plural(count: int, word: str) -> str:
    """Return the count and the word, with an s unless it is one."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def new_page() -> Page:
    """Return a page on stdout; a pipe has no width, unless text is asked for."""
    for_people = sys.stdout.isatty() or _is_set(_TEXT)
    fits = for_people and not _is_set(_WIDE)
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    return Page(
        shutil.get_terminal_size().columns if fits else None,
        wide=_is_set(_WIDE),
        local=_is_set(_LOCAL),
        ascii=encoding != "utf8",
        pipe=not for_people,
    )


class Page:
    """Text on stdout.  width: None if nothing is cut.  wide: ids are whole.

    local: times are in the local zone.  ascii: signs have only ASCII characters.
    pipe: a program reads it.
    """

    def __init__(
        self,
        width: int | None = None,
        *,
        wide: bool = False,
        local: bool = False,
        ascii: bool = False,
        pipe: bool = False,
    ) -> None:
        self.width = width
        self.wide = wide
        self.local = local
        self.ascii = ascii
        self.pipe = pipe
        self.arrow = "->" if ascii else "→"
        self.dash = "-" if ascii else "–"
        self.ellipsis = "..." if ascii else "…"
        self.is_narrow = width is not None and width < NARROW

    def fits(self, width: int) -> bool:
        """Return whether so many characters fit into a line."""
        return self.width is None or self.width >= width

    def plain(self, value: Any, style: str = "") -> Cell:
        """Return a cell with a value: None is a dash, a list its parts, an object compact JSON."""
        match value:
            case None | "":
                return Cell("-")
            case Mapping() if not value:
                return Cell("-")
            case bool():
                return Cell("yes" if value else "no", style)
            case int() | float():
                return self.number(value, style)
            case list():
                rendered = ", ".join(self.plain(part).text for part in value)
                return Cell(rendered or "-", style, flexible=True)
            case Mapping():
                return Cell(common.json_line(value), style, flexible=True)
        return Cell(self._escaped(str(value)), style)

    def _escaped(self, text: str) -> str:
        escaped = common.printable(text)
        return escaped.encode("ascii", "backslashreplace").decode() if self.ascii else escaped

    def message(self, value: Any, style: str = "") -> Cell:
        """Return a cell that is cut at its end where the width is short."""
        return self.plain(value, style)._replace(flexible=True, right=False)

    def number(self, value: float | None, style: str = "") -> Cell:
        """Return a number of ten digits, with commas and no exponent, aligned to the right."""
        if value is None:
            return Cell("-", right=True)
        digits = f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"
        if "e" in digits:
            digits = f"{Decimal(f'{value:.10g}'):,f}"
        return Cell(digits, style, right=True)

    def id(self, value: Any, style: str = "") -> Cell:
        """Return an id: of one that a machine made, the first eight characters."""
        if not isinstance(value, str) or self.wide:
            return self.plain(value, style)
        short = _LONG_ID.sub(lambda match: match.group()[:ID_CHARACTERS], value)
        return self.plain(short, style)._replace(flexible=True)

    def time(self, value: str | None, style: str = "") -> Cell:
        """Return a time (ISO 8601); of today, without the date."""
        try:
            moment = datetime.fromisoformat(value or "").astimezone(None if self.local else UTC)
        except (TypeError, ValueError):
            return self.plain(value, style)
        today = datetime.fromtimestamp(common.now_ms() / 1000, moment.tzinfo).date()
        clock = f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03}"
        return Cell(clock if moment.date() == today else f"{moment:%Y-%m-%d} {clock}", style)

    def verdict(self, value: Any) -> Cell:
        """Return a verdict with its sign; another value as it is."""
        if value not in _VERDICTS:
            return self.plain(value)
        sign, plain_sign, word, style = _VERDICTS[value]
        return Cell(f"{plain_sign if self.ascii else sign} {word}", style)

    def check(self, holds: bool | None) -> Cell:
        """Return the sign of a check that holds, does not, or (None) was not made."""
        if holds is None:
            return Cell(self.dash)
        sign, plain_sign, _, style = _VERDICTS["accepted" if holds else "rejected"]
        return Cell(plain_sign if self.ascii else sign, style)

    def note(self, *cells: Cell, style: str = "dim") -> Cell:
        """Return several texts, parted by two spaces, for the line below a row."""
        return Cell((" " * GAP).join(cell.text for cell in cells), style, flexible=True)

    def joined(self, *cells: Cell | str, style: str = "") -> Cell:
        """Return one cell with several texts, parted by spaces; strings must be our own words."""
        parts = [part if isinstance(part, str) else part.text for part in cells]
        flexible = any(isinstance(part, Cell) and part.flexible for part in cells)
        return Cell(" ".join(parts), style, flexible)

    def line(self, *cells: Cell | str, indent: int = 0) -> None:
        """Print one line, its parts two spaces apart; what is flexible at the end is cut."""
        parts = [self.plain(part) if isinstance(part, str) else part for part in cells]
        if parts and parts[-1].flexible and self.width is not None:
            used = indent + sum(part.width + 2 for part in parts[:-1])
            parts[-1] = cut(parts[-1], max(ID_CHARACTERS, self.width - used), self.ellipsis)
        spaced = [each for part in parts for each in (Cell("  "), part)][1:]
        self._print([Cell(" " * indent), *spaced])

    def flow(self, *cells: Cell, indent: int = 0) -> None:
        """Print parts two spaces apart, on more lines where one is too short for them."""
        line: list[Cell] = []
        for cell in cells:
            used = indent + sum(part.width + GAP for part in line)
            if line and self.width is not None and used + cell.width > self.width:
                self.line(*line, indent=indent)
                line = []
            line.append(cell)
        self.line(*line, indent=indent)

    def table(
        self,
        titles: Sequence[str],
        rows: Iterable[Row | Sequence[Cell | Any]],
        indent: int = 0,
        what: str = "",
    ) -> None:
        """Print aligned columns that fit the width.  Values that are no cells become plain ones.

        what: the rows, in the plural, for the line that is printed if there are none.
        """
        made = [self._row(row) for row in rows]
        if what and not made and not self.pipe:
            self.none(what, indent)
            return
        width = None if self.width is None else self.width - indent
        for line in lay_out(titles, made, width, self.ellipsis):
            self._print([Cell(" " * indent), *line])

    def none(self, what: str, indent: int = 0) -> None:
        """Say that a list has no items, and by what the user narrowed it.  what: in the plural.

        A pipe gets nothing, as in version 0.2.
        """
        if not self.pipe:
            self.line(self.message(f"no {what}{_narrowed()}", "dim"), indent=indent)

    def _row(self, row: Row | Sequence[Any]) -> Row:
        if isinstance(row, Row):
            return row
        return Row([each if isinstance(each, Cell) else self.plain(each) for each in row])

    def members(self, members: Mapping[str, Any], indent: int = 0) -> None:
        """Print one member per line, the names aligned."""
        names = {name: self.plain(name, "dim") for name in members}
        width = max((name.width for name in names.values()), default=0)
        for name, value in members.items():
            cell = value if isinstance(value, Cell) else self.message(value)
            title = names[name]
            padded = title._replace(text=title.text + " " * (width - title.width))
            self.line(padded, cell, indent=indent)

    def more(self, count: int, cursor: str | None, total: int | None = None) -> None:
        """Print on stderr how to get the rest of a list, if there is more."""
        if cursor is None:
            return
        here = f"{count:,} of {total:,}; " if total is not None else f"{count:,} so far; "
        common.echo(f"{here}more with --cursor {cursor}", err=True)

    def _print(self, cells: Sequence[Cell]) -> None:
        if sys.stdout.isatty() and any(cell.style for cell in cells) and self._print_styled(cells):
            return
        common.echo("".join(cell.text for cell in cells).rstrip())

    def _print_styled(self, cells: Sequence[Cell]) -> bool:
        """Print in colours, and return whether the terminal and its user take them."""
        from rich.text import Text

        if (console := _console()) is None:
            return False
        line = Text.assemble(*((cell.text, cell.style) for cell in cells), end="")
        console.print(line, soft_wrap=True)
        return True
