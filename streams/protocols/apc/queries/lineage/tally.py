"""Counting packets in, and out again, in every universe they belong to.

Within a batch the figures of a row are kept as a list (`Changes.cell`) and written once.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from operator import sub
from typing import NamedTuple

import orjson

from schemas.decimals import difference, format_plain
from schemas.decimals import total as exact_sum
from streams.protocols.apc.queries.lineage.entry import EVERYTHING, Entry, Transfer, Universe
from streams.protocols.apc.queries.lineage.sums import MODES, Spread, Sums, Totals
from streams.protocols.apc.queries.lineage.task import ADDED, Task
from streams.views.changes import Cell, WriteBatch
from streams.views.keys import key, position_at_end, position_key

_ADDED = tuple(Sums._fields.index(name) for name in ADDED)
_PACKETS, _CROSS = Sums._fields.index("packets"), Sums._fields.index("cross")
_RUNS, _TRANSFER_RUNS = Sums._fields.index("runs"), Sums._fields.index("transfer_runs")
_LAST_SEEN = Sums._fields.index("last_seen")
_MODES = Sums._fields.index(MODES[0].lower())
_NO_PROTOCOL = key("")
_ALL_RUNS = Totals._fields.index("runs")

Change = list[tuple[int, int]]
"""What is added to which figure."""

TASK = Cell[list[Task]](lambda row: [Task.load(row)], lambda held: held[0].dump())
SUMS = Cell[list[int]](lambda row: list(Sums.load(row)), lambda held: Sums._make(held).dump())
TOTALS = Cell[list[int]](lambda row: list(Totals.load(row)), lambda held: Totals._make(held).dump())
SPREAD = Cell[list[int]](lambda row: list(Spread.load(row)), lambda held: Spread._make(held).dump())


class Scope(NamedTuple):
    """Universes in which a packet's task is the same.  project_id: "" unless it makes the task."""

    project_id: str
    universes: Sequence[Universe]


def scopes_of(entry: Entry) -> list[Scope]:
    everything, session, run, *project = entry.universes()
    scopes = [Scope("", (everything, session, run))]
    return scopes + [Scope(universe[1], (universe,)) for universe in project]


WHOLE = [Scope("", (EVERYTHING,))]
"""For packets that were chosen before they are counted."""


class Prefixes(NamedTuple):
    """Beginnings of the keys of one universe."""

    at: bytes
    eval: bytes
    of: bytes
    run: bytes
    totals: bytes
    protocol: bytes
    mode: bytes


@lru_cache(maxsize=1 << 12)
def _prefixes(universe: Universe) -> Prefixes:
    return Prefixes(*(key(f"lineage {name}", *universe) for name in Prefixes._fields))


class Moved(NamedTuple):
    """What a packet changes about one protocol; the same in every universe of a scope.

    key: of its name.  borne, handed: whether the packet bears its lineage, hands it over.
    """

    key: bytes
    change: Change
    borne: bool
    handed: bool


def count(
    entry: Entry, sign: int, row_key: bytes, rows: WriteBatch, scopes: Sequence[Scope]
) -> None:
    """sign: 1 or -1.  row_key: where the entry lies."""
    place, run = position_key(*entry.place), key(entry.run_id)
    named = None if entry.protocol_id is None else key(entry.protocol_id)
    value = row_key if sign > 0 else None
    for scope in scopes:
        task = rows.cell(key("lineage task", scope.project_id, *entry.task), TASK)
        before = task[0]
        after = task[0] = before.plus(entry, sign)
        moved = _moved(entry, sign, before, after)
        totals = _difference(after.correlates(), before.correlates())
        for universe in scope.universes:
            prefixes = _prefixes(universe)
            _index(rows, prefixes, place, named, value)
            held = rows.cell(prefixes.totals, TOTALS)
            held[0] += sign
            _add(held, totals)
            if named is not None:
                runs, _ = _run(rows, prefixes.run + _NO_PROTOCOL + run, sign, True, False)
                held[_ALL_RUNS] += runs
            for each in moved:
                _protocol(entry, sign, each, run, rows, prefixes)
            if entry.transfer is not None:
                _mode(entry.transfer, sign, rows, prefixes)


def _difference(after: Sequence[int], before: Sequence[int]) -> Change:
    return [(at, moved) for at, moved in enumerate(map(sub, after, before)) if moved]


def _add(held: list[int], change: Change) -> None:
    for at, moved in change:
        held[at] += moved


