"""Cursors in their two forms (SAOP guide, 6.3).

A cursor of one session of `rtes.events` is `<session, percent-encoded>:<sequence>`, with the
sequence of the last record seen.  Any other is `<partition>:<offset>` joined by commas, with the
last offset seen (sent or filtered) of each partition; it names every partition from the start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from streams.errors import NegativeAnswer, UsageError

EARLIEST = "earliest"
LATEST = "latest"

_PART = r"[0-9]{1,9}:(?:-1|[0-9]{1,18})"
_OFFSETS = re.compile(rf"{_PART}(?:,{_PART})*")
_SEQUENCE = re.compile(r"[0-9]{1,18}")


class CursorInvalid(UsageError):
    default_advice = "Give earliest, latest, or a cursor that an earlier tail printed."


class CursorExpired(NegativeAnswer):
    """An error for a cursor whose next record is deleted.

    earliest: the cursor of the earliest record kept.
    """

    default_advice = "Begin with --from earliest."

    def __init__(self, message: str, earliest: str) -> None:
        super().__init__(message)
        self.earliest = earliest


class CursorAhead(NegativeAnswer):
    default_advice = "The topic was created anew since; begin with --from earliest."


def offsets_cursor(positions: Mapping[int, int]) -> str:
    """Format a cursor from the next offset of each partition."""
    return ",".join([f"{number}:{positions[number] - 1}" for number in sorted(positions)])


def sequence_cursor(session_id: str, sequence: int) -> str:
    return f"{quote(session_id, safe='')}:{sequence}"


def parse_offsets(cursor: str) -> dict[int, int]:
    """Return the next offset of each partition in the cursor.  Raises CursorInvalid."""
    if not _OFFSETS.fullmatch(cursor):
        raise CursorInvalid("not a cursor of partitions, partition:offset joined by commas")
    parts = [part.split(":") for part in cursor.split(",")]
    positions = {int(number): int(offset) + 1 for number, offset in parts}
    if len(positions) < len(parts):
        raise CursorInvalid("the cursor names a partition more than once")
    return positions


def parse_sequence(cursor: str, session_id: str) -> int:
    """Return the sequence of the last record seen.  Raises CursorInvalid."""
    session, _, sequence = cursor.rpartition(":")
    if ":" not in cursor or unquote(session) != session_id or not _SEQUENCE.fullmatch(sequence):
        raise CursorInvalid("not a cursor of the one session asked for, session:sequence")
    return int(sequence)


def check_offsets(
    positions: Mapping[int, int], starts: Mapping[int, int], ends: Mapping[int, int]
) -> dict[int, int]:
    """Return the start position of each partition; one not in the cursor starts at its beginning.

    Raises CursorAhead, CursorExpired.
    """
    for number, position in positions.items():
        if number not in ends or position > ends[number]:
            raise CursorAhead(f"{number}:{position - 1} lies beyond the end of the topic")
        if position < starts[number]:
            raise CursorExpired(
                f"{number}:{position - 1} lies before the earliest record that is kept",
                offsets_cursor(starts),
            )
    return {**starts, **positions}


def check_sequence(
    session_id: str, sequence: int, first: int | None, last: int, truncated: bool
) -> None:
    """Check that the session still has the record after `sequence`.

    first, last: sequences of the session's earliest and latest record kept; None, 0 if none is.
    truncated: records of its partition were deleted.
    Raises CursorAhead, CursorExpired.
    """
    if 0 < sequence > last and (last or not truncated):
        raise CursorAhead(f"the session stands at {last}, not {sequence}")
    if sequence > last or sequence + 1 < (first or 1):
        raise CursorExpired(
            f"record {sequence + 1} of the session is not kept any more",
            sequence_cursor(session_id, (first or 1) - 1),
        )
