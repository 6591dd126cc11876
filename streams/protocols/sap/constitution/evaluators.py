"""Every evaluator by the name that a constitution gives it."""

from __future__ import annotations

from collections.abc import Mapping

from streams.protocols.sap.constitution import (
    budget,
    citations,
    contract,
    denylist,
    no_pii,
    searches,
)
from streams.protocols.sap.constitution.model import Evaluator

EVALUATORS: Mapping[str, Evaluator] = {
    "no_pii": no_pii.EVALUATOR,
    "citations": citations.EVALUATOR,
    "contract": contract.EVALUATOR,
    "budget": budget.EVALUATOR,
    "denylist": denylist.EVALUATOR,
    "forbid_pattern": searches.FORBID,
    "require_pattern": searches.REQUIRE,
}
