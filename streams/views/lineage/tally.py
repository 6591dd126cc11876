"""Counting packets in, and out again, in every universe they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add, sub
from typing import NamedTuple

import orjson

from streams.views.changes import Changes
from streams.views.keys import key, place_at_end
from streams.views.lineage.entry import EVERYTHING, Entry, Universe
from streams.views.lineage.exact import plus
from streams.views.lineage.sums import MODES, Spread, Sums, Totals
from streams.views.lineage.task import ADDED, Task

_ADDED = tuple(Sums._fields.index(name) for name in ADDED)
_PACKETS, _CROSS = Sums._fields.index("packets"), Sums._fields.index("cross")
_MODES = Sums._fields.index(MODES[0].lower())
_UNMOVED = Spread()


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


def count(entry: Entry, sign: int, row_key: bytes, rows: Changes, scopes: Sequence[Scope]) -> None:
    """sign: 1 or -1.  row_key: where the entry lies."""
    for scope in scopes:
        task_key = key("lineage task", scope.project_id, *entry.task)
        before = Task.load(rows.read(task_key))
        after = before.plus(entry, sign)
        rows[task_key] = after.dump()
        changes = _changes(entry, sign, before, after)
        totals = list(map(sub, after.correlates(), before.correlates()))
        totals[0] = sign
        for universe in scope.universes:
            _index(entry, sign, row_key, rows, universe)
            runs = _run(entry, "", sign, rows, universe).packets
            _totals(totals, runs, rows, universe)
            for protocol_id, change in changes.items():
                _protocol(entry, sign, protocol_id, change, rows, universe)
            if entry.transfer is not None:
                _mode(entry, sign, rows, universe)


def keys_of(entry: Entry) -> list[bytes]:
    """The rows that counting it will read, but those of other protocols of its task."""
    found = []
    for scope in scopes_of(entry):
        found.append(key("lineage task", scope.project_id, *entry.task))
        for universe in scope.universes:
            found.append(key("lineage totals", *universe))
            found.append(key("lineage run", *universe, "", entry.run_id))
            if entry.protocol_id is not None:
                found.append(key("lineage protocol", *universe, entry.protocol_id))
                found.append(key("lineage run", *universe, entry.protocol_id, entry.run_id))
            if entry.transfer is not None:
                found.append(key("lineage mode", *universe, entry.transfer.mode))
    return found


def _changes(entry: Entry, sign: int, before: Task, after: Task) -> dict[str, list[int]]:
    """Of each protocol whose sums may move, by how much; runs and last_seen are left to rows."""
    named = named_by(entry)
    moved = named
    if entry.evaluation is not None:
        moved = named | {name for name, counts in after.protocols.items() if counts.transfers}
    found = {}
    for protocol_id in moved:
        old, new = before.adds(protocol_id), after.adds(protocol_id)
        if old == new and protocol_id not in named:
            continue
        change = [0] * len(Sums._fields)
        for place, was, now in zip(_ADDED, old, new, strict=True):
            change[place] = now - was
        found[protocol_id] = change
    if entry.protocol_id is not None:
        own = found[entry.protocol_id]
        own[_PACKETS] = own[_MODES + MODES.index(entry.mode)] = sign
        own[_CROSS] = sign * entry.cross
    return found


def named_by(entry: Entry) -> set[str]:
    """The protocols that a packet itself is about."""
    named = {entry.protocol_id} if entry.protocol_id is not None else set()
    return named | {entry.transfer.protocol_id} if entry.transfer is not None else named


def _index(entry: Entry, sign: int, row_key: bytes, rows: Changes, universe: Universe) -> None:
    value = row_key if sign > 0 else None
    if entry.protocol_id is None:
        rows[key("lineage eval", *universe, *entry.place)] = value
        return
    rows[key("lineage at", *universe, *entry.place)] = value
    prefix = key("lineage of", *universe, entry.protocol_id)
    rows.index(prefix, prefix + key(*entry.place), value)


def _run(entry: Entry, protocol_id: str, sign: int, rows: Changes, universe: Universe) -> Spread:
    """By how much the runs grow that have packets, and transfers; of all protocols for ""."""
    borne = entry.lineage is not None and protocol_id in ("", entry.protocol_id)
    handed = entry.transfer is not None and protocol_id == entry.transfer.protocol_id
    if not borne and not handed:
        return _UNMOVED
    place = key("lineage run", *universe, protocol_id, entry.run_id)
    packets, transfers = Spread.load(rows.read(place))
    after = Spread(packets + sign * borne, transfers + sign * handed)
    rows[place] = after.dump()
    return Spread((after.packets > 0) - (packets > 0), (after.transfers > 0) - (transfers > 0))


def _totals(change: list[int], runs: int, rows: Changes, universe: Universe) -> None:
    place = key("lineage totals", *universe)
    totals = Totals(*map(add, Totals.load(rows.read(place)), change))
    rows[place] = totals._replace(runs=totals.runs + runs).dump()


def _protocol(
    entry: Entry,
    sign: int,
    protocol_id: str,
    change: list[int],
    rows: Changes,
    universe: Universe,
) -> None:
    place = key("lineage protocol", *universe, protocol_id)
    sums = Sums(*map(add, Sums.load(rows.read(place)), change))
    if protocol_id in named_by(entry):
        runs = _run(entry, protocol_id, sign, rows, universe)
        sums = sums._replace(
            runs=sums.runs + runs.packets, transfer_runs=sums.transfer_runs + runs.transfers
        )
    if protocol_id == entry.protocol_id:
        sums = sums._replace(last_seen=_last_seen(entry, sign, sums, rows, universe))
    rows[place] = sums.dump()


def _last_seen(entry: Entry, sign: int, sums: Sums, rows: Changes, universe: Universe) -> int:
    if sign > 0:
        return max(sums.last_seen, entry.place[0])
    if entry.place[0] < sums.last_seen:
        return sums.last_seen
    newest = rows.last(key("lineage of", *universe, entry.protocol_id or ""))
    return 0 if newest is None else place_at_end(newest)[0]


class ByMode(NamedTuple):
    """TRANSFERs of one mode; the scores are sums, as exact decimals."""

    total: int = 0
    accepted: int = 0
    cross: int = 0
    sender_score: str = "0"
    receiver_score: str = "0"


def _mode(entry: Entry, sign: int, rows: Changes, universe: Universe) -> None:
    transfer = entry.transfer
    assert transfer is not None
    place = key("lineage mode", *universe, transfer.mode)
    held = mode_row(rows.read(place))
    total = held.total + sign
    after = ByMode(
        total,
        held.accepted + sign * int(transfer.accepted),
        held.cross + sign * int(transfer.cross),
        plus(held.sender_score, transfer.sender_score, sign),
        plus(held.receiver_score, transfer.receiver_score, sign),
    )
    rows[place] = orjson.dumps(tuple(after)) if total else None


def mode_row(row: bytes | None) -> ByMode:
    return ByMode() if row is None else ByMode(*orjson.loads(row))
