"""What the sums of each protocol must be: counted anew from the packets that are counted now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from tests.unit.protocols.apc.processor.packets import Json

NAMES = (
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
Sums = dict[tuple[str, str], dict[str, int]]
"""By (protocol, run); protocols whose sums are all 0 are left out."""


def summed(deltas: Iterable[Json]) -> Sums:
    """What the deltas add up to."""
    sums_by_run: dict[tuple[str, str], dict[str, int]] = defaultdict(
        lambda: dict.fromkeys(NAMES, 0)
    )
    for delta in deltas:
        for name in NAMES:
            sums_by_run[delta["protocol_id"], delta["run_id"]][name] += delta[name]
    return {key: sums for key, sums in sums_by_run.items() if any(sums.values())}


def counted(packets: Iterable[Json]) -> Sums:
    """What the packets that are counted add up to."""
    sums_by_run: dict[tuple[str, str], dict[str, int]] = defaultdict(
        lambda: dict.fromkeys(NAMES, 0)
    )
    tasks: dict[tuple[str, str, str], list[Json]] = defaultdict(list)
    for packet in packets:
        trace = packet["trace"]
        tasks[trace["session_id"], trace["run_id"], trace["task_id"]].append(packet)
        if "lineage" in packet:
            sums_by_run[packet["lineage"]["protocol_id"], trace["run_id"]]["packets"] += 1
    for (_, run_id, _), members in tasks.items():
        evals = [p["payload"]["metric_set"] for p in members if p["packet_type"] == "EVAL"]
        transfers = [p for p in members if p["packet_type"] == "TRANSFER"]
        outcome = _mean(metrics["outcome"] for metrics in evals)
        drift = _mean(m["drift_risk"] for m in evals if "drift_risk" in m)
        for protocol in {p["payload"]["protocol_id"] for p in transfers}:
            run_transfers = [p for p in transfers if p["payload"]["protocol_id"] == protocol]
            sums = sums_by_run[protocol, run_id]
            n = len(run_transfers)
            sums["transfers"] += n
            sums["accepted"] += sum(p["payload"].get("accepted", False) for p in run_transfers)
            sums["cross"] += sum(p["lineage"].get("cross_use_case", False) for p in run_transfers)
            sums["tasks"] += 1
            if outcome is not None:
                sums["outcome_weight"] += n
                sums["outcome_sum_nano"] += n * outcome
            if drift is not None:
                sums["drift_weight"] += n
                sums["drift_sum_nano"] += n * drift
    return dict(sums_by_run)


def _mean(numbers: Iterable[Any]) -> int | None:
    """In units of 10⁻⁹, as an integer; a number is the decimal that it is spelled as."""
    nano = [round(Fraction(repr(number)) * 10**9) for number in numbers]
    return round(Fraction(sum(nano), len(nano))) if nano else None
