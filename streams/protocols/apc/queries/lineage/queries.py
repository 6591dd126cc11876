"""The five lineage queries, over a universe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from heapq import nsmallest
from typing import Any

import orjson

from streams.engine.headers import iso
from streams.protocols.apc.lineage.effectiveness import score
from streams.protocols.apc.queries.lineage.entry import Entry
from streams.protocols.apc.queries.lineage.sums import Figures, Sums, SumsIndex, mean, mean_of_nano
from streams.protocols.apc.queries.lineage.universe import UniverseRows
from streams.views.keys import key
from streams.views.pages import page_of
from streams.views.parse import QueryError, QueryParams

Json = dict[str, Any]
Named = tuple[bytes, Figures]
"""Key and figures of a protocol."""
Rank = tuple[int, int, bytes]
"""The place of a protocol in a list."""


def time_text(at_ms: int) -> str:
    return iso(at_ms).decode()


def _by_packets(each: Named) -> Rank:
    row_key, figures = each
    return -figures[SumsIndex.PACKETS], -figures[SumsIndex.LAST_SEEN], row_key


def _by_transfers(each: Named) -> Rank:
    row_key, figures = each
    return -figures[SumsIndex.TRANSFERS], -figures[SumsIndex.ACCEPTED], row_key


def protocols(universe: UniverseRows, protocols: Iterable[Named], limit: int) -> list[Json]:
    """Return packets of any type that bear lineage by protocol, the most frequent first."""
    borne = (each for each in protocols if each[1][SumsIndex.PACKETS])
    first = nsmallest(limit, borne, key=_by_packets)
    return [_protocol_row(universe.name_of(row_key), sums) for row_key, sums in _as_sums(first)]


def protocols_page(universe: UniverseRows, params: QueryParams) -> Json:
    """Return a page of `protocols`."""
    borne = [each for each in universe.protocols() if each[1][SumsIndex.PACKETS]]
    return _ranked_page(universe, params, borne, _by_packets, _protocol_row)


def _protocol_row(protocol_id: str, sums: Sums) -> Json:
    return {
        "protocol_id": protocol_id,
        "transfer_count": sums.packets,
        "run_count": sums.runs,
        "task_count": sums.tasks,
        "cross_use_case_count": sums.cross,
        "last_seen_at": time_text(sums.last_seen),
    }


def _ranked_page(
    universe: UniverseRows,
    params: QueryParams,
    protocols: Sequence[Named],
    rank: Callable[[Named], Rank],
    row: Callable[[str, Sums], Json],
) -> Json:
    """Return a page of protocols by rank; its cursor is the rank of its last row."""
    prefix = key(rank.__name__, *universe.universe)

    def entries(after: bytes | None) -> Iterator[tuple[bytes, Json]]:
        before = None if after is None else _rank_in(after[len(prefix) :])
        remaining = (each for each in protocols if before is None or rank(each) > before)
        for each in nsmallest(params.limit() + 1, remaining, key=rank):
            *numbers, row_key = rank(each)
            place = orjson.dumps([*numbers, row_key.hex()])
            yield prefix + place, row(universe.name_of(each[0]), Sums._make(each[1]))

    return page_of(params, prefix, entries)


def _rank_in(text: bytes) -> Rank:
    """Return the rank in a cursor.  Raises QueryError."""
    try:
        first, second, row_key = orjson.loads(text)
        return int(first), int(second), bytes.fromhex(row_key)
    except (ValueError, TypeError) as exc:
        raise QueryError("cursor", "not a cursor of this query") from exc


def _as_sums(protocols: Iterable[Named]) -> Iterator[tuple[bytes, Sums]]:
    for row_key, figures in protocols:
        yield row_key, Sums._make(figures)


def propagation(universe: UniverseRows, protocol_id: str | None, limit: int) -> list[Json]:
    """Return packets that bear lineage, newest first."""
    return [_bearer(entry) for entry in universe.newest(protocol_id, limit)]


def propagation_page(universe: UniverseRows, params: QueryParams) -> Json:
    """Return a page of `propagation`."""
    prefix, newest = universe.borne(params.text("protocol_id"))

    def entries(before: bytes | None) -> Iterator[tuple[bytes, Json]]:
        return ((row_key, _bearer(entry)) for row_key, entry in newest(before))

    return page_of(params, prefix, entries)


def _bearer(entry: Entry) -> Json:
    lineage = entry.lineage or {}
    return {
        "protocol_id": entry.protocol_id,
        "parent_protocol_ids": lineage.get("parent_protocol_ids", []),
        "ancestor_swarms": lineage.get("ancestor_swarms", []),
        "cross_use_case": entry.cross,
        "transfer_mode": lineage.get("transfer_mode"),
        "packet_id": entry.packet_id,
        "packet_type": entry.packet_type,
        "run_phase": entry.run_phase,
        "run_id": entry.run_id,
        "project_id": entry.project_id,
        "task_id": entry.task_id,
        "trace_id": entry.trace_id,
        "created_at": time_text(entry.position[0]),
    }


def transfer_quality(universe: UniverseRows) -> list[Json]:
    """Return TRANSFERs by mode, the most frequent first."""
    modes = sorted(universe.modes().items(), key=lambda item: (-item[1].total, item[0]))
    return [
        {
            "transfer_mode": mode,
            "total_count": sums.total,
            "accepted_count": sums.accepted,
            "cross_use_case_count": sums.cross,
            "avg_sender_score": mean(Decimal(sums.sender_score), sums.total),
            "avg_receiver_score": mean(Decimal(sums.receiver_score), sums.total),
        }
        for mode, sums in modes
    ]


def eval_correlation(universe: UniverseRows) -> list[Json]:
    """Return what EVALs measured in tasks with a cross-use-case TRANSFER, then with another one."""
    totals = universe.totals()
    groups = ((True, totals[2:7]), (False, totals[7:12]))
    return [
        {
            "has_cross_use_case_transfer": cross,
            "task_count": tasks,
            "avg_outcome": mean_of_nano(outcome, outcomes),
            "avg_drift_risk": mean_of_nano(drift, drifts),
        }
        for cross, (tasks, outcomes, outcome, drifts, drift) in groups
        if tasks
    ]


def effectiveness(universe: UniverseRows, protocols: Iterable[Named], limit: int) -> list[Json]:
    """Return TRANSFERs by protocol, the most frequent first."""
    handed = (each for each in protocols if each[1][SumsIndex.TRANSFERS])
    first = nsmallest(limit, handed, key=_by_transfers)
    return [effectiveness_row(universe.name_of(row_key), sums) for row_key, sums in _as_sums(first)]


def effectiveness_page(universe: UniverseRows, params: QueryParams) -> Json:
    """Return a page of `effectiveness`."""
    handed = [each for each in universe.protocols() if each[1][SumsIndex.TRANSFERS]]
    return _ranked_page(universe, params, handed, _by_transfers, effectiveness_row)


def effectiveness_row(protocol_id: str, sums: Sums) -> Json:
    return {
        "protocol_id": protocol_id,
        "transfer_count": sums.transfers,
        "accepted_count": sums.accepted,
        "run_count": sums.transfer_runs,
        "task_count": sums.transfer_tasks,
        "avg_outcome": mean_of_nano(sums.outcome_sum_nano, sums.outcome_weight),
        "avg_drift_risk": mean_of_nano(sums.drift_sum_nano, sums.drift_weight),
    }


def by_score(protocols: Iterable[Named], limit: int) -> Iterator[tuple[bytes, Sums]]:
    """Return the protocols of the highest effectiveness score, exactly.

    Floats of fractions have the order of the fractions, so the fractions need to be compared only
    where the floats are equal.
    """
    handed = (each for each in protocols if each[1][SumsIndex.TRANSFERS])
    first = nsmallest(limit, handed, key=lambda each: (*_rank(*_scored(each[1])), each[0]))
    return _as_sums(first)


def _scored(figures: Figures) -> Figures:
    """Return the figures that the score depends on."""
    return (
        figures[SumsIndex.TRANSFERS : SumsIndex.ACCEPTED + 1] + figures[SumsIndex.OUTCOME_WEIGHT :]
    )


@lru_cache(maxsize=1 << 16)
def _rank(*figures: int) -> tuple[float, Fraction]:
    exact = -score(*figures)
    return float(exact), exact
