"""Decisions about protocols, and the sums over arbitrations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import orjson

from schemas import decode
from streams.protocols.apc.queries.lineage.entry import EVERYTHING, Universe
from streams.views.changes import WriteBatch
from streams.views.keys import key
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
