"""Addition and subtraction of packets in every universe they belong to.

Facts add a packet when it is accepted and subtract it when it is no longer counted.  Within a
batch the figures of a row are held as a list (`WriteBatch.cell`) and written once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from operator import sub
from typing import Any, NamedTuple

import orjson

from schemas.decimals import difference, format_plain
from schemas.decimals import total as exact_sum
from schemas.text_cache import cache_short
from streams.protocols.apc.queries.lineage.entry import (
    ADDED,
    EVERYTHING,
    UNCOUNTED,
    Entry,
    Task,
    Transfer,
    Universe,
    entry_of,
)
from streams.protocols.apc.queries.lineage.pairs import PAIRS, Pairs
from streams.protocols.apc.queries.lineage.sums import MODES, Spread, Sums, Totals
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
"""Pairs of the index of a figure and the amount that is added to it."""

TASK = Cell[list[Task]](lambda row: [Task.load(row)], lambda tasks: tasks[0].dump())
SUMS = Cell[list[int]](lambda row: list(Sums.load(row)), lambda sums: Sums._make(sums).dump())
TOTALS = Cell[list[int]](
    lambda row: list(Totals.load(row)), lambda totals: Totals._make(totals).dump()
)
SPREAD = Cell[list[int]](
    lambda row: list(Spread.load(row)), lambda spread: Spread._make(spread).dump()
)


class Scope(NamedTuple):
    """Universes that share a packet's task.  project_id: "" unless the task is per project."""

    project_id: str
    universes: Sequence[Universe]


def scopes_of(entry: Entry) -> list[Scope]:
    everything, session, run, *project = entry.universes()
    scopes = [Scope("", (everything, session, run))]
    return scopes + [Scope(universe[1], (universe,)) for universe in project]


WHOLE = [Scope("", (EVERYTHING,))]
"""The scope for packets that a query has selected already."""


class Prefixes(NamedTuple):
    """Prefixes of the keys of one universe."""

    at: bytes
    eval: bytes
    of: bytes
    run: bytes
    totals: bytes
    protocol: bytes
    mode: bytes
    pairs: bytes


@cache_short(1 << 12)
def _prefixes(universe: Universe) -> Prefixes:
    return Prefixes(*(key(f"lineage {name}", *universe) for name in Prefixes._fields))


class ProtocolChange(NamedTuple):
    """The change that a packet makes to one protocol; the same in every universe of a scope.

    key: of its name.  borne: the packet bears its lineage.  transferred: the packet transfers it.
    """

    key: bytes
    change: Change
    borne: bool
    transferred: bool


def count(
    entry: Entry, sign: int, row_key: bytes, rows: WriteBatch, scopes: Sequence[Scope]
) -> None:
    """Add the packet to its universes (sign 1) or subtract it (-1); row_key: of the entry."""
    position, run = position_key(*entry.position), key(entry.run_id)
    protocol_key = None if entry.protocol_id is None else key(entry.protocol_id)
    value = row_key if sign > 0 else None
    for scope in scopes:
        task = rows.cell(key("lineage task", scope.project_id, *entry.task), TASK)
        before = task[0]
        after = task[0] = before.plus(entry, sign)
        changes = _protocol_changes(entry, sign, before, after)
        totals = _difference(after.correlates(), before.correlates())
        pairs = _pairs_change(entry, before, after)
        for universe in scope.universes:
            prefixes = _prefixes(universe)
            _update_index(rows, prefixes, position, protocol_key, value)
            figures = rows.cell(prefixes.totals, TOTALS)
            figures[0] += sign
            _add(figures, totals)
            if pairs is not None:
                sums = rows.cell(prefixes.pairs, PAIRS)
                sums[0] = sums[0].plus(pairs)
            if protocol_key is not None:
                runs, _ = _add_to_run(rows, prefixes.run + _NO_PROTOCOL + run, sign, True, False)
                figures[_ALL_RUNS] += runs
            for each in changes:
                _add_to_protocol(entry, sign, each, run, rows, prefixes)
            if entry.transfer is not None:
                _add_to_mode(entry.transfer, sign, rows, prefixes)


def _pairs_change(entry: Entry, before: Task, after: Task) -> Pairs | None:
    """Return what a packet changes of the sums of correlations, None if nothing."""
    if entry.transfer is None and entry.evaluation is None:
        return None
    old, new = before.pairs(), after.pairs()
    return None if old == new else new.minus(old)


def _difference(after: Sequence[int], before: Sequence[int]) -> Change:
    return [(at, change) for at, change in enumerate(map(sub, after, before)) if change]


def _add(figures: list[int], change: Change) -> None:
    for at, amount in change:
        figures[at] += amount


def _protocol_changes(entry: Entry, sign: int, before: Task, after: Task) -> list[ProtocolChange]:
    """Return the change of each protocol; runs and last_seen follow from rows."""
    named_protocols = protocol_ids(entry)
    transferred = None if entry.transfer is None else entry.transfer.protocol_id
    candidates = named_protocols
    if entry.evaluation is not None:
        candidates = named_protocols | {
            name for name, counts in after.protocols.items() if counts.transfers
        }
    changes = []
    for protocol_id in candidates:
        old, new = before.adds(protocol_id), after.adds(protocol_id)
        if old == new and protocol_id not in named_protocols:
            continue
        change = [(_ADDED[at], by) for at, by in _difference(new, old)]
        borne = protocol_id == entry.protocol_id
        if borne:
            mode = _MODES + MODES.index(entry.mode)
            change += [(_PACKETS, sign), (mode, sign), (_CROSS, sign * entry.cross)]
        changes.append(ProtocolChange(key(protocol_id), change, borne, protocol_id == transferred))
    return changes


