"""The state of a run as a cell, in the colour of how it ended."""

from __future__ import annotations

from typing import Any

from streams.cli.cells import Cell
from streams.cli.text import Page

ENDED_OTHERWISE = ("failed", "cancelled", "budget_exceeded")
"""The states in which a run ends without being completed."""


def state_cell(state: Any, page: Page) -> Cell:
    if state == "completed":
        return page.plain(state, "green")
    return page.plain(state, "red" if state in ENDED_OTHERWISE else "")
