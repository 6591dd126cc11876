"""The decisions on the records of `summit.tree`, which runs send to those above and below them.

For each, in this order, the first that applies decides:

1. it was passed on too often, or the addressee is the run that it is about;
2. the addressee is unknown;
3. the addressee's time is over: it times out first;
4. a link: neither the addressee's agent nor its caller made the run;
5. the run through which it comes is not linked to the addressee;
6. it says nothing new;
7. the run is not counted yet, and there are as many as can be counted.

Else it is counted, or the run is stopped.  What was counted is passed on.

Source: Summit guide, 5.9.
"""

from __future__ import annotations

from typing import Any

from schemas.summit import rules
from schemas.summit.results import has_budget, money_text
from schemas.summit.words import BUDGET_EXCEEDED, LINK, STOP
from streams.engine.processor import AvroValue, Message, ProcessorContext
from streams.protocols.summit.processor import judging, runs, timeouts, trees
from streams.protocols.summit.processor.decision import DecisionContext, record_context
from streams.protocols.summit.processor.runs import Run, find_run
from streams.protocols.summit.processor.trees import Stop, Tree
from streams.protocols.summit.processor.verdicts import (
    Verdict,
    accept,
    duplicate,
    refuse,
    run_members,
    write_fact,
)
from topology.keys import composite
from topology.machines.summit_run import RunEvent

MAX_HOPS = 64


def judge(message: Message, work: ProcessorContext) -> None:
    """Decide on a SummitTree."""
    value, ctx = message.value, record_context(message, work)
    ctx.event_id = f"{ctx.cause}/tree/{composite(value['runId'], value['origin'], value['kind'])}"
    verdict = _decide(value, ctx)
    _write(value, verdict, ctx)


def _decide(value: AvroValue, ctx: DecisionContext) -> Verdict:
    if value["hops"] > MAX_HOPS:
        return refuse(rules.TREE_DEEP.code)
    if value["origin"] == value["runId"]:
        return refuse(rules.TREE_CYCLE.code)
    run = find_run(value["runId"], ctx)
    if run is None:
        return refuse(rules.TREE_UNKNOWN.code)
    timeouts.catch_up(run)
    if value["kind"] == STOP:
        return _stop(value, run)
    return _refusal(value, run) or _count(value, run)


def _refusal(value: AvroValue, run: Run) -> Verdict | None:
    """Return the verdict on a link or a spend that is not to be counted, else None."""
    tree, origin, via = trees.find_tree(run), value["origin"], value["via"]
    is_own_link = value["kind"] == LINK and via == origin
    if is_own_link and value["caller"] not in (run.agent_id, run.row["caller"]):
        return refuse(rules.TREE_NOT_ENTITLED.code, run=run)
    if not is_own_link and (tree is None or not tree.has(via)):
        return refuse(rules.TREE_UNLINKED.code, run=run)
    if tree is not None and _is_known(value, tree):
        return duplicate(rules.TREE_SAME.code, run)
    return None


def _is_known(value: AvroValue, tree: Tree) -> bool:
    if value["kind"] == LINK:
        return tree.has(value["origin"])
    return tree.knows(value["origin"], trees.totals_in_record(value))


def _count(value: AvroValue, run: Run) -> Verdict:
    tree, origin, totals = trees.begin_tree(run), value["origin"], trees.totals_in_record(value)
    if not tree.has(origin):
        if tree.row["runs"] > run.ctx.setting("TREE_MAX"):
            return _refuse_further(value, run, tree)
        tree.add(origin, value["via"], totals)
    else:
        tree.update(origin, totals)
    trees.pass_on(run, value)
    exceeded = None if value["kind"] == LINK else trees.broken_rule(run, tree.totals)
    if exceeded is not None:
        _exceed(run, tree, exceeded, origin)
        return accept(exceeded, run, {})
    if value["kind"] == LINK and run.state == BUDGET_EXCEEDED:
        trees.stop_child(run, value["via"], Stop(run.run_id, run.row["reason"]))
    rule = rules.TREE_LINKED if value["kind"] == LINK else rules.TREE_SPENT
    return accept(rule.code, run, {})


def _refuse_further(value: AvroValue, run: Run, tree: Tree) -> Verdict:
    """Decide on a run more than can be counted."""
    if not (run.open and has_budget(run.row["budget"])):
        return refuse(rules.TREE_FULL.code, run=run)
    rule = rules.BUDGET_TREE_SIZE.code
    _exceed(run, tree, rule, value["origin"])
    if value["via"] not in tree.open_children():
        trees.stop_child(run, value["via"], Stop(run.run_id, rule))
    return accept(rule, run, {})


def _exceed(run: Run, tree: Tree, rule: str, origin: str) -> None:
    """End an addressee whose tree has exceeded its budget, and stop what is open below it.

    origin: the run whose figures broke it.
    """
    if run.open:
        _end(run, RunEvent.TREE_OVERSPEND, rule, origin)
        trees.settle(run)
    else:
        trees.stop_open(tree, Stop(run.run_id, rule))


def _stop(value: AvroValue, run: Run) -> Verdict:
    cause = Stop(value["origin"], value["rule"], value["hops"] + 1)
    if run.open:
        _end(run, RunEvent.TREE_STOP, rules.BUDGET_TREE.code, cause.origin)
        trees.settle(run, cause)
        return accept(rules.TREE_STOPPED.code, run, {})
    tree = trees.find_tree(run)
    if tree is not None:
        trees.stop_open(tree, cause)
    return duplicate(rules.TREE_SAME.code, run)


def _end(run: Run, event: RunEvent, rule: str, origin: str) -> None:
    runs.end(run, event, rule, origin_run=origin)
    runs.deliver_stop(run)
    run.save()
    judging.conclude(run)
    run.ctx.resume()


def _write(value: AvroValue, verdict: Verdict, ctx: DecisionContext) -> None:
    """Write the fact on a SummitTree."""
    figures: dict[str, float] = {"tokens": value["tokens"], "cost_usd": float(value["usd"])}
    members: dict[str, Any] = {
        "runId": value["runId"],
        "agentId": value["agentId"],
        "caller": value["caller"],
        "originRunId": value["origin"],
    }
    run = verdict.run
    if run is not None:
        budget = run.row["budget"] or {}
        limits = {"usd": budget.get("usd"), "tokens_budget": budget.get("tokens")}
        figures |= {name: limit for name, limit in limits.items() if limit is not None}
        totals = _totals(run)
        figures["tree_tokens"] = totals.tokens
        members["treeUsd"] = money_text(totals.usd)
        if verdict.verdict == "accepted" and run.before != run.state:
            members |= run_members(verdict)
    write_fact(value["runId"], "tree", verdict._replace(figures=figures), ctx, **members)


def _totals(run: Run) -> trees.Totals:
    tree = trees.find_tree(run)
    return trees.own_totals(run) if tree is None else tree.totals
