"""Cursors of events, checked against what a request asks for."""

from __future__ import annotations

from collections.abc import Mapping

from streams.doors.mcp.results import refused
from streams.doors.push.cursors import read_cursor, write_cursor

__all__ = ["parse_cursor", "write_cursor"]


def parse_cursor(cursor: str, name: str, partitions: Mapping[str, int]) -> dict[str, list[int]]:
    """Return the offsets of a cursor.

    partitions: the number of partitions of each topic.  Raises ToolRefused for a cursor of another
    type, of other topics or of another number of partitions.
    """
    parsed = read_cursor(cursor)
    if parsed is not None and parsed.fits(name, partitions):
        return dict(parsed.offsets)
    detail = f"the cursor is none of {name} with these arguments"
    raise refused(400, detail, "event_cursor", "/cursor")
