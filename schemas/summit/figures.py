"""Numbers as Summit compares them: metrics, money, time, verification (spec 2.5, clarification 4).

A number counts as the decimal of its shortest spelling.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from schemas.decimals import dec
from schemas.summit import rules, words

JsonObject = dict[str, Any]
_EXACT = Context(prec=400, rounding=ROUND_HALF_EVEN)
_NINE = Decimal("1e-9")


def money(usd: float) -> Decimal:
    """As it is compared: rounded half-even to 9 places."""
    return dec(usd).quantize(_NINE, context=_EXACT)


def effective_metrics(reply: Mapping[str, Any] | None, row: Mapping[str, Any] | None) -> JsonObject:
    """Per member the larger of what a reply says and what the row has; 0 where nobody says.

    latency_ms is the reply's, else the row's; left out if neither has one.
    """
    told, known = reply or {}, row or {}
    result: JsonObject = {
        name: max(told.get(name) or 0, known.get(name) or 0) for name in ("tokens", "cost_usd")
    }
    result["tokens"] = int(result["tokens"])
    latency = told.get("latency_ms")
    if latency is None:
        latency = known.get("latency_ms")
    return result if latency is None else {**result, "latency_ms": latency}


def has_budget(budget: Mapping[str, Any] | None) -> bool:
    """Whether there is something to overspend; `seconds` alone is a timeout."""
    return budget is not None and any(budget.get(name) is not None for name in ("usd", "tokens"))


def broken_budget(budget: Mapping[str, Any] | None, metrics: Mapping[str, Any]) -> str | None:
    """`budget.usd` or `budget.tokens`, the first that effective metrics break; reaching is none."""
    if budget is None:
        return None
    usd, tokens = budget.get("usd"), budget.get("tokens")
    if usd is not None and money(metrics["cost_usd"]) > money(usd):
        return rules.BUDGET_USD.code
    if tokens is not None and metrics["tokens"] > tokens:
        return rules.BUDGET_TOKENS.code
    return None


def timeout_ms(budget: Mapping[str, Any] | None, default_s: float) -> int:
    """Whole milliseconds, rounded up, of the budget's seconds, else of the default."""
    seconds = budget.get("seconds") if budget else None
    exact = dec(default_s if seconds is None else seconds) * 1000
    return int(exact.to_integral_value(rounding=ROUND_CEILING))


def strictest(*statuses: str | None) -> str | None:
    """The strictest of statuses of a verification; None if there are none."""
    told = [status for status in statuses if status is not None]
    return max(told, key=words.VERIFICATION_STATUSES.index) if told else None


def effective_status(verification: Mapping[str, Any]) -> str:
    """Of a sound verification: what it claims, or `failed` if one of its checks did not pass."""
    passed = all(check["passed"] for check in verification.get("checks") or ())
    return str(verification["status"]) if passed else words.FAILED


def row_verification(verification: Mapping[str, Any]) -> JsonObject:
    """As a run's row has it: the effective status, and the claim beside it."""
    status, claimed = effective_status(verification), verification["status"]
    return {**verification, "status": status, "claimedStatus": claimed}