def _moved(entry: Entry, sign: int, before: Task, after: Task) -> list[Moved]:
    """Each protocol whose sums may move; runs and last_seen are left to rows."""
    named = named_by(entry)
    handed = None if entry.transfer is None else entry.transfer.protocol_id
    candidates = named
    if entry.evaluation is not None:
        candidates = named | {name for name, held in after.protocols.items() if held.transfers}
    found = []
    for protocol_id in candidates:
        old, new = before.adds(protocol_id), after.adds(protocol_id)
        if old == new and protocol_id not in named:
            continue
        change = [(_ADDED[at], by) for at, by in _difference(new, old)]
        borne = protocol_id == entry.protocol_id
        if borne:
            mode = _MODES + MODES.index(entry.mode)
            change += [(_PACKETS, sign), (mode, sign), (_CROSS, sign * entry.cross)]
        found.append(Moved(key(protocol_id), change, borne, protocol_id == handed))
    return found


def named_by(entry: Entry) -> set[str]:
    """The protocols that a packet itself is about."""
    named = {entry.protocol_id} if entry.protocol_id is not None else set()
    return named | {entry.transfer.protocol_id} if entry.transfer is not None else named


def _index(
    rows: WriteBatch, prefixes: Prefixes, place: bytes, named: bytes | None, value: bytes | None
) -> None:
    """named: key of the protocol whose lineage the packet bears."""
    if named is None:
        rows[prefixes.eval + place] = value
        return
    rows[prefixes.at + place] = value
    prefix = prefixes.of + named
    rows.index(prefix, prefix + place, value)


def _run(rows: WriteBatch, place: bytes, sign: int, borne: bool, handed: bool) -> tuple[int, int]:
    """By how much the runs grow that have packets, and transfers."""
    held = rows.cell(place, SPREAD)
    packets, transfers = held
    held[0] += sign * borne
    held[1] += sign * handed
    return (held[0] > 0) - (packets > 0), (held[1] > 0) - (transfers > 0)


def _protocol(
    entry: Entry, sign: int, moved: Moved, run: bytes, rows: WriteBatch, prefixes: Prefixes
) -> None:
    held = rows.cell(prefixes.protocol + moved.key, SUMS)
    _add(held, moved.change)
    if moved.borne or moved.handed:
        place = prefixes.run + moved.key + run
        runs, transfer_runs = _run(rows, place, sign, moved.borne, moved.handed)
        held[_RUNS] += runs
        held[_TRANSFER_RUNS] += transfer_runs
    if moved.borne:
        prefix = prefixes.of + moved.key
        held[_LAST_SEEN] = _last_seen(entry, sign, held[_LAST_SEEN], rows, prefix)


def _last_seen(entry: Entry, sign: int, known: int, rows: WriteBatch, prefix: bytes) -> int:
    if sign > 0:
        return max(known, entry.place[0])
    if entry.place[0] < known:
        return known
    newest = rows.last(prefix)
    return 0 if newest is None else position_at_end(newest)[0]


class ByMode(NamedTuple):
    """TRANSFERs of one mode; the scores are sums, as exact decimals."""

    total: int = 0
    accepted: int = 0
    cross: int = 0
    sender_score: str = "0"
    receiver_score: str = "0"


class _Modes:
    """The figures of `ByMode` while they grow."""

    def __init__(self, row: bytes | None) -> None:
        self.total, self.accepted, self.cross, *scores = mode_row(row)
        self.sender, self.receiver = map(Decimal, scores)

    def dump(self) -> bytes | None:
        scores = format_plain(self.sender), format_plain(self.receiver)
        return (
            orjson.dumps((self.total, self.accepted, self.cross, *scores)) if self.total else None
        )


_MODE = Cell[_Modes](_Modes, _Modes.dump)


def _mode(transfer: Transfer, sign: int, rows: WriteBatch, prefixes: Prefixes) -> None:
    held = rows.cell(prefixes.mode + key(transfer.mode), _MODE)
    held.total += sign
    held.accepted += sign * int(transfer.accepted)
    held.cross += sign * int(transfer.cross)
    plus = exact_sum if sign > 0 else difference
    held.sender = plus(held.sender, Decimal(transfer.sender_score))
    held.receiver = plus(held.receiver, Decimal(transfer.receiver_score))


def mode_row(row: bytes | None) -> ByMode:
    return ByMode() if row is None else ByMode(*orjson.loads(row))
