"""Trees of runs whose workers are killed: each report counts once, and each budget holds."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal
from functools import partial

import pytest

from tests.e2e.environment import Environment
from tests.e2e.outputs import Json
from tests.unit.protocols.summit.queries.stage import AGENT, invoke, manifest, progress
from topology.summit import (
    SUMMIT_CALLS,
    SUMMIT_EVENTS,
    SUMMIT_MANIFESTS,
    SUMMIT_REPLIES,
    SUMMIT_RUNS,
    SUMMIT_TREE,
    SUMMIT_TREES,
)

pytestmark = pytest.mark.slow

ROOTS = 24
CHILDREN = ("a", "b", "c")
KILLS = 4
TIGHT = 0.6
"""The budget in dollars of every second root; the others have none."""


def reached(environment: Environment, count: int) -> bool:
    """Return whether there are that many events of Summit."""
    return bool(environment.count(SUMMIT_EVENTS) >= count)


def family(root: str) -> dict[str, str]:
    """Return the runs below a root, three levels in all, with the parent of each."""
    parents = {f"{root}.{child}": root for child in CHILDREN}
    return parents | {f"{child}.{leaf}": child for child in parents for leaf in CHILDREN}


def call(run: str, parent: str | None, usd: float | None) -> Json:
    context: Json = {"traceId": "tr"}
    context |= {} if parent is None else {"parentRunId": parent}
    context |= {} if usd is None else {"budget": {"usd": usd}}
    return {**invoke(run, **context), "caller": "desk" if parent is None else AGENT}


def settled(environment: Environment) -> bool:
    """Return whether each record between runs has its fact."""
    facts = environment.values(SUMMIT_EVENTS)
    decided = sum(fact["subject"] == "tree" for fact in facts)
    return bool(decided == len(environment.values(SUMMIT_TREE)))


def test_each_report_counts_once_and_budgets_hold_under_kills(
    environment: Environment, dice: random.Random
) -> None:
    worker = environment.start("only", BATCH="10")
    worker.wait_ready(*environment.numbers)
    environment.send([environment.record(SUMMIT_MANIFESTS, manifest())])
    environment.until(partial(reached, environment, 1), "the agent is registered")
    roots = [f"root-{number}" for number in range(ROOTS)]
    budget = {root: TIGHT if number % 2 else None for number, root in enumerate(roots)}
    parents = {run: parent for root in roots for run, parent in family(root).items()}
    calls = [call(root, None, budget[root]) for root in roots]
    environment.send([environment.record(SUMMIT_CALLS, each) for each in calls])
    environment.until(partial(reached, environment, 1 + ROOTS), "the roots are there")
    for depth in (1, 2):
        level = [run for run in parents if run.count(".") == depth]
        calls = [call(run, parents[run], None) for run in level]
        before = environment.count(SUMMIT_EVENTS)
        environment.send([environment.record(SUMMIT_CALLS, each) for each in calls])
        environment.until(partial(reached, environment, before + len(level)), "they are there")
    replies = [
        progress(run, f"r{n}", metrics={"tokens": n, "cost_usd": n * dice.choice((0.01, 0.02))})
        for n in range(1, 5)
        for run in parents
    ]
    before = environment.count(SUMMIT_EVENTS)
    environment.send([environment.record(SUMMIT_REPLIES, reply) for reply in replies])
    for count in sorted(dice.sample(range(before, before + 2 * len(replies)), KILLS)):
        environment.until(partial(reached, environment, count), "the next kill is due")
        worker.kill()
        worker = environment.start("only", BATCH="10")
        worker.wait_ready(*environment.numbers)
    environment.until(partial(settled, environment), "everything is counted")
    worker.end()
    rows = {row["runId"]: row for row in environment.values(SUMMIT_RUNS)}
    totals = {row["runId"]: row for row in environment.values(SUMMIT_TREES)}
    nine = Decimal("1e-9")
    for root in roots:
        tree = [root, *family(root)]
        spent = [rows[run]["metrics"] for run in tree]
        usd = sum((Decimal(repr(m["cost_usd"])).quantize(nine) for m in spent), Decimal(0))
        assert Decimal(totals[root]["usd"]) == usd
        assert totals[root]["tokens"] == sum(m["tokens"] for m in spent)
        assert totals[root]["runs"] == len(tree)
        limit = budget[root]
        is_over = limit is not None and usd > Decimal(str(limit))
        assert (rows[root]["state"] == "budget_exceeded") == is_over
        if is_over:
            assert {rows[run]["state"] for run in tree} == {"budget_exceeded"}
            assert totals[root]["open"] == 0
    facts = [fact for fact in environment.values(SUMMIT_EVENTS) if fact["subject"] == "tree"]
    assert max(Counter(fact["cause"] for fact in facts).values()) == 1
    assert "budget.tree_usd" in {fact["rule"] for fact in facts}
    environment.verify()
