"""Rule codes are closed sets, each declared once, with a meaning on one line."""

from __future__ import annotations

from types import ModuleType

import pytest

from schemas.apc import rules as apc_rules
from schemas.asap import rules as asap_rules
from schemas.rtes import rules as rtes_rules
from schemas.saop import rules as saop_rules
from schemas.sap import rules as sap_rules
from schemas.summit import rules as summit_rules

MODULES = [apc_rules, asap_rules, rtes_rules, saop_rules, sap_rules, summit_rules]


@pytest.mark.parametrize("module", MODULES)
def test_each_rule_is_a_constant_named_after_its_code(module: ModuleType) -> None:
    for rule in module.ALL:
        assert getattr(module, rule.code.upper().replace(".", "_")) is rule
        assert str(rule) == rule.code


@pytest.mark.parametrize("module", MODULES)
def test_each_meaning_is_one_line_that_fits_a_table(module: ModuleType) -> None:
    for rule in module.ALL:
        assert "\n" not in rule.meaning
        assert "|" not in rule.meaning
        assert rule.meaning[0].islower() or rule.meaning.split()[0].isupper() or "_" in rule.meaning
