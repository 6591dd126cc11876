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
    found: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: dict.fromkeys(NAMES, 0))
    for delta in deltas:
        for name in NAMES:
            found[delta["protocol_id"], delta["run_id"]][name] += delta[name]
    return {key: sums for key, sums in found.items() if any(sums.values())}


def counted(packets: Iterable[Json]) -> Sums:
    """What the packets that are counted add up to."""
    found: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: dict.fromkeys(NAMES, 0))
    tasks: dict[tuple[str, str, str], list[Json]] = defaultdict(list)
    for packet in packets:
        trace = packet["trace"]
        tasks[trace["session_id"], trace["run_id"], trace["task_id"]].append(packet)
        if "lineage" in packet:
            found[packet["lineage"]["protocol_id"], trace["run_id"]]["packets"] += 1
    for (_, run_id, _), members in tasks.items():
        evals = [p["payload"]["metric_set"] for p in members if p["packet_type"] == "EVAL"]
        transfers = [p for p in members if p["packet_type"] == "TRANSFER"]
        outcome = _mean(metrics["outcome"] for metrics in evals)
        drift = _mean(m["drift_risk"] for m in evals if "drift_risk" in m)
        for protocol in {p["payload"]["protocol_id"] for p in transfers}:
            own = [p for p in transfers if p["payload"]["protocol_id"] == protocol]
            sums = found[protocol, run_id]
            n = len(own)
            sums["transfers"] += n
            sums["accepted"] += sum(p["payload"].get("accepted", False) for p in own)
            sums["cross"] += sum(p["lineage"].get("cross_use_case", False) for p in own)
            sums["tasks"] += 1
            if outcome is not None:
                sums["outcome_weight"] += n
                sums["outcome_sum_nano"] += n * outcome
            if drift is not None:
                sums["drift_weight"] += n
                sums["drift_sum_nano"] += n * drift
    return dict(found)


def _mean(numbers: Iterable[Any]) -> int | None:
    """In units of 10⁻⁹, as an integer; a number is the decimal that it is spelled as."""
    nano = [round(Fraction(repr(number)) * 10**9) for number in numbers]
    return round(Fraction(sum(nano), len(nano))) if nano else None
