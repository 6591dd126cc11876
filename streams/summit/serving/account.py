"""The cost of a run so far, against its budget."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import Any

from schemas import summit
from schemas.decimals import dec, total
from schemas.summit.results import rounded_usd, usd_text
from streams.summit.errors import BudgetExceeded

Json = dict[str, Any]


class Account:
    """Totals of one run; any thread may charge."""

    def __init__(self, budget: Json | None) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._tokens = 0
        self._cost_usd = Decimal(0)

    def charge(self, tokens: int, cost_usd: float) -> None:
        """Add a charge to the totals, even if it exceeds the budget.

        Raises BudgetExceeded when a total exceeds its limit, ValueError for a negative charge.
        """
        if not (tokens >= 0 and cost_usd >= 0):
            raise ValueError("a charge is not negative")
        with self._lock:
            self._tokens += tokens
            self._cost_usd = total(self._cost_usd, dec(cost_usd))
            totals = self.totals()
        if (rule := summit.broken_budget(self._budget, totals)) is not None:
            spent = usd_text(self._cost_usd) if rule == "budget.usd" else totals["tokens"]
            limit = (self._budget or {})[rule.removeprefix("budget.")]
            raise BudgetExceeded(f"{rule}: {spent} spent, {limit} allowed")

    def totals(self) -> Json:
        """Return the totals so far.  Amounts add up as decimals, and are rounded to 9 places."""
        return {"tokens": self._tokens, "cost_usd": rounded_usd(self._cost_usd)}
