"""The values of a policy by which Summit decides on calls.

Source: Summit guide, 2.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from schemas.summit.caps import BudgetCaps
from streams.protocols.summit.settings import SummitSettings


def budget_caps(settings: Mapping[str, Any]) -> BudgetCaps:
    """Return the bounds on budgets of these settings, by their names without HEADRACE_."""
    return _made(
        settings["SUMMIT_BUDGET_REQUIRED"],
        settings["SUMMIT_MAX_USD"],
        settings["SUMMIT_MAX_TOKENS"],
        settings["SUMMIT_MAX_SECONDS"],
    )


def caps_of(settings: SummitSettings) -> BudgetCaps:
    """Return the same bounds for an edge."""
    return _made(
        settings.summit_budget_required,
        settings.summit_max_usd,
        settings.summit_max_tokens,
        settings.summit_max_seconds,
    )


@lru_cache
def _made(
    is_required: bool, usd: Decimal | None, tokens: int | None, seconds: Decimal | None
) -> BudgetCaps:
    return BudgetCaps(is_required, usd, None if tokens is None else Decimal(tokens), seconds)
