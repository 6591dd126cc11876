"""The tree of a run: what it and the runs below it have spent, counted as it is reported.

A run that names a parent tells it so when it is accepted (`link`), and how much it has spent
itself at each change and at its end (`spend`).  The addressee keeps the last totals of each such
run, adds them up, and passes the record on to its own parent.  So each run has the totals of all
below it, whatever the order in which they come.  When a run ends because its budget was exceeded,
all runs below it that are open are stopped (`stop`).

The rows of origins form a list, newest first, that the row of the run itself begins.

Source: Summit guide, 5.9.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from schemas.summit import rules
from schemas.summit.results import broken_tree_budget, money, money_text, sum_of_money
from schemas.summit.words import BUDGET_EXCEEDED, LINK, SPEND, STOP
from streams.engine.processor import AvroValue, Rows
from streams.protocols.summit.processor.decision import DecisionContext
from streams.protocols.summit.processor.runs import Run
from topology.keys import composite
from topology.summit import SUMMIT_TREE, SUMMIT_TREE_ORIGINS, SUMMIT_TREES_TABLE

TREE_BUDGETS = frozenset({rules.BUDGET_TREE_USD.code, rules.BUDGET_TREE_TOKENS.code})
"""Rules about what a run and those below it have spent."""


class Totals(NamedTuple):
    """The totals of one run, or of all runs of a tree.

    usd: dollars, rounded to 9 places run by run.  ended: whether the run has ended.
    """

    tokens: int
    usd: Decimal
    ended: bool = False


class Stop(NamedTuple):
    """A stop of runs: the run whose budget was exceeded, and by which rule.

    hops: over how many runs the stop has come.
    """

    origin: str
    rule: str
    hops: int = 0


class Tree:
    """The totals of a run that has runs below it, in one decision.

    row: SummitTreeTotals.
    """

    def __init__(self, run: Run, row: AvroValue) -> None:
        self.run = run
        self.row = row

    @property
    def totals(self) -> Totals:
        return Totals(self.row["tokens"], Decimal(self.row["usd"]))

    def with_own(self, run_totals: Totals) -> Totals:
        """Return the totals as they are once the run itself has spent this much."""
        return _exchanged(self.totals, _totals_in(self._origin_row(self.run.run_id)), run_totals)

    def has(self, origin: str) -> bool:
        """Return whether a run is linked to this one, directly or through others."""
        return self._origins.get(composite(self.run.run_id, origin)) is not None

    def knows(self, origin: str, totals: Totals) -> bool:
        """Return whether exactly this was counted for a run before."""
        row = self._origins.get(composite(self.run.run_id, origin))
        return row is not None and _totals_in(row) == totals

    def add(self, origin: str, via: str, totals: Totals) -> None:
        """Count a run that is not linked yet."""
        run_key = composite(self.run.run_id, self.run.run_id)
        first = self._origin_row(self.run.run_id)
        new = {**_counted(via, totals), "next": first["next"]}
        self._origins.put(composite(self.run.run_id, origin), new)
        self._origins.put(run_key, {**first, "next": origin})
        self.row["runs"] += 1
        self.row["open"] += not totals.ended
        self._save(_exchanged(self.totals, Totals(0, Decimal(0)), totals))

    def update(self, origin: str, totals: Totals) -> None:
        """Count the new totals of a linked run, or of the run itself."""
        before = self._origin_row(origin)
        tree_totals = _exchanged(self.totals, _totals_in(before), totals)
        if origin != self.run.run_id:
            self.row["open"] += before["ended"] - totals.ended
        changed = {**before, **_counted(before["via"], totals)}
        self._origins.put(composite(self.run.run_id, origin), changed)
        self._save(tree_totals)

    def open_children(self) -> list[str]:
        """Return the runs next below this one through which an open run is reached."""
        return list(dict.fromkeys(row["via"] for row in self._linked() if not row["ended"]))

    @property
    def _origins(self) -> Rows:
        return self.run.ctx.work.rows(SUMMIT_TREE_ORIGINS)

    def _origin_row(self, origin: str) -> AvroValue:
        row = self._origins.get(composite(self.run.run_id, origin))
        assert row is not None, f"{origin} is counted for {self.run.run_id}"
        return row

    def _linked(self) -> Iterator[AvroValue]:
        origin = self._origin_row(self.run.run_id)["next"]
        while origin is not None:
            row = self._origin_row(origin)
            yield row
            origin = row["next"]

    def _save(self, totals: Totals) -> None:
        ctx = self.run.ctx
        self.row |= {
            "tokens": totals.tokens,
            "usd": money_text(totals.usd),
            "at": ctx.at,
            "cause": ctx.cause,
        }
        ctx.work.rows(SUMMIT_TREES_TABLE).put(self.run.run_id, self.row)


def find_tree(run: Run) -> Tree | None:
    """Return the tree of a run, None while no run is linked to it."""
    row = run.ctx.work.rows(SUMMIT_TREES_TABLE).get(run.run_id)
    return None if row is None else Tree(run, row)


def begin_tree(run: Run) -> Tree:
    """Return the tree of a run, which begins with the run alone."""
    tree = find_tree(run)
    if tree is not None:
        return tree
    run_totals = own_totals(run)
    origins = run.ctx.work.rows(SUMMIT_TREE_ORIGINS)
    row = {**_counted(run.run_id, run_totals), "next": None}
    origins.put(composite(run.run_id, run.run_id), row)
    totals = {
        "runId": run.run_id,
        "tokens": run_totals.tokens,
        "usd": money_text(run_totals.usd),
        "runs": 1,
        "open": 0,
        "at": run.ctx.at,
        "cause": run.ctx.cause,
    }
    return Tree(run, totals)


def own_totals(run: Run) -> Totals:
    """Return what a run alone has spent."""
    return totals_of(run.row["metrics"], not run.open)


def totals_of(metrics: AvroValue, ended: bool = False) -> Totals:
    """Return what effective metrics say.

    metrics: Metrics, JSON or Avro.
    """
    return Totals(metrics["tokens"], money(metrics["cost_usd"]), ended)


def overspent(run: Run, metrics: AvroValue) -> str | None:
    """Return the rule of the budget that the run's tree exceeds with these metrics of the run."""
    tree = find_tree(run)
    return None if tree is None else broken_rule(run, tree.with_own(totals_of(metrics)))


