"""The words of evidence: each spelling of the guide's table, and every other word."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import sap
from schemas.sap.constants import CHECK_STATUSES, SEVERITIES
from tests.unit.schemas.examples import valid

STATUSES = {
    "PASS": "pass, passed, ok, okay, yes, true, compliant, satisfied, valid",
    "FAIL": "fail, failed, no, false, violated, violation, noncompliant, non-compliant, invalid",
    "UNCHECKED": "unchecked, unknown, skipped, pending, n/a",
}
BY_SEVERITY = {
    "low": "low, info, minor, trivial, note",
    "medium": "medium, moderate, warn, warning",
    "high": "high, major, error, serious, severe",
    "critical": "critical, blocker, fatal",
}
CHECKS = [(text, word) for word, texts in STATUSES.items() for text in texts.split(", ")]
VIOLATIONS = [(text, word) for word, texts in BY_SEVERITY.items() for text in texts.split(", ")]


def evidence(status: str, severity: str) -> dict[str, Any]:
    return {
        "alignment": "VALID",
        "policyChecks": [{"principle": "tone", "status": status}],
        "violations": [{"principle": "tone", "severity": severity}],
    }


def result(status: str, severity: str) -> dict[str, Any]:
    base = valid("sap/results")["running"]
    return {**base, "constitutionalEvidence": evidence(status, severity)}


def spellings(text: str) -> list[str]:
    return [text, text.upper(), text.title(), f" {text}\t", f"\u3000{text.swapcase()}\u00a0"]


@pytest.mark.parametrize(("text", "word"), CHECKS)
def test_a_known_status_is_read_in_any_case_and_keeps_its_original(text: str, word: str) -> None:
    for reported in spellings(text):
        (check,) = sap.map_evidence(evidence(reported, "low"), "high")["policyChecks"]
        beside = {} if reported == word else {"reportedStatus": reported}
        assert check == {"principle": "tone", "status": word, **beside}
        assert sap.validate_result(result(reported, "low")) == []
        assert sap.result_warnings(result(reported, "low")) == []


@pytest.mark.parametrize(("text", "word"), VIOLATIONS)
def test_a_known_severity_is_read_in_any_case_and_keeps_its_original(text: str, word: str) -> None:
    for reported in spellings(text):
        (violation,) = sap.map_evidence(evidence("PASS", reported), "low")["violations"]
        beside = {} if reported == word else {"reportedSeverity": reported}
        assert violation == {"principle": "tone", "severity": word, **beside}
        assert sap.result_warnings(result("PASS", reported)) == []


@pytest.mark.parametrize("unknown", SEVERITIES)
def test_an_unknown_word_is_unchecked_or_as_the_policy_says_with_a_warning(unknown: str) -> None:
    mapped = sap.map_evidence(evidence("reviewed", "grave"), unknown)
    assert mapped["policyChecks"][0]["status"] == "UNCHECKED"
    assert mapped["violations"][0]["severity"] == unknown
    warnings = ["status_unmapped", "severity_unmapped"]
    assert sap.result_warnings(result("reviewed", "grave")) == warnings


@pytest.mark.parametrize(("text", "rule"), [(" ", "empty_string"), ("x" * 65, "too_long")])
def test_a_word_is_not_blank_and_has_at_most_64_characters(text: str, rule: str) -> None:
    (status, severity) = sap.validate_result(result(text, text))
    assert {status.rule, severity.rule} == {rule}
    assert sap.validate_result(result("x" * 64, "y" * 64)) == []


@given(st.text(min_size=1, max_size=64), st.text(min_size=1, max_size=64))
def test_any_valid_words_become_own_words_once_and_strict_allows_just_these(
    status: str, severity: str
) -> None:
    value = result(status, severity)
    if sap.validate_result(value):
        return
    mapped = sap.map_evidence(value["constitutionalEvidence"], "high")
    (check,), (violation,) = mapped["policyChecks"], mapped["violations"]
    assert check["status"] in CHECK_STATUSES
    assert violation["severity"] in SEVERITIES
    assert sap.map_evidence(mapped, "low") == mapped
    whole = {**value, "constitutionalEvidence": mapped}
    assert sap.validate_result(whole, strict=True) == []
    is_own = status in CHECK_STATUSES and severity in SEVERITIES
    assert (sap.validate_result(value, strict=True) == []) is is_own


def test_strict_refuses_other_words_by_their_place() -> None:
    problems = sap.validate_result(result("passed", "High"), strict=True)
    assert [(problem.rule, problem.path) for problem in problems] == [
        ("bad_enum", "/constitutionalEvidence/policyChecks/0/status"),
        ("bad_enum", "/constitutionalEvidence/violations/0/severity"),
    ]
