"""Whether no more was used than a task allows (the Task's budget, and evaluator `budget`).

Numbers are compared as the decimals that their JSON spelling says.

Source: SAP spec, 3.4 and 9.7.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from schemas.apc.decimals import dec, plain, total
from streams.protocols.sap.constitution.model import Evaluator, Finding, Params, Subject
from streams.protocols.sap.constitution.params import amount
from streams.protocols.sap.constitution.words import (
    CACHED,
    FAIL,
    FINAL,
    PASS,
    UNCHECKED,
    worse_status,
)

TOKENS, SECONDS = "tokens", "seconds"
_PARTS_OF_TOKENS = ("tokensIn", "tokensOut")
_DURATIONS_MS = ("latencyMs", "durationMs")


def number(value: Any) -> Decimal | None:
    """A JSON number as its spelling says; None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return dec(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def used(name: str, metrics: Mapping[str, Any]) -> Decimal | None:
    """What the metrics say of one member of a budget; None if they say nothing."""
    own = number(metrics.get(name))
    if own is not None:
        return own
    if name == TOKENS:
        parts = [part for key in _PARTS_OF_TOKENS if (part := number(metrics.get(key))) is not None]
        return total(parts[0], parts[1] if parts[1:] else Decimal(0)) if parts else None
    if name == SECONDS:
        for key in _DURATIONS_MS:
            duration = number(metrics.get(key))
            if duration is not None:
                return duration.scaleb(-3)
    return None


def compared(name: str, allowed: Decimal, subject: Subject) -> Finding | None:
    """None where usage is not known yet."""
    spent = Decimal(0) if subject.phase == CACHED else used(name, subject.metrics)
    if spent is None:
        no_metric = Finding(UNCHECKED, f"no metric says how many {name} were used")
        return no_metric if subject.phase == FINAL else None
    if spent > allowed:
        return Finding(FAIL, f"{plain(spent)} > {plain(allowed)}")
    return Finding(PASS, f"{plain(spent)} ≤ {plain(allowed)}")


def members(budget: Any) -> dict[str, Decimal]:
    """The numeric members of a budget, in order."""
    if not isinstance(budget, dict):
        return {}
    return {name: given for name in _ordered(budget) if (given := number(budget[name])) is not None}


def _ordered(names: Iterable[str]) -> list[str]:
    """tokens, seconds, then the others by code point."""
    return sorted(names, key=lambda name: (name != TOKENS, name != SECONDS, name))


def check(subject: Subject, params: Params) -> Finding | None:
    found = {
        name: finding
        for name in _ordered(params)
        if (finding := compared(name, params[name], subject)) is not None
    }
    if not found:
        return None
    status = PASS
    for finding in found.values():
        status = worse_status(status, finding.status)
    return Finding(status, ", ".join(f"{name} {one.notes}" for name, one in found.items()))


_PARAMS = {TOKENS: amount, SECONDS: amount}
EVALUATOR = Evaluator(check, _PARAMS, needs=frozenset(_PARAMS), others=amount)
