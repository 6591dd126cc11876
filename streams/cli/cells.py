"""Cells of text, and tables of them that fit the width of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

GAP = 2
MIN_WIDTH = 8
"""The width below which no column is cut."""


class Cell(NamedTuple):
    """A piece of a line.  text: without control characters.  style: of rich, as `bold red`.

    flexible: it may be cut at its end.  right: aligned to the right.
    """

    text: str
    style: str = ""
    flexible: bool = False
    right: bool = False

    @property
    def width(self) -> int:
        return cell_len(self.text)


class Row(NamedTuple):
    """A row of a table.  note: a line of its own below it, from the second column on."""

    cells: Sequence[Cell]
    note: Cell | None = None


Line = Sequence[Cell]


def cut(cell: Cell, width: int, ellipsis: str) -> Cell:
    """Return the cell, cut at its end if it is wider than that."""
    if cell.width <= width:
        return cell
    if width <= len(ellipsis):
        return cell._replace(text=set_cell_size(cell.text, max(0, width)))
    head = set_cell_size(cell.text, width - len(ellipsis)).rstrip()
    return cell._replace(text=head + ellipsis)


def lay_out(
    titles: Sequence[str], rows: Sequence[Row], width: int | None, ellipsis: str
) -> Iterator[Line]:
    """Yield the lines of a table, the titles first.  width: None if nothing is to be cut."""
    right = [bool(rows) and all(row.cells[n].right for row in rows) for n in range(len(titles))]
    head = Row([Cell(title, "dim", right=right[n]) for n, title in enumerate(titles)])
    table = [head, *rows]
    widths = column_widths(table, width)
    for row in table:
        cells = [cut(cell, widths[n], ellipsis) for n, cell in enumerate(row.cells)]
        yield _padded(cells, widths)
        if row.note is not None:
            indent = widths[0] + GAP
            space = row.note.width if width is None else width - indent
            yield [Cell(" " * indent), cut(row.note, space, ellipsis)]


def column_widths(table: Sequence[Row], width: int | None) -> list[int]:
    """Return the widths at which the table fits: the widest flexible column is cut first."""
    count = len(table[0].cells)
    widths = [max(row.cells[n].width for row in table) for n in range(count)]
    if width is None:
        return widths
    flexible = {n for n in range(count) if any(row.cells[n].flexible for row in table)}
    for columns in (flexible, set(range(count))):
        while (excess := sum(widths) + GAP * (count - 1) - width) > 0:
            widest = max(columns, key=lambda n: widths[n], default=None)
            if widest is None or widths[widest] <= MIN_WIDTH:
                break
            next_widest = max((widths[n] for n in columns if n != widest), default=0)
            smallest = max(MIN_WIDTH, min(next_widest, widths[widest] - 1))
            widths[widest] = max(smallest, widths[widest] - excess)
    return widths


def _padded(cells: Sequence[Cell], widths: Sequence[int]) -> Line:
    """Return the cells and the spaces between them, without spaces at the end."""
    line: list[Cell] = []
    spaces = 0
    for cell, width in zip(cells, widths, strict=True):
        padding = width - cell.width
        left = padding if cell.right else 0
        if cell.text:
            line += [Cell(" " * (spaces + left)), cell]
            spaces = padding - left + GAP
        else:
            spaces += width + GAP
    return [cell for cell in line if cell.text]
