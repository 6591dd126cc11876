"""Rows of APC that no fact makes alone, held against what the facts say last.

| table | what is verified |
|---|---|
| apc.coordination | the state is the one that the last note on it led to |
| apc.throttling | receivers and counts are those of the transfers judged so far |
| apc.lineage | the figures follow from the sums; the total is the sum over runs |
"""

from __future__ import annotations

from collections import Counter, defaultdict

from streams.protocols.apc.lineage.effectiveness import figures, shown
from streams.protocols.apc.lineage.rows import SUMS
from streams.replay.checks import CheckContext, RowProblems, Rows
from topology.machines.apc_inter import MACHINE as INTER
from topology.machines.apc_intra import MACHINE as INTRA

_SHOWN = ("acceptance_rate", "avg_outcome", "avg_drift_risk", "effectiveness_score")


def coordination(rows: Rows, given: CheckContext) -> RowProblems:
    for key, row in rows:
        place = ("coordination", row["session_id"], row["agent_id"])
        machine = INTER if row["agent_id"] is None else INTRA
        state = given.seen.get(*place) or machine.initial
        if state != row["state"]:
            yield key, f"it is in {row['state']}, the notes on it led to {state}"


def throttling(rows: Rows, given: CheckContext) -> RowProblems:
    for key, row in rows:
        known = given.seen.get("throttle", key) or {"accepted": 0, "rejected": {}, "receivers": []}
        found = {
            "accepted": row["accepted"],
            "rejected": row["rejected"],
            "receivers": [receiver["to_swarm"] for receiver in row["receivers"]],
        }
        for name, value in found.items():
            if value != known[name]:
                yield key, f"{name} is {value}, the facts make it {known[name]}"


def lineage(rows: Rows, given: CheckContext) -> RowProblems:
    left: dict[str, Counter[str]] = defaultdict(Counter)
    for key, row in rows:
        rate, outcome, drift, _, score = figures(row)
        wanted = (rate, outcome, drift, score)
        for name, figure in zip(_SHOWN, wanted, strict=True):
            follows = None if figure is None else shown(figure)
            if row[name] != follows:
                yield key, f"{name} is {row[name]}, the sums make it {follows}"
        sign = 1 if row["run_id"] is None else -1
        for name in SUMS:
            left[row["protocol_id"]][name] += sign * row[name]
    for protocol, sums in left.items():
        for name, rest in sums.items():
            if rest:
                yield protocol, f"{name} of the total is {rest} off the sum over runs"
