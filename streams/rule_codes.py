"""The codes that verdicts may name: the closed sets of all protocols."""

from __future__ import annotations

from collections.abc import Mapping

import schemas.apc.rules
import schemas.asap.rules
import schemas.rtes.rules
import schemas.saop.rules
import schemas.sap.rules
import schemas.summit.rules
from schemas.rules import Rule

BY_PROTOCOL: Mapping[str, tuple[Rule, ...]] = {
    "APC": schemas.apc.rules.ALL,
    "SAOP": schemas.saop.rules.ALL,
    "RTES": schemas.rtes.rules.ALL,
    "SAP": schemas.sap.rules.ALL,
    "ASAP": schemas.asap.rules.ALL,
    "Summit": schemas.summit.rules.ALL,
}
CODES = frozenset(rule.code for rules in BY_PROTOCOL.values() for rule in rules)
