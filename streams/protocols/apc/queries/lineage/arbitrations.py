"""Decisions about protocols, and what those of arbitrations come to."""

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
    """The figures of several arbitrations.  Reasons are counted by what stands before a colon."""

    decision_count: int
    candidate_total: int
    selected_total: int
    blocked_total: int
    rejected_total: int
    block_reason_counts: dict[str, int]
    reject_reason_counts: dict[str, int]

    def plus(self, arbitration: Mapping[str, Any]) -> Arbitrations:
        """With one more; arbitration: the Avro value."""
        return Arbitrations(
            self.decision_count + 1,
            self.candidate_total + arbitration["candidate_count"],
            self.selected_total + arbitration["selected_count"],
            self.blocked_total + arbitration["blocked_count"],
            self.rejected_total + arbitration["rejected_count"],
            _counted(self.block_reason_counts, arbitration["blocked"]),
            _counted(self.reject_reason_counts, arbitration["rejected"]),
        )

    @classmethod
    def load(cls, row: bytes | None) -> Self:
        return cls(0, 0, 0, 0, 0, {}, {}) if row is None else cls(*orjson.loads(row))


def _counted(counts: Mapping[str, int], items: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    found = dict(counts)
    for item in items:
        reason = bucket(item["reason"])
        found[reason] = found.get(reason, 0) + 1
    return dict(sorted(found.items()))


def bucket(reason: str) -> str:
    """What a reason is counted under."""
    return reason.partition(":")[0].strip()[:_BUCKET] or "unknown"


def note(
    value: Mapping[str, Any], row: bytes, place: tuple[int, int, int], rows: WriteBatch
) -> None:
    """An ApcDecision, as the view keeps it; place: its own."""
    ref = key("decision", *place)
    rows[ref] = row
    rows[key("decision of", value["protocol_id"], *place)] = ref
    if (arbitration := value["arbitration"]) is not None:
        _add(arbitration, place, ref, rows, universes_of(arbitration))


def universes_of(arbitration: Mapping[str, Any]) -> list[Universe]:
    found = [
        EVERYTHING,
        ("session", arbitration["session_id"]),
        ("run", arbitration["run_id"]),
    ]
    if arbitration["project_id"] is not None:
        found.append(("project", arbitration["project_id"]))
    return found


def sum_up(
    row: bytes,
    place: tuple[int, int, int],
    ref: bytes,
    rows: WriteBatch,
    universes: Sequence[Universe],
    wanted: Mapping[str, str],
) -> None:
    """Add an arbitration that fits to universes that are made for a question."""
    arbitration = decode(row, APC_DECISIONS.record or "").value["arbitration"]
    if all(arbitration[name] == value for name, value in wanted.items()):
        _add(arbitration, place, ref, rows, universes)


def _add(
    arbitration: Mapping[str, Any],
    place: tuple[int, int, int],
    ref: bytes,
    rows: WriteBatch,
    universes: Sequence[Universe],
) -> None:
    for universe in universes:
        rows[key("lineage decision", *universe, *place)] = ref
        sums = key("lineage decisions", *universe)
        rows[sums] = orjson.dumps(tuple(Arbitrations.load(rows.read(sums)).plus(arbitration)))
