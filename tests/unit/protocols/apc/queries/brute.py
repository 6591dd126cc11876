"""The lineage queries as their definitions say, over a list of packets: slow, and on its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any

from schemas.formats import iso_ms

Packet = dict[str, Any]
Placed = tuple[tuple[int, int, int], Packet]
Rows = list[dict[str, Any]]


def fitting(packets: Sequence[Placed], filters: dict[str, str]) -> list[Placed]:
    return [
        (place, packet)
        for place, packet in packets
        if all(_members(packet)[name] == value for name, value in filters.items())
    ]


def _members(packet: Packet) -> dict[str, Any]:
    project = packet.get("metadata", {}).get("project_id")
    return {**packet["trace"], "project_id": project}


def task_of(packet: Packet) -> tuple[str, str, str]:
    trace = packet["trace"]
    return trace["session_id"], trace["run_id"], trace["task_id"]


def exact(number: float) -> Fraction:
    return Fraction(repr(number))


def six(number: Fraction | None) -> float | None:
    if number is None:
        return None
    return round(number * 10**6) / 10**6


def _mean(numbers: Sequence[Fraction]) -> Fraction | None:
    return sum(numbers, Fraction()) / len(numbers) if numbers else None


def _nano(number: Fraction) -> Fraction:
    return Fraction(round(number * 10**9), 10**9)


def task_means(packets: Sequence[Placed]) -> dict[Any, tuple[Fraction | None, Fraction | None]]:
    values_by_task: dict[Any, tuple[list[Fraction], list[Fraction]]] = defaultdict(lambda: ([], []))
    for _, packet in packets:
        if packet["packet_type"] == "EVAL":
            outcomes, drifts = values_by_task[task_of(packet)]
            metrics = packet["payload"]["metric_set"]
            outcomes.append(_nano(exact(metrics["outcome"])))
            if "drift_risk" in metrics:
                drifts.append(_nano(exact(metrics["drift_risk"])))
    means = {}
    for task, (outcomes, drifts) in values_by_task.items():
        outcome, drift = _mean(outcomes), _mean(drifts)
        means[task] = (
            None if outcome is None else _nano(outcome),
            None if drift is None else _nano(drift),
        )
    return means


def _grouped(packets: Sequence[Placed]) -> dict[str, list[Placed]]:
    groups: dict[str, list[Placed]] = defaultdict(list)
    for place, packet in packets:
        if "lineage" in packet:
            groups[packet["lineage"]["protocol_id"]].append((place, packet))
    return groups


def protocols(packets: Sequence[Placed]) -> Rows:
    rows = []
    for name, group in _grouped(packets).items():
        rows.append(
            {
                "protocol_id": name,
                "transfer_count": len(group),
                "run_count": len({p["trace"]["run_id"] for _, p in group}),
                "task_count": len({task_of(p) for _, p in group}),
                "cross_use_case_count": sum(
                    p["lineage"].get("cross_use_case", False) for _, p in group
                ),
                "last_seen_at": iso_ms(max(place[0] for place, _ in group)),
            }
        )
    rows.sort(key=lambda row: row["protocol_id"])
    rows.sort(key=lambda row: row["last_seen_at"], reverse=True)
    return sorted(rows, key=lambda row: -row["transfer_count"])


def propagation(packets: Sequence[Placed], protocol_id: str | None = None) -> Rows:
    rows = []
    for place, packet in sorted(packets, key=lambda each: each[0], reverse=True):
        lineage = packet.get("lineage")
        if lineage is None or protocol_id not in (None, lineage["protocol_id"]):
            continue
        rows.append(
            {
                "protocol_id": lineage["protocol_id"],
                "parent_protocol_ids": lineage.get("parent_protocol_ids", []),
                "ancestor_swarms": lineage.get("ancestor_swarms", []),
                "cross_use_case": lineage.get("cross_use_case", False),
                "transfer_mode": lineage.get("transfer_mode"),
                "packet_id": packet["packet_id"],
                "packet_type": packet["packet_type"],
                "run_phase": packet["run_phase"],
                "run_id": packet["trace"]["run_id"],
                "project_id": packet.get("metadata", {}).get("project_id"),
                "task_id": packet["trace"]["task_id"],
                "trace_id": packet["trace"]["run_id"],
                "created_at": iso_ms(place[0]),
            }
        )
    return rows


def transfer_quality(packets: Sequence[Placed]) -> Rows:
    groups: dict[str, list[Packet]] = defaultdict(list)
    for _, packet in packets:
        if packet["packet_type"] == "TRANSFER":
            policy = packet["payload"]["transfer_policy"]["mode"]
            groups[packet["lineage"].get("transfer_mode", policy)].append(packet)
    rows = [
        {
            "transfer_mode": mode,
            "total_count": len(group),
            "accepted_count": sum(p["payload"].get("accepted", False) for p in group),
            "cross_use_case_count": sum(p["lineage"].get("cross_use_case", False) for p in group),
            "avg_sender_score": _decimal_mean([p["payload"]["sender_score"] for p in group]),
            "avg_receiver_score": _decimal_mean([p["payload"]["receiver_score"] for p in group]),
        }
        for mode, group in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row["total_count"], row["transfer_mode"]))


def _decimal_mean(numbers: Sequence[float]) -> float:
    total = sum((Decimal(repr(n)) for n in numbers), Decimal(0))
    places = Decimal("0.000001")
    return float((total / len(numbers)).quantize(places, rounding=ROUND_HALF_EVEN))


def correlation(packets: Sequence[Placed]) -> dict[str, Any]:
    """Pearson's r from its definition by means, over one pair for each transfer."""
    means = task_means(packets)
    accepted, differences, outcomes = [], [], []
    for _, packet in packets:
        outcome = means.get(task_of(packet), (None, None))[0]
        if packet["packet_type"] == "TRANSFER" and outcome is not None:
            payload = packet["payload"]
            accepted.append(Fraction(payload.get("accepted", False)))
            differences.append(exact(payload["sender_score"]) - exact(payload["receiver_score"]))
            outcomes.append(outcome)
    n = len(outcomes)
    return {
        "point_biserial": {"coefficient": pearson(accepted, outcomes), "n": n},
        "pearson": {"coefficient": pearson(differences, outcomes), "n": n},
    }