def broken_rule(run: Run, totals: Totals) -> str | None:
    return broken_tree_budget(run.row["budget"], totals.usd, totals.tokens)


def tree_members(run: Run, rule: str) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the figures and the members of a fact whose rule is one about the run's tree."""
    tree = find_tree(run)
    if tree is None or rule not in TREE_BUDGETS:
        return {}, {}
    return (
        {"tree_tokens": tree.row["tokens"]},
        {"originRunId": run.run_id, "treeUsd": tree.row["usd"]},
    )


def link(run: Run) -> None:
    """Tell the parent that a new run names that the run is there."""
    _report(run, LINK, Totals(0, Decimal(0)))


def settle(run: Run, cause: Stop | None = None) -> None:
    """Count what a run has spent in this decision, tell its parent, and stop what is below it.

    cause: what stopped the run, if a run above did.
    """
    totals = own_totals(run)
    if totals == totals_of(run.metrics_before, run.ended_before):
        return
    tree = find_tree(run)
    if tree is not None:
        tree.update(run.run_id, totals)
    _report(run, SPEND, totals)
    if run.state == BUDGET_EXCEEDED and tree is not None:
        stop_open(tree, cause or Stop(run.run_id, run.row["reason"]))
    run.metrics_before, run.ended_before = run.row["metrics"], not run.open


def stop_open(tree: Tree, cause: Stop) -> None:
    """Stop the open runs below a run."""
    for child in tree.open_children():
        stop_child(tree.run, child, cause)


def stop_child(run: Run, child: str, cause: Stop) -> None:
    """Send a stop to a run next below this one."""
    value = {
        "origin": cause.origin,
        "via": run.run_id,
        "agentId": run.agent_id,
        "caller": run.row["caller"],
        "tokens": run.row["metrics"]["tokens"],
        "usd": money_text(run.row["metrics"]["cost_usd"]),
        "ended": not run.open,
        "hops": cause.hops,
        "rule": cause.rule,
    }
    _send(child, STOP, value, run.ctx)


def pass_on(run: Run, value: AvroValue) -> None:
    """Tell the run's own parent what a run below has said.

    value: SummitTree.
    """
    parent = run.row["parentRunId"]
    if parent is not None:
        passed = {**value, "via": run.run_id, "hops": value["hops"] + 1}
        _send(parent, value["kind"], passed, run.ctx)


def _report(run: Run, kind: str, totals: Totals) -> None:
    parent = run.row["parentRunId"]
    if parent is None:
        return
    value = {
        "origin": run.run_id,
        "via": run.run_id,
        "agentId": run.agent_id,
        "caller": run.row["caller"],
        **_amounts(totals),
        "hops": 0,
        "rule": None,
    }
    _send(parent, kind, value, run.ctx)


def _send(addressee: str, kind: str, value: AvroValue, ctx: DecisionContext) -> None:
    record = {**value, "runId": addressee, "kind": kind, "at": ctx.at, "cause": ctx.cause}
    id = f"{ctx.event_id}/tree/{composite(addressee, value['origin'], kind)}"
    ctx.send(SUMMIT_TREE, addressee, record, id)


def _amounts(totals: Totals) -> dict[str, Any]:
    return {"tokens": totals.tokens, "usd": money_text(totals.usd), "ended": totals.ended}


def _counted(via: str, totals: Totals) -> dict[str, Any]:
    return {"via": via, **_amounts(totals)}


def _totals_in(row: AvroValue) -> Totals:
    """Return the totals in a record or row of one run."""
    return Totals(row["tokens"], Decimal(row["usd"]), row["ended"])


def _exchanged(totals: Totals, before: Totals, after: Totals) -> Totals:
    """Return totals in which what one run has spent is replaced."""
    usd = sum_of_money(totals.usd, -before.usd, after.usd)
    return Totals(totals.tokens - before.tokens + after.tokens, usd)


def totals_in_record(value: AvroValue) -> Totals:
    """Return what a SummitTree says that its origin has spent."""
    return _totals_in(value)
