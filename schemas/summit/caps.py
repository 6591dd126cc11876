"""The bounds that a policy sets on the budgets of calls (Summit guide, 2.3)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

from schemas.decimals import dec, format_plain
from schemas.summit import rules
from schemas.summit.checker import Checker, JsonPath, in_range

_BUDGET: JsonPath = ("params", "context", "budget")
_NO_BOUND = 1 << 53


class BudgetCaps(NamedTuple):
    """The bounds on the budget of each call.

    is_required: a call must have a budget with a member.
    usd, tokens, seconds: the most that the member may be, and then it must be there; None: no
    bound.
    """

    is_required: bool = False
    usd: Decimal | None = None
    tokens: Decimal | None = None
    seconds: Decimal | None = None


NO_CAPS = BudgetCaps()


def check_caps(check: Checker, params: dict[str, Any], caps: BudgetCaps) -> None:
    """Check the budget in the params of a call that makes a run; its shape is checked elsewhere."""
    context = params.get("context", {})
    if not isinstance(context, dict):
        return
    budget = context.get("budget", {})
    if not isinstance(budget, dict):
        return
    if not budget and caps.is_required:
        check.add_problem(rules.BUDGET_MISSING, _BUDGET, "is missing, and the policy requires one")
    for name in ("usd", "tokens", "seconds"):
        cap = getattr(caps, name)
        if cap is None:
            continue
        bound, path = format_plain(cap), (*_BUDGET, name)
        if name not in budget:
            what = f"is missing, and the policy allows at most {bound}"
            check.add_problem(rules.BUDGET_CAP, path, what)
        elif in_range(budget[name], 0, _NO_BOUND) and dec(budget[name]) > cap:
            check.add_problem(rules.BUDGET_CAP, path, f"must be at most {bound} by the policy")
