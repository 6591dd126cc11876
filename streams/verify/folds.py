"""Rows folded from the facts, compared with the rows of the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from schemas import Undecodable, decode
from streams.replay.consistent_cut import LiveRows
from streams.replay.fold.fold import CommandGone, Commands, Fold, Row, visible_members
from streams.replay.spill import SpillMap, SpillStore
from streams.replay.violations import ViolationKind, Violations
from topology.declarations import Topic

_UNFOLDABLE = "gone"
"""Replaces a row that cannot be folded because one of its commands is not on the log any more."""


_MOST_INTERLEAVED = 12
"""So many facts of one row are tried in each order that their topics allow."""


@dataclass
class _Difference:
    """A live row that is not what the facts below the first end of the span fold to.

    folded: what they fold to.  facts: those of the row in the span, by topic, each in log order.
    """

    row: Row | None
    text: str
    folded: Row | None
    facts: dict[Topic, list[Mapping[str, Any]]] = field(default_factory=dict)


class FoldComparison:
    """The folded rows of one table and one task.

    cut_off: the first facts are not on the log any more, so the folded rows prove nothing.
    """

    def __init__(
        self,
        folding: Fold,
        task: int,
        live: LiveRows,
        commands: Commands,
        scratch: SpillStore,
        cut_off: bool,
    ) -> None:
        self._folding, self._task, self._live = folding, task, live
        self._commands, self._cut_off = commands, cut_off
        self._rows = SpillMap(scratch, f"fold/{folding.table.name}/{task}")
        self._differing_rows: dict[str, _Difference] = {}
        self.table = folding.table.name
        self.checked = 0
        self.unchecked = 0

    def step(self, topic: Topic, fact: Mapping[str, Any]) -> None:
        key = self._folding.row_key(topic, fact)
        if key is None:
            return
        before = self._rows.get(key)
        if before == _UNFOLDABLE:
            return
        try:
            after: Row | str | None = self._folding.step(before, topic, fact, self._commands)
        except CommandGone:
            after = _UNFOLDABLE
        if after is not None:
            self._rows.put(after, key)
        if key in self._differing_rows:
            if isinstance(after, str):  # its command lies beyond the cut
                del self._differing_rows[key]
                self.checked, self.unchecked = self.checked - 1, self.unchecked + 1
            elif self._first_difference(self._differing_rows[key].row, after) is None:
                del self._differing_rows[key]
            else:
                self._differing_rows[key].facts.setdefault(topic, []).append(fact)

    def compare(self) -> None:
        """Compare all folded rows with the live ones, at the first end of the span."""
        live, folded = self._live.rows(self._folding.table, self._task), self._rows.items()
        row, folded_row = next(live, None), next(folded, None)
        while row is not None or folded_row is not None:
            if folded_row is None or (row is not None and row[0] < folded_row[0]):
                assert row is not None
                self._compare_row(row[0], row[1], None)
                row = next(live, None)
            elif row is None or folded_row[0] < row[0]:
                self._compare_row(folded_row[0], None, folded_row[1])
                folded_row = next(folded, None)
            else:
                self._compare_row(row[0], row[1], folded_row[1])
                row, folded_row = next(live, None), next(folded, None)

    def _compare_row(self, key: str, raw: bytes | None, folded: Row | str | None) -> None:
        if isinstance(folded, str) or (folded is None and self._cut_off):
            self.unchecked += 1
            return
        self.checked += 1
        try:
            row = None if raw is None else decode(raw, self._folding.table.record).value
        except Undecodable as exc:
            self._differing_rows[key] = _Difference(None, f"it cannot be read: {exc}", folded)
            return
        difference = self._first_difference(row, folded)
        if difference is not None:
            self._differing_rows[key] = _Difference(row, difference, folded)

    def _first_difference(self, live: Row | None, folded: Row | None) -> str | None:
        """Return the first member that differs, None if there is none."""
        if live is None or folded is None:
            return None if live is folded else "it is not there" if live is None else "no fact"
        excluded = self._folding.unfolded | self._folding.undetermined(live)
        return next(_differences(live, visible_members(folded), excluded, ""), None)

    def _is_reached(self, differing: _Difference) -> bool:
        """Return whether the facts of the span fold to the live row in another order of topics.

        The log says in which order a task wrote its facts, but not which facts of other tasks it
        had read by then.
        """
        if sum(map(len, differing.facts.values())) > _MOST_INTERLEAVED:
            return False
        rows = _interleaved_rows(differing.folded, list(differing.facts.items()), self._after)
        return any(self._first_difference(differing.row, row) is None for row in rows)

    def _after(self, row: Row | None, topic: Topic, fact: Mapping[str, Any]) -> Row | None:
        try:
            after = self._folding.step(row, topic, fact, self._commands)
        except CommandGone:
            return row
        return row if after is None else after

    def tell(self, findings: Violations) -> None:
        """Add a finding for each row that still differs at the second end of the span."""
        for key, differing in self._differing_rows.items():
            location = f"{self.table} {key}"
            row, difference = differing.row, differing.text
            if self._is_reached(differing):
                continue
            many = sum(map(len, differing.facts.values())) > _MOST_INTERLEAVED
            if many or (self._cut_off and (row is not None or difference == "it is not there")):
                self.checked, self.unchecked = self.checked - 1, self.unchecked + 1
                continue
            if difference == "no fact":
                findings.add(
                    ViolationKind.ROW_UNFOUNDED, location, "no fact on the log speaks of this row"
                )
            elif row is None:
                fault = (
                    ViolationKind.ROW_MISSING
                    if difference == "it is not there"
                    else ViolationKind.UNREADABLE
                )
                findings.add(fault, location, f"the facts come to a row, and {difference}")
            else:
                findings.add(ViolationKind.ROW_DIFFERS, location, difference)


def _interleaved_rows(
    first: Row | None,
    facts: Sequence[tuple[Topic, Sequence[Mapping[str, Any]]]],
    step: Callable[[Row | None, Topic, Mapping[str, Any]], Row | None],
) -> Iterator[Row | None]:
    """Yield each row that any prefixes of the topics' facts make, in any order of the topics."""
    counted: dict[tuple[int, ...], list[Row | None]] = {(0,) * len(facts): [first]}
    while counted:
        following: dict[tuple[int, ...], list[Row | None]] = {}
        for (counts, rows), number in product(counted.items(), range(len(facts))):
            topic, of_topic = facts[number]
            if counts[number] == len(of_topic):
                continue
            reached = following.setdefault(
                (*counts[:number], counts[number] + 1, *counts[number + 1 :]), []
            )
            for row in rows:
                after = step(row, topic, of_topic[counts[number]])
                if after not in reached:
                    reached.append(after)
                    yield after
        counted = following


def _differences(
    live: Mapping[str, Any], folded: Mapping[str, Any], excluded: frozenset[str], path: str
) -> Iterator[str]:
    for name in dict.fromkeys((*live, *folded)):
        member_path = f"{path}{name}"
        if member_path in excluded:
            continue
        actual, expected = live.get(name), folded.get(name)
        if isinstance(actual, Mapping) and isinstance(expected, Mapping):
            yield from _differences(actual, expected, excluded, f"{member_path}.")
        elif actual != expected:
            yield f"{member_path} is {_shorten(actual)}, the facts make it {_shorten(expected)}"


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
