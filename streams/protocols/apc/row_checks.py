"""Checks of APC's rows that depend on many facts.

| table | what is verified |
|---|---|
| apc.coordination | the state is the one that the last note on it led to |
| apc.throttling | receivers and counts are those of the transfers decided so far |
| apc.lineage | the figures follow from the sums; the total is the sum over runs |
"""

from __future__ import annotations

from collections import Counter, defaultdict

from streams.engine.processor import AvroValue
from streams.protocols.apc.lineage.effectiveness import measure, round_figure
from streams.protocols.apc.lineage.rows import SUMS
from streams.protocols.apc.processor.budgets import limits_of, texts_of
from streams.replay.checks import CheckContext, RowProblems, Rows
from topology.machines.apc_inter import MACHINE as INTER
from topology.machines.apc_intra import MACHINE as INTRA

_FIGURES = ("acceptance_rate", "avg_outcome", "avg_drift_risk", "effectiveness_score")


def coordination(rows: Rows, ctx: CheckContext) -> RowProblems:
    for key, row in rows:
        seen_key = ("coordination", row["session_id"], row["agent_id"])
        machine = INTER if row["agent_id"] is None else INTRA
        state = ctx.seen.get(*seen_key) or machine.initial
        if state != row["state"]:
            yield key, f"it is in {row['state']}, the notes on it led to {state}"
        session = ctx.seen.get("session", row["session_id"])
        if row["limits"] is not None and session is not None:
            yield from _budget(key, row, session)


def _budget(key: str, row: AvroValue, session: AvroValue) -> RowProblems:
    for name, value, known in (
        ("limits", texts_of(limits_of(row)), session.get("limits", {})),
        ("used", row["used"], session.get("used")),
    ):
        if value != known:
            yield key, f"{name} are {value}, the facts make them {known}"


def throttling(rows: Rows, ctx: CheckContext) -> RowProblems:
    for key, row in rows:
        known = ctx.seen.get("throttle", key) or {"accepted": 0, "rejected": {}, "receivers": []}
        members = {
            "accepted": row["accepted"],
            "rejected": row["rejected"],
            "receivers": [receiver["to_swarm"] for receiver in row["receivers"]],
        }
        for name, value in members.items():
            if value != known[name]:
                yield key, f"{name} is {value}, the facts make it {known[name]}"


def lineage(rows: Rows, ctx: CheckContext) -> RowProblems:
    differences: dict[str, Counter[str]] = defaultdict(Counter)
    for key, row in rows:
        rate, outcome, drift, _, score = measure(row)
        measurements = (rate, outcome, drift, score)
        for name, figure in zip(_FIGURES, measurements, strict=True):
            follows = None if figure is None else round_figure(figure)
            if row[name] != follows:
                yield key, f"{name} is {row[name]}, the sums make it {follows}"
        sign = 1 if row["run_id"] is None else -1
        for name in SUMS:
            differences[row["protocol_id"]][name] += sign * row[name]
    for protocol, sums in differences.items():
        for name, difference in sums.items():
            if difference:
                yield protocol, f"{name} of the total is {difference} off the sum over runs"
