"""The rows of one universe, whether they are kept or made for the question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from streams.protocols.apc.queries.lineage.arbitrations import Arbitrations, sum_up
from streams.protocols.apc.queries.lineage.entry import EVERYTHING, FILTERS, Entry, Universe
from streams.protocols.apc.queries.lineage.sums import Figures, Totals, figures_in
from streams.protocols.apc.queries.lineage.tally import WHOLE, ByMode, count, mode_row
from streams.views.changes import MemoryStore, WriteBatch
from streams.views.keys import key, position_at_end
from streams.views.reads import RowReader

_CHUNK = 512


class Found(NamedTuple):
    """A universe, where its sums and indexes are, and where packets and decisions are."""

    rows: RowReader
    universe: Universe
    kept: RowReader

    def protocols(self) -> list[tuple[bytes, Figures]]:
        """By key; `name_of` gives the protocol."""
        prefix = key("lineage protocol", *self.universe)
        return [(row_key, figures_in(row)) for row_key, row in self.rows.scan(prefix)]

    def protocol(self, protocol_id: str) -> list[tuple[bytes, Figures]]:
        """The one, if it is there."""
        place = key("lineage protocol", *self.universe, protocol_id)
        (row,) = self.rows.get_many([place])
        return [] if row is None else [(place, figures_in(row))]

    def name_of(self, protocol_key: bytes) -> str:
        name = protocol_key[len(key("lineage protocol", *self.universe)) : -2]
        return name.replace(b"\0\xff", b"\0").decode()

    def totals(self) -> Totals:
        return Totals.load(self.rows.get_many([key("lineage totals", *self.universe)])[0])

    def modes(self) -> dict[str, ByMode]:
        prefix = key("lineage mode", *self.universe)
        return {k[len(prefix) : -2].decode(): mode_row(v) for k, v in self.rows.scan(prefix)}

    def newest(self, protocol_id: str | None, limit: int) -> list[Entry]:
        """Packets with lineage, newest first."""
        prefix = key("lineage at", *self.universe)
        if protocol_id is not None:
            prefix = key("lineage of", *self.universe, protocol_id)
        found = self.rows.scan(prefix, reverse=True)
        return list(_entries(self.kept, islice((ref for _, ref in found), limit)))

    def arbitrations(self) -> Arbitrations:
        place = key("lineage decisions", *self.universe)
        return Arbitrations.load(self.rows.get_many([place])[0])

    def decisions(self, limit: int) -> list[bytes]:
        """ApcDecisions of arbitrations, newest first."""
        found = self.rows.scan(key("lineage decision", *self.universe), reverse=True)
        return _rows(self.kept, list(islice((ref for _, ref in found), limit)))


def find(kept: RowReader, filters: Mapping[str, str | None]) -> Found:
    """The universe of the packets that fit all of session_id, run_id and project_id given."""
    wanted = {name: value for name in FILTERS if (value := filters.get(name)) is not None}
    universes = [(name.removesuffix("_id"), value) for name, value in wanted.items()]
    if len(universes) < 2:
        return Found(kept, universes[0] if universes else EVERYTHING, kept)
    narrowest = min(
        (Found(kept, universe, kept) for universe in universes),
        key=lambda found: found.totals().packets,
    )
    return Found(_counted(narrowest, wanted), EVERYTHING, kept)


def _counted(among: Found, wanted: Mapping[str, str]) -> MemoryStore:
    """The rows of a universe that nobody keeps."""
    memory = MemoryStore()
    rows = WriteBatch(memory)
    for index in ("lineage at", "lineage eval"):
        refs = (ref for _, ref in among.rows.scan(key(index, *among.universe)))
        for entry in _entries(among.kept, refs):
            if all(getattr(entry, name) == value for name, value in wanted.items()):
                row_key = key("lineage packet", entry.session_id, entry.packet_id)
                count(entry, 1, row_key, rows, WHOLE)
    for place, ref in among.rows.scan(key("lineage decision", *among.universe)):
        for row in _rows(among.kept, [ref]):
            sum_up(row, position_at_end(place), ref, rows, [EVERYTHING], wanted)
    memory.write(rows)
    return memory


def _entries(kept: RowReader, refs: Iterator[bytes]) -> Iterator[Entry]:
    while chunk := list(islice(refs, _CHUNK)):
        for row in _rows(kept, chunk):
            yield Entry.load(row[1:])


def _rows(kept: RowReader, refs: list[bytes]) -> list[bytes]:
    return [row for row in kept.get_many(refs) if row is not None] if refs else []
