"""Whether a pressure above its threshold was answered by a finding.

Source: SAP spec, 3.5 step 1 and 9.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from schemas.apc.decimals import plain
from streams.protocols.sap.constitution.budget import number
from streams.protocols.sap.constitution.constitution import Constitution
from streams.protocols.sap.constitution.model import Finding
from streams.protocols.sap.constitution.shapes import objects, record, strings
from streams.protocols.sap.constitution.tally import Tally
from streams.protocols.sap.constitution.words import (
    ESCALATE,
    FAIL,
    MEDIUM,
    STATUSES,
    TASK,
    UNCHECKED,
    Json,
    vote_of,
    worse_status,
)


def weigh(
    phase: str,
    context: Json,
    policy: Json,
    constitution: Constitution,
    reported: Any,
    tally: Tally,
) -> None:
    """checks that were reported for a principle count where its reading exceeds; all FAIL count."""
    risk = context.get("riskTolerance")
    checks = [check for check in objects(reported) if check.get("status") in STATUSES]
    answered: set[str] = set()
    for name, figures in _exceeding(context, policy, constitution):
        principle = constitution.principle(name)
        answered.add(name)
        if principle.on_exceed == "escalate":
            tally.check(1, name, Finding(FAIL, figures), vote=ESCALATE)
        elif phase != TASK:
            own = [check["status"] for check in checks if check.get("principle") == name]
            finding = _worst_of(own, figures)
            vote = vote_of(principle.severity, risk)
            tally.check(1, name, finding, principle.severity, vote)
    for check in checks:
        other = check.get("principle")
        if isinstance(other, str) and other not in answered and check["status"] == FAIL:
            finding = Finding(FAIL, "reported by the agent")
            tally.check(1, other, finding, MEDIUM, vote_of(MEDIUM, risk))


def _exceeding(
    context: Json, policy: Json, constitution: Constitution
) -> Iterator[tuple[str, str]]:
    """The principles whose reading is above the threshold, with the figures of it."""
    pressure, learned = record(context.get("pressure")), record(policy.get("thresholds"))
    listed = [
        name for name in dict.fromkeys(strings(context.get("principles"))) if name in pressure
    ]
    for name in listed + sorted(set(pressure) - set(listed)):
        reading = number(pressure[name])
        threshold = number(learned.get(name))
        if threshold is None:
            threshold = number(constitution.threshold(name)) or Decimal(0)
        if reading is not None and reading > threshold:
            yield name, f"{plain(reading)} > {plain(threshold)}"


def _worst_of(statuses: list[str], figures: str) -> Finding:
    if not statuses:
        return Finding(UNCHECKED, f"{figures}, no finding reported")
    worst = statuses[0]
    for status in statuses:
        worst = worse_status(worst, status)
    return Finding(worst, figures)
