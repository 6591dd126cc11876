"""What each fact says, derived again from its command and the figures that it records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from schemas.apc import rules as apc_rules
from schemas.asap import rules as asap_rules
from schemas.rtes import rules as rtes_rules
from schemas.rules import Rule
from schemas.saop import rules as saop_rules
from schemas.sap import rules as sap_rules
from schemas.summit import rules as summit_rules
from streams.verifying.checks import apc, asap, rewinds, saop, sap, summit
from streams.verifying.checks.given import Check as Check
from streams.verifying.checks.given import Given as Given
from topology import topics
from topology.declarations import Topic


class Derived(NamedTuple):
    """check: of the facts on one topic.  rules: the closed set that their rule is of, if any."""

    check: Check
    rules: frozenset[str] | None = None


def _codes(*rules: Rule) -> frozenset[str]:
    return frozenset(rule.code for rule in rules)


_SESSIONS = _codes(*rtes_rules.ALL)
CHECKS: Mapping[Topic, Derived] = {
    topics.APC_EVENTS: Derived(apc.check, _codes(*apc_rules.ALL)),
    topics.SAOP_VERDICTS: Derived(saop.verdict, _codes(*saop_rules.ALL)),
    topics.SAOP_REWIND_LOG: Derived(rewinds.logged, _codes(*saop_rules.ALL)),
    topics.SAOP_LOG: Derived(saop.logged),
    topics.SAOP_ESCALATIONS: Derived(saop.escalation),
    topics.RTES_EVENTS: Derived(saop.event, _SESSIONS),
    topics.RTES_REJECTIONS: Derived(saop.rejection, _SESSIONS),
    topics.SAP_ACKS: Derived(sap.ack, _codes(*sap_rules.ALL)),
    topics.SAP_OUTCOMES: Derived(sap.outcome),
    topics.ASAP_EVENTS: Derived(asap.check, _codes(*asap_rules.ALL)),
    topics.SUMMIT_EVENTS: Derived(summit.check, _codes(*summit_rules.ALL)),
}
"""By the topic of the fact."""