def pearson(xs: list[Fraction], ys: list[Fraction]) -> float | None:
    x, y = _mean(xs), _mean(ys)
    if x is None or y is None or len(xs) < 3 or len(set(xs)) == 1 or len(set(ys)) == 1:
        return None
    shared = sum(((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)), Fraction(0))
    squares = sum(((a - x) ** 2 for a in xs), Fraction(0)) * sum(
        ((b - y) ** 2 for b in ys), Fraction(0)
    )
    root = Decimal(squares.numerator).sqrt() / Decimal(squares.denominator).sqrt()
    exact_r = Decimal(shared.numerator) / Decimal(shared.denominator) / root
    return float(exact_r.quantize(Decimal("0.000001"), rounding=ROUND_HALF_EVEN))


def eval_correlation(packets: Sequence[Placed]) -> Rows:
    crosses: dict[Any, bool] = {}
    for _, packet in packets:
        if packet["packet_type"] == "TRANSFER":
            cross = packet["lineage"].get("cross_use_case", False)
            crosses[task_of(packet)] = crosses.get(task_of(packet), False) or cross
    means = task_means(packets)
    rows = []
    for cross in (True, False):
        tasks = [task for task, is_cross in crosses.items() if is_cross is cross]
        known = [means.get(task, (None, None)) for task in tasks]
        if tasks:
            rows.append(
                {
                    "has_cross_use_case_transfer": cross,
                    "task_count": len(tasks),
                    "avg_outcome": six(_mean([o for o, _ in known if o is not None])),
                    "avg_drift_risk": six(_mean([d for _, d in known if d is not None])),
                }
            )
    return rows


def averages(group: Sequence[Packet], means: Any) -> tuple[Fraction | None, Fraction | None]:
    known = [means.get(task_of(packet), (None, None)) for packet in group]
    outcome = _mean([o for o, _ in known if o is not None])
    return outcome, _mean([d for _, d in known if d is not None])


def transfers(packets: Sequence[Placed]) -> dict[str, list[Packet]]:
    groups: dict[str, list[Packet]] = defaultdict(list)
    for _, packet in packets:
        if packet["packet_type"] == "TRANSFER":
            groups[packet["payload"]["protocol_id"]].append(packet)
    return groups


def effectiveness(packets: Sequence[Placed]) -> Rows:
    means = task_means(packets)
    rows = []
    for name, group in transfers(packets).items():
        outcome, drift = averages(group, means)
        rows.append(
            {
                "protocol_id": name,
                "transfer_count": len(group),
                "accepted_count": sum(p["payload"].get("accepted", False) for p in group),
                "run_count": len({p["trace"]["run_id"] for p in group}),
                "task_count": len({task_of(p) for p in group}),
                "avg_outcome": six(outcome),
                "avg_drift_risk": six(drift),
            }
        )
    return sorted(
        rows, key=lambda r: (-r["transfer_count"], -r["accepted_count"], r["protocol_id"])
    )


def scored(packets: Sequence[Placed]) -> tuple[Rows, Fraction | None, Fraction | None]:
    """protocol_effectiveness of the summary, and the two baselines."""
    means = task_means(packets)
    groups = transfers(packets)
    figures = {name: averages(group, means) for name, group in groups.items()}
    weights = {name: len({task_of(p) for p in group}) for name, group in groups.items()}
    both = [name for name, pair in figures.items() if None not in pair]
    weight = sum(weights[name] for name in both)
    bases: list[Fraction | None] = [None, None]
    if weight:
        for n in (0, 1):
            total = sum((weights[p] * (figures[p][n] or Fraction()) for p in both), Fraction())
            bases[n] = total / weight
    rows = []
    for row in effectiveness(packets):
        protocol_means = figures[row["protocol_id"]]
        rate = Fraction(row["accepted_count"], row["transfer_count"])
        drift = 1 if protocol_means[1] is None else protocol_means[1]
        score = (
            rate / 2
            + Fraction(35, 100) * (protocol_means[0] or 0)
            + Fraction(15, 100) * (1 - drift)
        )
        lift, delta = (
            None if a is None or b is None else six(a - b)
            for a, b in zip(protocol_means, bases, strict=True)
        )
        more = {"acceptance_rate": six(rate), "outcome_lift": lift, "drift_risk_delta": delta}
        rows.append((-score, {**row, **more, "effectiveness_score": six(score)}))
    rows.sort(key=lambda each: (each[0], each[1]["protocol_id"]))
    return [row for _, row in rows], bases[0], bases[1]
