"""The rows of one universe, stored in the view or made for one query; sums over arbitrations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Self

import orjson

from schemas import decode
from streams.protocols.apc.queries.lineage.entry import EVERYTHING, FILTERS, Entry, Universe
from streams.protocols.apc.queries.lineage.pairs import Pairs
from streams.protocols.apc.queries.lineage.sums import Figures, Totals, figures_in
from streams.protocols.apc.queries.lineage.tally import WHOLE, ByMode, count, mode_row
from streams.views.changes import MemoryStore, WriteBatch
from streams.views.keys import key, position_at_end
from streams.views.reads import RowReader
from topology.apc import APC_DECISIONS

_BUCKET = 80


class Arbitrations(NamedTuple):
    """Sums over several arbitrations.  Reasons are counted by their part before a colon."""

    decision_count: int
    candidate_total: int
    selected_total: int
    blocked_total: int
    rejected_total: int
    block_reason_counts: dict[str, int]
    reject_reason_counts: dict[str, int]

    def plus(self, arbitration: Mapping[str, Any]) -> Arbitrations:
        """Return the sums with one more arbitration (Avro value)."""
        return Arbitrations(
            self.decision_count + 1,
            self.candidate_total + arbitration["candidate_count"],
            self.selected_total + arbitration["selected_count"],
            self.blocked_total + arbitration["blocked_count"],
            self.rejected_total + arbitration["rejected_count"],
            _count_reasons(self.block_reason_counts, arbitration["blocked"]),
            _count_reasons(self.reject_reason_counts, arbitration["rejected"]),
        )

    @classmethod
    def load(cls, row: bytes | None) -> Self:
        return cls(0, 0, 0, 0, 0, {}, {}) if row is None else cls(*orjson.loads(row))


def _count_reasons(counts: Mapping[str, int], items: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    counts_after = dict(counts)
    for item in items:
        reason = bucket(item["reason"])
        counts_after[reason] = counts_after.get(reason, 0) + 1
    return dict(sorted(counts_after.items()))


def bucket(reason: str) -> str:
    """Return the name under which a reason is counted."""
    return reason.partition(":")[0].strip()[:_BUCKET] or "unknown"


def store_decision(
    value: Mapping[str, Any], row: bytes, position: tuple[int, int, int], rows: WriteBatch
) -> None:
    """Store an ApcDecision in the view; position: of its record."""
    ref = key("decision", *position)
    rows[ref] = row
    rows[key("decision of", value["protocol_id"], *position)] = ref
    if (arbitration := value["arbitration"]) is not None:
        _add(arbitration, position, ref, rows, universes_of(arbitration))


def universes_of(arbitration: Mapping[str, Any]) -> list[Universe]:
    universes = [
        EVERYTHING,
        ("session", arbitration["session_id"]),
        ("run", arbitration["run_id"]),
    ]
    if arbitration["project_id"] is not None:
        universes.append(("project", arbitration["project_id"]))
    return universes


def add_matching(
    row: bytes,
    position: tuple[int, int, int],
    ref: bytes,
    rows: WriteBatch,
    universes: Sequence[Universe],
    filters: Mapping[str, str],
) -> None:
    """Add an arbitration that matches the filters to universes that are made for one query."""
    arbitration = decode(row, APC_DECISIONS.record or "").value["arbitration"]
    if all(arbitration[name] == value for name, value in filters.items()):
        _add(arbitration, position, ref, rows, universes)


def _add(
    arbitration: Mapping[str, Any],
    position: tuple[int, int, int],
    ref: bytes,
    rows: WriteBatch,
    universes: Sequence[Universe],
) -> None:
    for universe in universes:
        rows[key("lineage decision", *universe, *position)] = ref
        sums = key("lineage decisions", *universe)
        rows[sums] = orjson.dumps(tuple(Arbitrations.load(rows.read(sums)).plus(arbitration)))


_CHUNK = 512
Placed = Iterator[tuple[bytes, Entry]]


class UniverseRows(NamedTuple):
    """The rows of a universe.

    rows: its sums and indexes.  store: the packets and decisions that the indexes point to.
    """

    rows: RowReader
    universe: Universe
    store: RowReader

    def protocols(self) -> list[tuple[bytes, Figures]]:
        """Return the figures of all protocols with their keys; `name_of` gives a key's protocol."""
        prefix = key("lineage protocol", *self.universe)
        return [(row_key, figures_in(row)) for row_key, row in self.rows.scan(prefix)]

    def protocol(self, protocol_id: str) -> list[tuple[bytes, Figures]]:
        """Return the figures of one protocol with its key, or an empty list."""
        row_key = key("lineage protocol", *self.universe, protocol_id)
        (row,) = self.rows.get_many([row_key])
        return [] if row is None else [(row_key, figures_in(row))]

    def name_of(self, protocol_key: bytes) -> str:
        name = protocol_key[len(key("lineage protocol", *self.universe)) : -2]
        return name.replace(b"\0\xff", b"\0").decode()

    def totals(self) -> Totals:
        return Totals.load(self.rows.get_many([key("lineage totals", *self.universe)])[0])

    def pairs(self) -> Pairs:
        """Return the sums that correlations of transfers and outcomes are computed from."""
        return Pairs.load(self.rows.get_many([key("lineage pairs", *self.universe)])[0])

    def modes(self) -> dict[str, ByMode]:
        prefix = key("lineage mode", *self.universe)
        return {k[len(prefix) : -2].decode(): mode_row(v) for k, v in self.rows.scan(prefix)}

    def newest(self, protocol_id: str | None, limit: int) -> list[Entry]:
        """Return the packets with lineage, newest first."""
        prefix = key("lineage at", *self.universe)
        if protocol_id is not None:
            prefix = key("lineage of", *self.universe, protocol_id)
        index = self.rows.scan(prefix, reverse=True)
        return list(_entries(self.store, islice((ref for _, ref in index), limit)))

    def borne(self, protocol_id: str | None) -> tuple[bytes, Callable[[bytes | None], Placed]]:
        """Return the packets with lineage for a page, newest first, and the prefix of their keys.

        The function yields those before a key, or all, each with its key.
        """
        prefix = key("lineage at", *self.universe)
        if protocol_id is not None:
            prefix = key("lineage of", *self.universe, protocol_id)

        def entries(before: bytes | None) -> Placed:
            index = self.rows.scan(prefix, before, reverse=True)
            index = (each for each in index if before is None or each[0] < before)
            while chunk := list(islice(index, _CHUNK)):
                packets = _entries(self.store, iter([ref for _, ref in chunk]))
                yield from zip((row_key for row_key, _ in chunk), packets, strict=True)

        return prefix, entries

    def arbitrations(self) -> Arbitrations:
        row_key = key("lineage decisions", *self.universe)
        return Arbitrations.load(self.rows.get_many([row_key])[0])

    def decisions(self, limit: int) -> list[bytes]:
        """Return the ApcDecisions of arbitrations, newest first."""
        index = self.rows.scan(key("lineage decision", *self.universe), reverse=True)
        return _rows(self.store, list(islice((ref for _, ref in index), limit)))