def protocol_ids(entry: Entry) -> set[str]:
    """Return the protocols that a packet names."""
    protocol_ids = {entry.protocol_id} if entry.protocol_id is not None else set()
    return (
        protocol_ids | {entry.transfer.protocol_id} if entry.transfer is not None else protocol_ids
    )


def _update_index(
    rows: WriteBatch,
    prefixes: Prefixes,
    position: bytes,
    protocol_key: bytes | None,
    value: bytes | None,
) -> None:
    """Set the index entries of a packet, or delete them; protocol_key: of the lineage it bears."""
    if protocol_key is None:
        rows[prefixes.eval + position] = value
        return
    rows[prefixes.at + position] = value
    prefix = prefixes.of + protocol_key
    rows.index(prefix, prefix + position, value)


def _add_to_run(
    rows: WriteBatch, row_key: bytes, sign: int, borne: bool, transferred: bool
) -> tuple[int, int]:
    """Return by how much the runs with packets and the runs with transfers grow."""
    figures = rows.cell(row_key, SPREAD)
    packets, transfers = figures
    figures[0] += sign * borne
    figures[1] += sign * transferred
    return (figures[0] > 0) - (packets > 0), (figures[1] > 0) - (transfers > 0)


def _add_to_protocol(
    entry: Entry,
    sign: int,
    change: ProtocolChange,
    run: bytes,
    rows: WriteBatch,
    prefixes: Prefixes,
) -> None:
    figures = rows.cell(prefixes.protocol + change.key, SUMS)
    _add(figures, change.change)
    if change.borne or change.transferred:
        run_key = prefixes.run + change.key + run
        runs, transfer_runs = _add_to_run(rows, run_key, sign, change.borne, change.transferred)
        figures[_RUNS] += runs
        figures[_TRANSFER_RUNS] += transfer_runs
    if change.borne:
        prefix = prefixes.of + change.key
        figures[_LAST_SEEN] = _last_seen(entry, sign, figures[_LAST_SEEN], rows, prefix)


def _last_seen(entry: Entry, sign: int, known: int, rows: WriteBatch, prefix: bytes) -> int:
    if sign > 0:
        return max(known, entry.position[0])
    if entry.position[0] < known:
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


MODE = Cell[_Modes](_Modes, _Modes.dump)


def _add_to_mode(transfer: Transfer, sign: int, rows: WriteBatch, prefixes: Prefixes) -> None:
    sums = rows.cell(prefixes.mode + key(transfer.mode), MODE)
    sums.total += sign
    sums.accepted += sign * int(transfer.accepted)
    sums.cross += sign * int(transfer.cross)
    plus = exact_sum if sign > 0 else difference
    sums.sender = plus(sums.sender, Decimal(transfer.sender_score))
    sums.receiver = plus(sums.receiver, Decimal(transfer.receiver_score))


def mode_row(row: bytes | None) -> ByMode:
    return ByMode() if row is None else ByMode(*orjson.loads(row))


COUNTED, UNCOUNTED_ROW = b"+", b"-"
"""The first byte of a packet's row: whether it is counted."""


def load(facts: Sequence[Mapping[str, Any]], rows: WriteBatch) -> None:
    """Load the rows that a batch of facts may change."""
    rows.load(_key(fact) for fact in facts if _changes_state(fact) and fact["state"] in UNCOUNTED)


def add_packet(
    fact: Mapping[str, Any],
    packet: Mapping[str, Any],
    position: tuple[int, int, int],
    rows: WriteBatch,
) -> None:
    """Add the packet of a verdict; packet: its JSON form; position: of its record."""
    entry = entry_of(fact, packet, position)
    if entry is None:
        return
    row_key = _key(fact)
    if fact["state"] in UNCOUNTED:
        rows[row_key] = UNCOUNTED_ROW + entry.dump()
    else:
        rows[row_key] = COUNTED + entry.dump()
        count(entry, 1, row_key, rows, scopes_of(entry))


def subtract_packet(fact: Mapping[str, Any], rows: WriteBatch) -> None:
    """Subtract a packet if this fact about it ends its being counted."""
    if not _changes_state(fact) or fact["state"] not in UNCOUNTED:
        return
    row_key = _key(fact)
    row = rows.read(row_key)
    if row is not None and row.startswith(COUNTED):
        entry = Entry.load(row[1:])
        rows[row_key] = UNCOUNTED_ROW + row[1:]
        count(entry, -1, row_key, rows, scopes_of(entry))


def _changes_state(fact: Mapping[str, Any]) -> bool:
    return fact["verdict"] in ("effect", "fired") and fact["packet_id"] is not None


def _key(fact: Mapping[str, Any]) -> bytes:
    return key("lineage packet", fact["session_id"], fact["packet_id"])
