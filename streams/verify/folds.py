"""Rows made of the facts anew, held against the rows that are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from schemas import Undecodable, decode
from streams.replay.cut import Live
from streams.replay.findings import Fault, Findings
from streams.replay.fold.folding import CommandGone, Commands, Folding, Row, shown
from streams.replay.scratch import Scratch, Values
from topology.declarations import Topic

_GONE = "gone"
"""In place of a row that cannot be made, since a command of it is not on the log any more."""


class Fold:
    """The rows of one table and one task.

    cut_off: the facts do not go back to the beginning, so what they come to proves nothing.
    """

    def __init__(
        self,
        folding: Folding,
        task: int,
        live: Live,
        commands: Commands,
        scratch: Scratch,
        cut_off: bool,
    ) -> None:
        self._folding, self._task, self._live = folding, task, live
        self._commands, self._cut_off = commands, cut_off
        self._rows = Values(scratch, f"fold/{folding.table.name}/{task}")
        self._open: dict[str, tuple[Row | None, str]] = {}
        self.table = folding.table.name
        self.checked = 0
        self.unchecked = 0

    def step(self, topic: Topic, fact: Mapping[str, Any]) -> None:
        key = self._folding.row_key(topic, fact)
        if key is None:
            return
        before = self._rows.get(key)
        if before == _GONE:
            return
        try:
            after: Row | str | None = self._folding.step(before, topic, fact, self._commands)
        except CommandGone:
            after = _GONE
        if after is not None:
            self._rows.put(after, key)
        if key in self._open:
            if isinstance(after, str):  # its command came after the cut
                del self._open[key]
                self.checked, self.unchecked = self.checked - 1, self.unchecked + 1
            elif self._difference(self._open[key][0], after) is None:
                del self._open[key]

    def compare(self) -> None:
        """Hold all rows against each other, at the first end of the span."""
        live, folded = self._live.rows(self._folding.table, self._task), self._rows.items()
        row, made = next(live, None), next(folded, None)
        while row is not None or made is not None:
            if made is None or (row is not None and row[0] < made[0]):
                assert row is not None
                self._pair(row[0], row[1], None)
                row = next(live, None)
            elif row is None or made[0] < row[0]:
                self._pair(made[0], None, made[1])
                made = next(folded, None)
            else:
                self._pair(row[0], row[1], made[1])
                row, made = next(live, None), next(folded, None)

    def _pair(self, key: str, raw: bytes | None, made: Row | str | None) -> None:
        if isinstance(made, str) or (made is None and self._cut_off):
            self.unchecked += 1
            return
        self.checked += 1
        try:
            row = None if raw is None else decode(raw, self._folding.table.record).value
        except Undecodable as exc:
            self._open[key] = None, f"it cannot be read: {exc}"
            return
        told = self._difference(row, made)
        if told is not None:
            self._open[key] = row, told

    def _difference(self, live: Row | None, made: Row | None) -> str | None:
        """The first member that differs, None if there is none."""
        if live is None or made is None:
            return None if live is made else "it is not there" if live is None else "no fact"
        left = self._folding.unfolded | self._folding.undetermined(live)
        return next(_differing(live, shown(made), left, ""), None)

    def tell(self, found: Findings) -> None:
        """What has not come to agree up to the second end of the span."""
        for key, (row, told) in self._open.items():
            place = f"{self.table} {key}"
            if self._cut_off and (row is not None or told == "it is not there"):
                self.checked, self.unchecked = self.checked - 1, self.unchecked + 1
                continue
            if told == "no fact":
                found.add(Fault.ROW_UNFOUNDED, place, "no fact on the log speaks of this row")
            elif row is None:
                fault = Fault.ROW_MISSING if told == "it is not there" else Fault.UNREADABLE
                found.add(fault, place, f"the facts come to a row, and {told}")
            else:
                found.add(Fault.ROW_DIFFERS, place, told)


def _differing(
    live: Mapping[str, Any], made: Mapping[str, Any], left: frozenset[str], path: str
) -> Iterator[str]:
    for name in dict.fromkeys((*live, *made)):
        place = f"{path}{name}"
        if place in left:
            continue
        has, wanted = live.get(name), made.get(name)
        if isinstance(has, Mapping) and isinstance(wanted, Mapping):
            yield from _differing(has, wanted, left, f"{place}.")
        elif has != wanted:
            yield f"{place} is {_short(has)}, the facts make it {_short(wanted)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
