"""Lines as text: `who  what  ✔ verdict  rule: reason`, in columns and colours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from streams.api.lines import Line, Sign
from streams.cli.cells import Cell
from streams.cli.text import Page

MAX_TEXT = 4096
"""Longer texts are cut; `--wide` and `--json` print them whole."""
_ASCII = str.maketrans(
    {"✔": "+", "✖": "x", "┃": "|", "│": "|", "▶": ">", "◆": "*", "→": "->", "…": "...", "–": "-"}
)
_STYLES = {Sign.ACCEPTED: "green", Sign.REFUSED: "red", Sign.DUPLICATE: "yellow", Sign.CALL: "cyan"}
_WHO_WIDTH = 7
_STATE_WIDTH = 11


def line_cells(line: Line, page: Page) -> list[Cell]:
    """Return the parts of a line, escaped."""
    state = f"{line.sign} {line.text}" if line.sign else line.text
    why = f"{line.rule}: {line.reason}" if line.rule and line.reason else line.rule or line.reason
    columns = (
        (f"{line.who:<{_WHO_WIDTH}}", "bold"),
        (line.what, ""),
        (
            f"{state:<{_STATE_WIDTH}}" if why else state,
            _STYLES.get(line.sign, "") if line.sign else "",
        ),
        (why, ""),
    )
    return [text_cell(text, page, style) for text, style in columns if text.strip()]


def text_cell(text: str, page: Page, style: str = "") -> Cell:
    """Return a text that is cut only where it is very long."""
    if not page.wide and (more := len(text) - MAX_TEXT) > 0:
        text = f"{text[:MAX_TEXT]}… ({more:,} more characters)"
    return page.plain(text.translate(_ASCII) if page.ascii else text, style)


def line_text(line: Line, page: Page | None = None) -> str:
    """Return a line as one text without colours."""
    cells = line_cells(line, page or Page())
    return "  ".join(cell.text for cell in cells).rstrip()


def clock_time(ms: int, *, local: bool = False) -> str:
    """Return the time of day with milliseconds, in UTC or in the local time zone."""
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return (at.astimezone() if local else at).strftime("%H:%M:%S.") + f"{ms % 1000:03d}"


def joined(lines: Iterable[Line]) -> Line:
    """Return one line for lines of one stream: their texts joined, their places as a range."""
    first, *others = lines
    if not others:
        return first
    text = "".join(line.text for line in (first, *others))
    where, sign, numbers = first.place.rpartition("#")
    begin, end = numbers.partition("–")[0], others[-1].place.rpartition("#")[2]
    return replace(first, text=text, place=f"{where}{sign}{begin}–{end}")


class LineJoiner:
    """Prints lines; those of one stream wait to be joined."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._waiting: list[Line] = []
        self._time = ""

    def add(self, line: Line, at_ms: int, place: str = "") -> None:
        """Print a line.  place: where the line names none."""
        waiting = self._waiting
        if waiting and (waiting[0].stream != line.stream or len(waiting) >= _MAX_JOINED):
            self.flush()
        if not self._waiting:
            self._time = clock_time(at_ms, local=self._page.local)
        if line.stream:
            self._waiting.append(line)
        else:
            self._print(line, line.place or place)

    def flush(self) -> None:
        """Print the lines that wait."""
        lines, self._waiting = self._waiting, []
        if lines:
            line = joined(lines)
            self._print(line, line.place)

    def _print(self, line: Line, place: str) -> None:
        page = self._page
        head = (page.plain(self._time, "dim"), text_cell(place, page, "dim"))
        page.line(*head, *line_cells(line, page))


_MAX_JOINED = 256
"""So many chunks of one thought are printed as one line."""
