"""The widgets of `watch`: lines, a list with a cursor, and a page over the others.

Importing this module raises ExtraMissing if the extra `watch` is not installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from rich.text import Text

from streams.cli.cells import Cell
from streams.cli.watch.lines import Line, Listing, ListRow, ending
from streams.cli.watch.status import DETAIL_KEYS
from streams.errors import needs_extra

with needs_extra("watch", "headrace watch"):
    from textual.app import ComposeResult
    from textual.binding import Binding, BindingType
    from textual.containers import Vertical, VerticalScroll
    from textual.geometry import Size
    from textual.screen import Screen
    from textual.scroll_view import ScrollView
    from textual.strip import Strip
    from textual.widgets import Static


_BREAK = Cell("\n")


def text_from(lines: Sequence[Line], wraps: bool = False) -> Text:
    """Return lines as text with styles; what they contain is never markup."""
    cells = [(cell.text, cell.style) for line in lines for cell in (*line, _BREAK)]
    return Text.assemble(*cells[:-1], no_wrap=not wraps, overflow="fold" if wraps else "ellipsis")


class Rows(ScrollView, can_focus=True):
    """Rows with a cursor; only those in view are rendered.

    follows: the cursor stays on the last row while it is there.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "move_page(-1)", "Page up", show=False),
        Binding("pagedown", "move_page(1)", "Page down", show=False),
        Binding("home", "move(-1000000)", "First", show=False),
        Binding("end", "move(1000000)", "Last", show=False),
    ]
    DEFAULT_CSS = "Rows { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; }"

    def __init__(self, *, id: str, follows: bool = False) -> None:
        super().__init__(id=id)
        self.follows = follows
        self.listing = Listing([], [], "asking the gateway")
        self.cursor = 0

    def show_listing(self, listing: Listing) -> None:
        """Show other rows; the cursor stays on the row that it was on."""
        at_end = self.cursor >= len(self.listing.rows) - 1
        before = self.selected
        self.listing = listing
        last = max(0, len(listing.rows) - 1)
        if self.follows and at_end:
            self.cursor = last
        elif before is not None and (self.follows or self.cursor > 0):
            self.cursor = min(last, self._number_of(before.key, self.cursor))
        else:
            self.cursor = min(last, self.cursor)
        self.virtual_size = Size(self.size.width, max(1, len(listing.rows)))
        self._show_cursor()
        self.refresh()

    @property
    def selected(self) -> ListRow | None:
        """Return the row under the cursor, None if there are no rows."""
        rows = self.listing.rows
        return rows[self.cursor] if self.cursor < len(rows) else None

    def _number_of(self, key: str, otherwise: int) -> int:
        numbers = (number for number, row in enumerate(self.listing.rows) if row.key == key)
        return next(numbers, otherwise)

    def action_move(self, by: int) -> None:
        self.cursor = max(0, min(len(self.listing.rows) - 1, self.cursor + by))
        self._show_cursor()
        self.refresh()

    def action_move_page(self, direction: int) -> None:
        self.action_move(direction * max(1, self.size.height - 1))

    def _show_cursor(self) -> None:
        top, height = round(self.scroll_y), self.size.height
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True, immediate=True)
        elif height and self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True, immediate=True)

    def render_line(self, y: int) -> Strip:
        """Return a line of the widget."""
        number = y + round(self.scroll_y)
        rows, width = self.listing.rows, self.size.width
        if not rows and number == 0:
            return self._strip(Text(self.listing.empty, "dim"), width)
        if number >= len(rows):
            return Strip.blank(width)
        row = rows[number]
        line = text_from([ending(row.line, width) if row.keeps_end else row.line])
        if number == self.cursor and self.has_focus:
            line.stylize(Style(reverse=True, dim=False))
            line.pad_right(max(0, width - line.cell_len))
        return self._strip(line, width)

    def _strip(self, line: Text, width: int) -> Strip:
        line.truncate(width, overflow="ellipsis")
        segments = line.render(self.app.console)
        return Strip(segments).adjust_cell_length(width)


class ListPane(Vertical):
    """A list below its heading."""

    DEFAULT_CSS = "ListPane { height: 1fr; } ListPane > Static { height: 1; }"

    def __init__(self, *, id: str, follows: bool = False) -> None:
        super().__init__(id=id)
        self.heading = Static(markup=False)
        self.rows = Rows(id=f"{id}-rows", follows=follows)

    def compose(self) -> ComposeResult:
        yield self.heading
        yield self.rows

    def show_listing(self, listing: Listing) -> None:
        """Show a list."""
        self.heading.update(text_from([listing.heading]))
        self.rows.show_listing(listing)


class DetailScreen(Screen[None]):
    """A page about one row; escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace,left", "app.close", "Back", show=False),
    ]
    DEFAULT_CSS = (
        "DetailScreen > Static { height: 1; } DetailScreen VerticalScroll { height: 1fr; }"
    )

    def __init__(self, row: ListRow, lines: Sequence[Line]) -> None:
        super().__init__()
        self.row = row
        self.lines = lines

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="detail"):
            yield Static(text_from(self.lines, wraps=True), markup=False, id="detail-text")
        yield Static(DETAIL_KEYS, markup=False, classes="keys")

    def on_mount(self) -> None:
        self.query_one("#detail").focus()
