"""Mask by rules of the policy, and leave out shipped ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streams.errors import InvalidInput, SettingsError
from streams.masking import Masker
from streams.masking.configured import masker_for
from streams.masking.examples import examples_of
from streams.masking.rules import ALL
from streams.masking.shapes import make_shapes, secret_kind
from streams.policy import read
from streams.processing.ingress import check
from streams.protocols.sap.ingress import TASK
from streams.settings import Settings
from streams.settings.masking import SHIPPED_RULES
from tests.unit.policy.files import policy_file
from tests.unit.schemas import examples

TICKET: dict[str, Any] = {
    "name": "ticket",
    "pattern": "TCK-[0-9]{4,}",
    "triggers": ["TCK-"],
    "masked": ["see TCK-12345"],
    "kept": ["TCK-1"],
}
SHAPED = [rule for rule in ALL if rule.name not in ("assignment", "high_entropy")]


def masker(*rules: dict[str, Any], **settings: Any) -> Masker:
    return masker_for(Settings(masking_rule=json.dumps(list(rules)), **settings))


def test_the_names_of_shipped_rules_are_those_of_the_rules() -> None:
    assert tuple(rule.name for rule in ALL) == SHIPPED_RULES


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("see TCK-12345, TCK-99999", "see [REDACTED:ticket], [REDACTED:ticket]"),
        ("é TCK-12345 ü", "é [REDACTED:ticket] ü"),
        ("a\nTCK-12345\nb", "a\n[REDACTED:ticket]\nb"),
        ("token=TCK-12345", "token=[REDACTED:assignment]"),
        ("TCK-123 tck-12345", "TCK-123 tck-12345"),
    ],
)
def test_a_rule_of_the_policy_replaces_its_matches(text: str, masked: str) -> None:
    with_tickets = masker(TICKET)
    assert with_tickets.text(text) == masked
    assert with_tickets.text(masked) == masked
    assert with_tickets.has_token(masked) is (text != masked)
    assert not with_tickets.has_token("[REDACTED:another]")
    assert with_tickets.everything({"a": [text]}) == {"a": [masked]}


def test_a_match_has_a_fingerprint_where_there_is_a_key() -> None:
    first, second = (masker(TICKET, mask_key="k" * 16).text(t) for t in ("TCK-12345", "TCK-54321"))
    assert first.startswith("[REDACTED:ticket:")
    assert first != second


def test_rules_that_match_tokens_do_not_change_them() -> None:
    capitals = {**TICKET, "name": "capitals", "pattern": "[A-Z]{4,}", "triggers": ["C", "E"]}
    capitals |= {"masked": ["SECRET"], "kept": ["secret"]}
    both = masker(TICKET, capitals)
    masked = both.text("TCK-12345 SECRET password=hunter2")
    assert masked == "[REDACTED:ticket] [REDACTED:capitals] password=[REDACTED:assignment]"
    assert both.text(masked) == masked


@pytest.mark.parametrize("rule", SHAPED, ids=lambda rule: rule.name)
def test_a_disabled_rule_replaces_nothing(rule: Any) -> None:
    without = masker(masking_disabled=rule.name)
    for example in examples_of(rule):
        assert f"[REDACTED:{rule.name}" not in without.text(example.text)
    others = [other for other in SHAPED if other is not rule]
    for example in (each for other in others for each in examples_of(other)):
        masked = Masker().text(example.text)
        if f"[REDACTED:{rule.name}" not in masked:
            assert without.text(example.text) == masked


def test_disabled_rules_leave_values_under_secret_names() -> None:
    value = {"password": "hunter2", "note": "TCK-12345"}
    assert masker(TICKET, masking_disabled="assignment").everything(value) == {
        "password": "hunter2",
        "note": "[REDACTED:ticket]",
    }


@pytest.mark.parametrize(
    ("changes", "rule", "pointer"),
    [
        ({"pattern": "("}, "pattern_invalid", "/0/pattern"),
        ({"pattern": "(?=a)b"}, "pattern_invalid", "/0/pattern"),
        ({"pattern": "[0-9]*"}, "pattern_invalid", "/0/pattern"),
        ({"pattern": ""}, "text_invalid", "/0/pattern"),
        ({"pattern": "a" * 513}, "text_invalid", "/0/pattern"),
        ({"name": "Ticket"}, "text_invalid", "/0/name"),
        ({"name": "jwt"}, "not_unique", "/0/name"),
        ({"triggers": []}, "number_range", "/0/triggers"),
        ({"masked": ["TCK-1"]}, "example_failed", "/0/masked/0"),
        ({"masked": ["tck 12345"]}, "example_failed", "/0/masked/0"),
        ({"kept": ["fine", "TCK-12345"]}, "example_failed", "/0/kept/1"),
    ],
)
def test_what_is_wrong_with_a_rule_is_named(
    changes: dict[str, Any], rule: str, pointer: str, tmp_path: Path
) -> None:
    table = {**TICKET, **changes}
    with pytest.raises(SettingsError, match=rule):
        Settings.load({"HEADRACE_MASKING_RULE": json.dumps([table])})
    members = "\n".join(f"{name} = {json.dumps(value)}" for name, value in table.items())
    with pytest.raises(InvalidInput) as caught:
        read(policy_file(tmp_path, f"[[masking.rule]]\n{members}\n"))
    (problem,) = caught.value.problems
    assert (problem.rule, problem.path) == (rule, f"/masking/rule{pointer}")


def test_examples_may_look_like_secrets_and_patterns_may_not(tmp_path: Path) -> None:
    key = "AKIA" + "Q7RK2XV9LM4TZ8WB"
    table = {**TICKET, "pattern": "AKIA[A-Z0-9]{16}", "triggers": ["AKIA"], "masked": [key]}
    members = "\n".join(f"{name} = {json.dumps(value)}" for name, value in table.items())
    read(policy_file(tmp_path, f"[[masking.rule]]\n{members}\n"))
    with pytest.raises(InvalidInput, match="secret"):
        read(
            policy_file(tmp_path, f"[[masking.rule]]\n{members.replace('AKIA[A-Z0-9]{16}', key)}\n")
        )


def test_secrets_in_payloads_are_found_by_the_rules_of_the_policy() -> None:
    shapes = make_shapes("aws_key", json.dumps([TICKET]))
    assert secret_kind("a TCK-12345", shapes=shapes) == "ticket"
    assert secret_kind("AKIA" + "Q7RK2XV9LM4TZ8WB", shapes=shapes) is None
    task = {**next(iter(examples.valid("sap/tasks").values())), "payload": {"text": "TCK-12345"}}
    _, problems = check(TASK, task, 0, Settings())
    assert problems == []
    _, (problem,) = check(TASK, task, 0, Settings(masking_rule=json.dumps([TICKET])))
    assert (problem.rule, problem.path) == ("payload_secret", "/payload/text")
