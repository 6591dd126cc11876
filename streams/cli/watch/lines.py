"""Lines of cells: what the functions of other commands print, and lines side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from streams.cli.cells import MIN_WIDTH, Cell, cut
from streams.cli.text import Page

Line = Sequence[Cell]


class LinesPage(Page):
    """A page that collects its lines instead of printing them."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.lines: list[Line] = []

    def more(self, count: int, cursor: str | None, total: int | None = None) -> None:
        if cursor is not None:
            self.line(Cell("more with `headrace show`", "dim"))

    def _print(self, cells: Line) -> None:
        self.lines.append(cells)


class DetailPage(LinesPage):
    """A page whose tables fit the width, while single lines are whole and may be wrapped."""

    def line(self, *cells: Cell | str, indent: int = 0) -> None:
        width, self.width = self.width, None
        super().line(*cells, indent=indent)
        self.width = width


class ListRow(NamedTuple):
    """A row of a list, and what it is about.

    key: distinguishes the row in its list.  node: the thing; None if there is none.
    position: of the record.  fact: the position of the verdict.  session_id: of the thing.
    keeps_end: it is cut before the newest words of its text, not after the first.
    """

    key: str
    line: Line
    node: str | None = None
    position: str | None = None
    fact: str | None = None
    session_id: str | None = None
    keeps_end: bool = False

    @property
    def name(self) -> str | None:
        """Return the node, else the position."""
        return self.node or self.position


class Listing(NamedTuple):
    """A list: the line above it, its rows, and the sentence that stands for none."""

    heading: Line
    rows: Sequence[ListRow]
    empty: str = ""


def text_of(line: Line) -> str:
    """Return a line without styles."""
    return "".join(cell.text for cell in line)


def width_of(line: Line) -> int:
    return sum(cell.width for cell in line)


def fitted(line: Line, width: int) -> Line:
    """Return a line that is no wider than that, cut at its end."""
    cells: list[Cell] = []
    for cell in line:
        if cell.width > width:
            return [*cells, cut(cell, width, "…")]
        cells.append(cell)
        width -= cell.width
    return cells


def ending(line: Line, width: int) -> Line:
    """Return a line that is no wider than that, whose last cell is cut before its end.

    The sign at the beginning of that cell, and the space after it, stay.
    """
    *head, last = line
    room = width - width_of(head)
    if last.width <= room or room < MIN_WIDTH:
        return line
    sign, words = last.text[:2], last.text[2:]
    space = room - cell_len(sign) - 1
    first = len(words)
    while first and (size := cell_len(words[first - 1])) <= space:
        first, space = first - 1, space - size
    return [*head, last._replace(text=f"{sign}…{words[first:]}")]


def beside(left: Sequence[Line], right: Sequence[Line], left_width: int) -> list[Line]:
    """Return lines with those of the right side at a fixed column."""
    lines: list[Line] = []
    for number in range(max(len(left), len(right))):
        line = fitted(left[number], left_width - 2) if number < len(left) else []
        if number < len(right):
            line = [*line, Cell(" " * (left_width - width_of(line))), *right[number]]
        lines.append(line)
    return lines


def filtered(listing: Listing, pattern: str) -> Listing:
    """Return the list with only the rows that contain a text, whatever its case."""
    if not pattern:
        return listing
    sought = pattern.casefold()
    rows = [row for row in listing.rows if sought in text_of(row.line).casefold()]
    return listing._replace(rows=rows, empty=f"nothing here contains {pattern}; escape clears")
