"""The rows of protocol lineage; each is the sum of its deltas, whatever their order.

Each protocol has one row per run and one over all runs, the total.  Sums are integers, so that a
removal cancels exactly what it removes.  A row whose sums are all 0 stays.

Source: APC guide, 5.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.engine.processor import AvroValue
from streams.protocols.apc.lineage.effectiveness import measure, round_figure
from topology.keys import composite

SUMS = (
    "packets",
    "transfers",
    "accepted",
    "cross",
    "tasks",
    "outcome_weight",
    "outcome_sum_nano",
    "drift_weight",
    "drift_sum_nano",
)
"""The members that a delta changes and a row adds up."""


def total_key(protocol_id: str) -> str:
    """Return the row key of a protocol over all runs."""
    return composite(protocol_id)


def run_key(protocol_id: str, run_id: str) -> str:
    return composite(protocol_id, run_id)


def evolve_run(row: AvroValue | None, delta: Mapping[str, Any]) -> AvroValue:
    """Return the row of the delta's run with the delta added (Avro values); `row` stays."""
    after = _add(row, delta, delta["run_id"])
    return after | {"run_count": int(after["transfers"] > 0)}


def evolve_total(row: AvroValue | None, delta: Mapping[str, Any], new_runs: int) -> AvroValue:
    """Return the total row with the delta added; `update_decay` sets whether it is blocked.

    new_runs: by how many the runs with transfers grew.
    """
    after = _add(row, delta, None)
    return after | {"run_count": after["run_count"] + new_runs}


def _add(row: AvroValue | None, delta: Mapping[str, Any], run_id: str | None) -> AvroValue:
    before = row or _new_row(delta["protocol_id"], run_id)
    after = before | {name: before[name] + delta[name] for name in SUMS}
    after["version"] = before["version"] + 1
    if delta["packets"] > 0:
        after["last_seen_at"] = max(before["last_seen_at"] or 0, delta["at"])
    return after | _measurements(after)


def _measurements(sums: AvroValue) -> AvroValue:
    rate, outcome, drift, _, score = measure(sums)
    return {
        "acceptance_rate": round_figure(rate),
        "avg_outcome": None if outcome is None else round_figure(outcome),
        "avg_drift_risk": None if drift is None else round_figure(drift),
        "effectiveness_score": round_figure(score),
    }


def _new_row(protocol_id: str, run_id: str | None) -> AvroValue:
    return {
        "protocol_id": protocol_id,
        "run_id": run_id,
        **dict.fromkeys(SUMS, 0),
        "run_count": 0,
        "blocked": False,
        "blocked_reasons": [],
        "blocked_since": None,
        "last_seen_at": None,
        "version": 0,
    }
