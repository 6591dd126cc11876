"""Checks of what runs and those below them have spent: of facts, of totals, and of their parts.

The totals in each fact about a tree are added up again from the facts before it, and its rule is
derived from them.

Source: Summit guide, 5.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from schemas.summit import rules
from schemas.summit.results import broken_tree_budget, money, money_text, sum_of_money
from schemas.summit.words import TERMINAL
from streams.replay.checks import CheckContext, Problems, RowProblems, Rows, check_equal
from topology.keys import split

_SPENT = frozenset(
    rule.code for rule in (rules.TREE_SPENT, rules.BUDGET_TREE_USD, rules.BUDGET_TREE_TOKENS)
)
_COUNTED = _SPENT | {rules.TREE_LINKED.code}
"""Rules of facts whose figures were added to the totals."""
_NOTHING = (0, "0.000000000")


def check(value: Mapping[str, Any], ctx: CheckContext) -> Problems:
    """Check an accepted fact about a run: what it has spent itself, or what was counted for it."""
    figures = value["figures"]
    if value["subject"] == "reply" and "cost_usd" in figures:
        _set_own(value["runId"], figures, ctx)
    if value["subject"] == "tree" and value["rule"] in _COUNTED:
        _count(value, ctx)
    if value["treeUsd"] is None or "tree_tokens" not in figures:
        return
    tokens, usd, _ = _totals(value["runId"], ctx)
    yield from check_equal("tree_tokens", figures["tree_tokens"], tokens)
    yield from check_equal("treeUsd", value["treeUsd"], usd)
    if value["rule"] in _SPENT:
        budget = {"usd": figures.get("usd"), "tokens": figures.get("tokens_budget")}
        exceeded = broken_tree_budget(budget, Decimal(usd), tokens)
        yield from check_equal("rule", value["rule"], exceeded or rules.TREE_SPENT.code)


def _set_own(run_id: str, figures: Mapping[str, float], ctx: CheckContext) -> None:
    spent = (int(figures["tokens"]), money_text(figures["cost_usd"]))
    ctx.seen.put(spent, "tree own", run_id)
    ctx.seen.put(True, "tree reported", run_id, *spent)


def _count(value: Mapping[str, Any], ctx: CheckContext) -> None:
    run_id, origin, figures = value["runId"], value["originRunId"], value["figures"]
    tokens, usd, runs = ctx.seen.get("tree below", run_id) or (*_NOTHING, 0)
    before = ctx.seen.get("tree counted", run_id, origin)
    spent = (int(figures["tokens"]), money_text(figures["cost_usd"]))
    old_tokens, old_usd = before or _NOTHING
    added = sum_of_money(Decimal(usd), -Decimal(old_usd), Decimal(spent[1]))
    below = (tokens - old_tokens + spent[0], money_text(added), runs + (before is None))
    ctx.seen.put(below, "tree below", run_id)
    ctx.seen.put(spent, "tree counted", run_id, origin)


def _totals(run_id: str, ctx: CheckContext) -> tuple[int, str, int]:
    """Return tokens, dollars and number of runs of a tree, by the facts so far."""
    tokens, usd, runs = ctx.seen.get("tree below", run_id) or (*_NOTHING, 0)
    own_tokens, own_usd = ctx.seen.get("tree own", run_id) or _NOTHING
    total = sum_of_money(Decimal(usd), Decimal(own_usd))
    return tokens + own_tokens, money_text(total), runs + 1


def totals(rows: Rows, ctx: CheckContext) -> RowProblems:
    """Check the rows of `summit.trees`."""
    for key, row in rows:
        if ctx.seen.get("tree below", key) is None:
            yield key, "no fact counts a run below it"
            continue
        for name, derived in zip(("tokens", "usd", "runs"), _totals(key, ctx), strict=True):
            if row[name] != derived:
                yield key, f"{name} is {row[name]}, the facts add up to {derived}"
        if not 0 <= row["open"] < row["runs"]:
            yield key, f"{row['open']} of {row['runs']} runs are open"


def origins(rows: Rows, ctx: CheckContext) -> RowProblems:
    """Check the rows of `summit-tree-origins`: what was counted of a run was reported by it."""
    for key, row in rows:
        _, origin = split(key)
        spent = (row["tokens"], money_text(money(Decimal(row["usd"]))))
        if spent != _NOTHING and not ctx.seen.get("tree reported", origin, *spent):
            yield key, f"{origin} never reported {row['tokens']} tokens and ${row['usd']}"
        state = ctx.seen.get("summit", origin)
        if row["ended"] and state is not None and state not in TERMINAL:
            yield key, f"{origin} has ended here, the facts make it {state}"
