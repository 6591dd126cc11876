"""The count of what a system has written, beside what the changes demand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bench.neutral.workload import Decision, read


class Count(NamedTuple):
    """Outcomes by what is wrong with them.

    losses: changes without outcome.  duplicates: outcomes beyond the first of a change.
    wrong: outcomes that say anything but the decision, or decide no change that was sent.
    """

    outcomes: int
    losses: int
    duplicates: int
    wrong: int

    @property
    def exact(self) -> bool:
        """Return whether there is one right outcome for each change."""
        return not (self.losses or self.duplicates or self.wrong)


def count(values: Iterable[bytes | None], decisions: Sequence[Decision]) -> Count:
    """Count framed outcomes beside the decisions, by number."""
    seen = bytearray(len(decisions))
    total = duplicates = wrong = 0
    for data in values:
        total += 1
        outcome = _outcome(data)
        number = -1 if outcome is None else outcome["number"]
        if outcome is None or not 0 <= number < len(decisions):
            wrong += 1
            continue
        duplicates += seen[number]
        seen[number] = 1
        actual = Decision(outcome["before"], outcome["after"], outcome["legal"])
        wrong += actual != decisions[number]
    return Count(total, seen.count(0), duplicates, wrong)


def _outcome(data: bytes | None) -> dict[str, Any] | None:
    if data is None:
        return None
    try:
        return read("outcome", data)
    except (ValueError, EOFError, IndexError, UnicodeDecodeError):
        return None
