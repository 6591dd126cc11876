"""The newest events of the live tail as rows of a list.

The chunks of one thought are one row, and so are a tool call and its completion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from streams.api.lines import Line
from streams.cli.cells import Cell
from streams.cli.line_text import joined, line_cells, text_cell
from streams.cli.text import Page
from streams.cli.watch.lines import ListRow
from streams.protocols.saop.rtes.event_lines import recorded_line

Json = Mapping[str, Any]
TOPIC = "rtes.events"
MAX_ROWS = 5000
"""The newest rows stay; those before them are let go, and counted."""
_MAX_TEXT = 4096
_COMPLETED, _INVOKED = "TOOL_LIFECYCLE_COMPLETED", "TOOL_LIFECYCLE_INVOKED"
_PAGE = Page()


class LiveTail:
    """Rows of events in the order of the stream.

    received: events so far.  let_go: rows that are no longer here.
    """

    def __init__(self, max_rows: int = MAX_ROWS) -> None:
        self.rows: list[ListRow] = []
        self.received = 0
        self.let_go = 0
        self._max_rows = max_rows
        self._lines: list[Line] = []
        self._open: dict[tuple[str, ...], int] = {}

    def add(self, event: Json) -> None:
        """Add an event to the row that it continues, or as a new row."""
        self.received += 1
        line = recorded_line(event)
        key = _row_key(event, line)
        number = self._open.get(key, -1) - self.let_go if key else -1
        if number < 0:
            self._append(event, line, key)
            return
        before = self._lines[number]
        if event["payload"]["type"] == _COMPLETED:
            del self._open[key]
            outcome = line.text.removeprefix(f"{event['payload']['tool']} ")
            line = replace(before, sign=line.sign, text=f"{before.text}  {outcome}")
        else:
            line = joined([before, line])
            line = replace(line, text=line.text[:_MAX_TEXT])
        self._lines[number] = line
        row = self.rows[number]
        self.rows[number] = row._replace(line=[row.line[0], *_cells(line)])

    def note(self, text: str) -> None:
        """Add a row that is no event."""
        self._lines.append(Line(who=text))
        self.rows.append(ListRow(f"note {self.received}", [Cell(f"-- {text}", "yellow")]))
        self._trim()

    def _append(self, event: Json, line: Line, key: tuple[str, ...]) -> None:
        if key and event["payload"]["type"] != _COMPLETED:
            self._open[key] = self.let_go + len(self.rows)
        self._lines.append(line)
        name = f"{event['session_id']} {event['sequence']}"
        time = _PAGE.time(event["recorded_at"], "dim")
        cells = [time, *_cells(line)]
        row = ListRow(name, cells, _node(event), event["cause"], session_id=event["session_id"])
        self.rows.append(row._replace(keeps_end=bool(line.stream)))
        self._trim()

    def _trim(self) -> None:
        if len(self.rows) > self._max_rows:
            del self.rows[0], self._lines[0]
            self.let_go += 1
        if len(self._open) > 2 * self._max_rows:
            self._open = {key: at for key, at in self._open.items() if at >= self.let_go}


def _row_key(event: Json, line: Line) -> tuple[str, ...]:
    """Return what the events of one row have in common; empty for an event on its own."""
    payload = event["payload"]
    if payload["type"] in (_INVOKED, _COMPLETED):
        return ("call", event["session_id"], payload["call_id"])
    return ("thought", *line.stream) if line.stream else ()


def _node(event: Json) -> str:
    """Return the node of the event's task, else of its session."""
    task = event.get("task_id") or event["payload"].get("task_id")
    return f"saop:task:{task}" if task else f"saop:session:{event['session_id']}"


def _cells(line: Line) -> list[Cell]:
    """Return the cells after the time, each with the space before it."""
    cells = [text_cell(line.place, _PAGE, "dim"), *line_cells(line, _PAGE)]
    return [part for cell in cells for part in (Cell("  "), cell)]
