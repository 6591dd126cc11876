"""The first line of the screen, the keys, and the line above the live tail."""

from __future__ import annotations

from streams.cli import common
from streams.cli.cells import Cell
from streams.cli.saop.live_tail import LiveTail
from streams.cli.text import Page
from streams.cli.watch.answers import Answers
from streams.cli.watch.lines import Line

PANES = ("overview", "live", "refusals", "work", "letters")
_NAMES = ("overview", "live", "refused", "work", "dead")
_KEYS = "/ filter  space pause  enter open  e why  c copy  q quit"
_FEW_KEYS = "/ find space pause enter open q quit"
_FEW_WIDTH = 104
DETAIL_KEYS = "escape back   e why   c copy   1-5 panes   q quit"
_FRESH_MS = 5_000
_PAGE = Page()


def keys_line(pane: str, width: int) -> Line:
    """Return the keys, that of the pane in bold; a narrow terminal has not all of them."""
    names = [
        Cell(f"{number} {name} ", "bold reverse" if id == pane else "")
        for number, (id, name) in enumerate(zip(PANES, _NAMES, strict=True), 1)
    ]
    return [*names, Cell(f" {_KEYS}" if width >= _FEW_WIDTH else _FEW_KEYS)]


def status_line(url: str, window: str, answers: Answers, is_paused: bool, pattern: str) -> Line:
    """Return what is watched, and how old the last answer is."""
    age_s = (common.now_ms() - answers.at_ms) // 1000
    age = f"{age_s:,} s old" if answers.at_ms else "no answer so far"
    name = Cell("headrace  ", "bold")
    if answers.problem and not is_paused:
        return [name, _PAGE.message(f"✖ {age}, asking again: {answers.problem}", "bold yellow")]
    head = [name, _PAGE.plain(f"{url}  last {window}  ")]
    if pattern:
        head.append(_PAGE.plain(f"/ {pattern}  ", "bold yellow"))
    if is_paused:
        return [*head, Cell(f"paused, {age}; space goes on", "bold yellow")]
    is_current = answers.at_ms and age_s * 1000 < _FRESH_MS
    return [*head, Cell("● current" if is_current else age)]


def live_heading(tail: LiveTail, state: str, session_id: str | None) -> Line:
    """Return the state of the stream, and how much of it is here."""
    name = "live" if session_id is None else f"live session {session_id}"
    counts = f"{tail.received:,} received"
    if tail.let_go:
        counts = f"{counts}, {tail.let_go:,} rows let go"
    is_live = state == "live"
    return [
        _PAGE.plain(name, "bold"),
        _PAGE.plain(f"  {counts}", "dim"),
        Cell("") if is_live else _PAGE.plain(f"  {state}", "yellow"),
    ]
