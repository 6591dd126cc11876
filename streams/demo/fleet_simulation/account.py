"""Sums over the facts of a run, counted without the tables and the queries of the service.

It is fed with facts of `apc.events` in the order of each partition, and stores every packet with
the last state that a fact gave it; the sums of each protocol are computed from the packets alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any, NamedTuple

Json = dict[str, Any]
VERDICTS = frozenset({"accepted", "duplicate", "rejected"})
NOT_COUNTED = frozenset({"REJECTED_SCHEMA", "REJECTED_POLICY", "EXPIRED", "RETRACTED"})
NANO = 10**9


class Sums(NamedTuple):
    """The members of a row of `apc.lineage` of the same names."""

    packets: int = 0
    transfers: int = 0
    accepted: int = 0
    cross: int = 0
    tasks: int = 0
    outcome_weight: int = 0
    outcome_sum_nano: int = 0
    drift_weight: int = 0
    drift_sum_nano: int = 0

    def plus(self, other: Sums) -> Sums:
        return Sums(*map(sum, zip(self, other, strict=True)))

    @property
    def score(self) -> Fraction:
        """Return 0.5 times the share taken over, 0.35 times the outcome, 0.15 without drift."""
        taken = Fraction(self.accepted, self.transfers) if self.transfers else Fraction(0)
        outcome, drift = Fraction(0), Fraction(1)
        if self.outcome_weight:
            outcome = Fraction(self.outcome_sum_nano, self.outcome_weight * NANO)
        if self.drift_weight:
            drift = Fraction(self.drift_sum_nano, self.drift_weight * NANO)
        return (50 * taken + 35 * outcome + 15 * (1 - drift)) / 100


class Account:
    """The verdicts and packets of a run.

    rules: verdicts by rule.  states: the last state of each packet, by (session, id).
    """

    def __init__(self) -> None:
        self.rules: Counter[str] = Counter()
        self.verdicts: dict[str, Json] = {}
        """Verdict facts by position of their record."""
        self.states: dict[tuple[str, str], str] = {}
        self._packets: dict[tuple[str, str], Json] = {}
        self.seen: Counter[str] = Counter()
        """Rules of effects and of timers."""

    def add(self, fact: Json) -> None:
        """Add a fact in its JSON form."""
        ref = (fact["session_id"], fact["packet_id"])
        if fact["verdict"] in VERDICTS:
            self.rules[fact["rule"]] += 1
            self.verdicts[fact["cause"]] = fact
        else:
            self.seen[fact["rule"]] += 1
        if fact["verdict"] == "accepted":
            self._packets[ref] = fact["packet"]
        if fact["state"] is not None:
            self.states[ref] = fact["state"]

    def promoted(self) -> Iterable[Json]:
        """Yield the verdict facts of packets that were promoted at once."""
        for fact in self.verdicts.values():
            if any(step["to_state"] == "PROMOTED" for step in fact["transitions"]):
                yield fact

    def counted(self) -> list[Json]:
        """Return the packets that count: accepted, and not refused since, expired or retracted."""
        return [p for ref, p in self._packets.items() if self.states[ref] not in NOT_COUNTED]

    def lessons(self) -> Counter[tuple[str, str, str]]:
        """Count the TRANSFERs that were taken over, by (from swarm, protocol, to swarm)."""
        lessons: Counter[tuple[str, str, str]] = Counter()
        for packet in self.counted():
            payload = packet["payload"]
            if packet["packet_type"] == "TRANSFER" and payload.get("accepted"):
                lessons[payload["from_swarm"], payload["protocol_id"], payload["to_swarm"]] += 1
        return lessons

    def totals(self) -> dict[str, Sums]:
        """Return the sums of each protocol over all runs."""
        tasks: dict[tuple[str, str, str], list[Json]] = defaultdict(list)
        totals: dict[str, Sums] = defaultdict(Sums)
        for packet in self.counted():
            trace = packet["trace"]
            tasks[trace["session_id"], trace["run_id"], trace["task_id"]].append(packet)
            if lineage := packet.get("lineage"):
                protocol = lineage["protocol_id"]
                totals[protocol] = totals[protocol].plus(Sums(packets=1))
        for packets in tasks.values():
            for protocol, sums in _of_task(packets).items():
                totals[protocol] = totals[protocol].plus(sums)
        return dict(totals)


def _of_task(packets: list[Json]) -> dict[str, Sums]:
    metrics = [p["payload"]["metric_set"] for p in packets if p["packet_type"] == "EVAL"]
    outcome = _mean([measured["outcome"] for measured in metrics])
    drift = _mean([m["drift_risk"] for m in metrics if "drift_risk" in m])
    by_protocol: dict[str, list[Json]] = defaultdict(list)
    for packet in packets:
        if packet["packet_type"] == "TRANSFER":
            by_protocol[packet["payload"]["protocol_id"]].append(packet)
    return {
        protocol: Sums(
            transfers=len(made),
            accepted=sum(p["payload"].get("accepted", False) for p in made),
            cross=sum(p["lineage"].get("cross_use_case", False) for p in made),
            tasks=1,
            outcome_weight=0 if outcome is None else len(made),
            outcome_sum_nano=len(made) * (outcome or 0),
            drift_weight=0 if drift is None else len(made),
            drift_sum_nano=len(made) * (drift or 0),
        )
        for protocol, made in by_protocol.items()
    }


def _mean(values: list[float]) -> int | None:
    """Return the mean in units of 10⁻⁹, half-even."""
    if not values:
        return None
    nano = [(Decimal(repr(v)) * NANO).to_integral_value(ROUND_HALF_EVEN) for v in values]
    return round(Fraction(int(sum(nano)), len(nano)))