def select_universe(store: RowReader, filters: Mapping[str, str | None]) -> UniverseRows:
    """Return the universe of the packets that match all of session_id, run_id and project_id."""
    values = {name: value for name in FILTERS if (value := filters.get(name)) is not None}
    universes = [(name.removesuffix("_id"), value) for name, value in values.items()]
    if len(universes) < 2:
        return UniverseRows(store, universes[0] if universes else EVERYTHING, store)
    narrowest = min(
        (UniverseRows(store, universe, store) for universe in universes),
        key=lambda universe: universe.totals().packets,
    )
    return UniverseRows(_count_matching(narrowest, values), EVERYTHING, store)


def _count_matching(universe: UniverseRows, filters: Mapping[str, str]) -> MemoryStore:
    """Sum up the packets and decisions of a universe that match the filters, in memory."""
    memory = MemoryStore()
    rows = WriteBatch(memory)
    for index in ("lineage at", "lineage eval"):
        refs = (ref for _, ref in universe.rows.scan(key(index, *universe.universe)))
        for entry in _entries(universe.store, refs):
            if all(getattr(entry, name) == value for name, value in filters.items()):
                row_key = key("lineage packet", entry.session_id, entry.packet_id)
                count(entry, 1, row_key, rows, WHOLE)
    for index_key, ref in universe.rows.scan(key("lineage decision", *universe.universe)):
        for row in _rows(universe.store, [ref]):
            add_matching(row, position_at_end(index_key), ref, rows, [EVERYTHING], filters)
    memory.write(rows)
    return memory


def _entries(store: RowReader, refs: Iterator[bytes]) -> Iterator[Entry]:
    while chunk := list(islice(refs, _CHUNK)):
        for row in _rows(store, chunk):
            yield Entry.load(row[1:])


def _rows(store: RowReader, refs: list[bytes]) -> list[bytes]:
    return [row for row in store.get_many(refs) if row is not None] if refs else []
