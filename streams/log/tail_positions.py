"""Positions of a stream's reader, with their cursors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from streams.log.cursors import offsets_cursor, sequence_cursor


class LogPosition(Protocol):
    def may_hold(self, key: bytes | None) -> bool:
        """Check whether records of this key are needed, before they are decoded."""

    def see(self, partition: int, offset: int, value: Any) -> bool:
        """Advance past a record; return False if it was seen before."""

    def cursor(self) -> str: ...


class OffsetPosition:
    """A position by offsets: the next offset of every partition."""

    def __init__(self, positions: Mapping[int, int]) -> None:
        self.positions = dict(positions)

    def may_hold(self, key: bytes | None) -> bool:
        return True

    def see(self, partition: int, offset: int, value: Any) -> bool:
        self.positions[partition] = offset + 1
        return True

    def cursor(self) -> str:
        return offsets_cursor(self.positions)


class SequencePosition:
    """A position in one session: the sequence of the last record seen."""

    def __init__(self, session_id: str, sequence: int) -> None:
        self.session_id = session_id
        self.sequence = sequence
        self._key = session_id.encode()

    def may_hold(self, key: bytes | None) -> bool:
        return key == self._key

    def see(self, partition: int, offset: int, value: Any) -> bool:
        """Advance past a record; return False if it was seen before.

        value: an RtesRecord of the session, or the raw form of an unreadable record, which has no
        sequence.
        """
        sequence = value.get("sequence") if isinstance(value, dict) else None
        if not isinstance(sequence, int) or sequence <= self.sequence:
            return False
        self.sequence = sequence
        return True

    def cursor(self) -> str:
        return sequence_cursor(self.session_id, self.sequence)
