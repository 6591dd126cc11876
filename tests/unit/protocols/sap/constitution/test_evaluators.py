"""Citations, budget, denylist and patterns."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.sap.constitution.support import constitution, entry, final, statuses

OWN = "constraint:own"


@pytest.mark.parametrize(
    ("citations", "expected"),
    [([], "FAIL"), (["lib:17"], "PASS"), (["", " \u00a0"], "FAIL"), ([" ", "a"], "PASS")],
)
def test_citations(citations: list[str], expected: str) -> None:
    results = statuses(final("cite sources", output="x", citations=citations))
    assert results == {"constraint:citations_required": expected}


@pytest.mark.parametrize(("count", "expected"), [(2, "FAIL"), (3, "PASS")])
def test_the_least_number_of_citations(count: int, expected: str) -> None:
    by = constitution(entry("citations", "min = 3"))
    assert statuses(final("this", by=by, citations=["a"] * count)) == {OWN: expected}
    matched = constitution(entry("citations", match="['this (?P<min>.+)']"))
    assert statuses(final("this 3", by=matched, citations=["a"] * count)) == {OWN: expected}
    assert statuses(final("this many", by=matched)) == {OWN: "UNCHECKED"}


BUDGETS: list[tuple[str, float, dict[str, Any], str, str]] = [
    ("tokens", 900, {"tokensIn": 610, "tokensOut": 205}, "PASS", "815 used ≤ 900 allowed"),
    ("tokens", 900, {"tokensIn": 700, "tokensOut": 205}, "FAIL", "905 used > 900 allowed"),
    (
        "tokens",
        900,
        {"tokens": 1, "tokensIn": 700, "tokensOut": 205},
        "PASS",
        "1 used ≤ 900 allowed",
    ),
    ("tokens", 900, {"tokensIn": 900}, "PASS", "900 used ≤ 900 allowed"),
    ("tokens", 900, {"tokensOut": 901, "tokensIn": "many"}, "FAIL", "901 used > 900 allowed"),
    ("tokens", 0.3, {"tokensIn": 0.1, "tokensOut": 0.2}, "PASS", "0.3 used ≤ 0.3 allowed"),
    ("tokens", 900, {"tokens": True}, "UNCHECKED", ""),
    ("tokens", 900, {}, "UNCHECKED", ""),
    ("seconds", 30, {"seconds": 30}, "PASS", "30 used ≤ 30 allowed"),
    ("seconds", 30, {"seconds": 31, "latencyMs": 1}, "FAIL", "31 used > 30 allowed"),
    ("seconds", 30, {"latencyMs": 30001, "durationMs": 1}, "FAIL", "30.001 used > 30 allowed"),
    ("seconds", 30, {"durationMs": 842}, "PASS", "0.842 used ≤ 30 allowed"),
    ("seconds", 30, {"duration": 842}, "UNCHECKED", ""),
    ("euros", 2.5, {"euros": 2.51}, "FAIL", "2.51 used > 2.5 allowed"),
    ("euros", 2.5, {"cost": 1}, "UNCHECKED", ""),
    ("euros", -1, {"euros": 0}, "FAIL", "0 used > -1 allowed"),
]


@pytest.mark.parametrize(("name", "allowed", "metrics", "expected", "notes"), BUDGETS)
def test_budget(
    name: str, allowed: float, metrics: dict[str, Any], expected: str, notes: str
) -> None:
    evaluation = final(budget={name: allowed}, metrics=metrics)
    assert statuses(evaluation) == {f"budget:{name}": expected}
    assert evaluation.checks[0]["notes"].startswith(notes)
    assert evaluation.alignment == ("ESCALATE" if expected == "FAIL" else "VALID")
    partial = final(budget={name: allowed}, metrics=metrics, phase="partial")
    assert statuses(partial) == ({} if expected == "UNCHECKED" else {f"budget:{name}": expected})
    cached = final(budget={name: allowed}, metrics=metrics, phase="cached")
    assert statuses(cached) == {f"budget:{name}": "FAIL" if allowed < 0 else "PASS"}


def test_numeric_members_of_a_budget() -> None:
    budget = {"z": 1, "b": "many", "a": 2, "seconds": 3, "tokens": None, "c": True}
    names = list(statuses(final(budget=budget)))
    assert names == ["budget:seconds", "budget:a", "budget:z"]


def test_a_budget_over_escalates_whatever_the_risk() -> None:
    for risk in ("low", "medium", "high"):
        evaluation = final(
            budget={"tokens": 1}, metrics={"tokens": 2}, context={"riskTolerance": risk}
        )
        assert evaluation.alignment == "ESCALATE"
        assert evaluation.violations == [
            {"principle": "budget:tokens", "severity": "high", "evidence": "2 used > 1 allowed"}
        ]


@pytest.mark.parametrize(
    ("text", "metrics", "expected"),
    [
        ("at most 5 tokens", {"tokens": 5}, {"constraint:max_tokens": "PASS"}),
        ("at most 5 tokens", {"tokens": 6}, {"constraint:max_tokens": "FAIL"}),
        ("at most 5 tokens", {}, {"constraint:max_tokens": "UNCHECKED"}),
        ("max of 5 seconds", {"latencyMs": 5001}, {"constraint:max_seconds": "FAIL"}),
        ("at most ٥٠ tokens", {"tokens": 51}, {"constraint:max_tokens": "FAIL"}),
    ],
)
def test_budgets_in_texts(text: str, metrics: dict[str, Any], expected: dict[str, str]) -> None:
    evaluation = final(text, metrics=metrics)
    assert statuses(evaluation) == expected
    assert evaluation.alignment == ("ESCALATE" if "FAIL" in expected.values() else "VALID")
    partial = statuses(final(text, metrics=metrics, phase="partial"))
    assert partial == ({} if "UNCHECKED" in expected.values() else expected)


@pytest.mark.parametrize(("calls", "expected"), [(3, "PASS"), (4, "FAIL"), ("4", "UNCHECKED")])
def test_budgets_of_an_operator(calls: Any, expected: str) -> None:
    """A metric of any name may be bounded, by the file or by the text of a constraint."""
    matched = constitution(entry("budget", match=r"['at most (?P<calls>\d+) calls']"))
    metrics = {"calls": calls, "tokens": 1}
    assert statuses(final("at most 3 calls", by=matched, metrics=metrics)) == {OWN: expected}
    fixed = constitution(entry("budget", "calls = 3, tokens = 1"))
    evaluation = final("this", by=fixed, metrics=metrics)
    assert statuses(evaluation) == {OWN: expected}
    assert evaluation.checks[0]["notes"].startswith("tokens 1 used ≤ 1 allowed, calls ")


DENIED = constitution('[denylist]\nterms = ["Project  Heron", "c++", "STRASSE"]')


@pytest.mark.parametrize(
    ("text", "is_denied"),
    [
        ("about project heron.", True),
        ("ABOUT PROJECT\n\t HERON", True),
        ("project herons", False),
        ("subproject heron", False),
        ("project-heron", False),
        ("in C++ or so", True),
        ("c+", False),
        ("die Straße", True),
        ("ｐｒｏｊｅｃｔ heron", True),
        ("", False),
    ],
)
def test_denylist(text: str, is_denied: bool) -> None:
    alignment = "NON_CONSTITUTIONAL" if is_denied else "VALID"
    for level in ("instant", "consulted", "deliberated"):
        evaluation = final(by=DENIED, level=level, output={"a": [text]})
        assert evaluation.alignment == alignment
        assert statuses(evaluation) == {"denylist": "FAIL" if is_denied else "PASS"}
        task_evaluation = final(by=DENIED, level=level, payload={"a": text}, phase="task")
        assert task_evaluation.alignment == alignment
    assert final(by=DENIED, payload=text, output="").alignment == "VALID"


def test_a_denied_name_is_not_told() -> None:
    evaluation = final(by=DENIED, output={"a": {"project heron": {"b": 1}}})
    assert evaluation.violations[0]["evidence"] == "denylisted term at /a/…"
    assert evaluation.violations[0]["severity"] == "critical"


def test_mentions() -> None:
    text = "Do not mention Acme Corp."
    assert statuses(final(text, output="by ACME  corp")) == {"constraint:no_mention": "FAIL"}
    assert statuses(final(text, output="by acme corporation")) == {"constraint:no_mention": "PASS"}


def test_without_terms_nothing_is_checked() -> None:
    evaluation = final("no banned words", output="x")
    assert statuses(evaluation) == {"constraint:no_denylisted": "UNCHECKED"}
    assert statuses(final("no banned words", payload="x", phase="task")) == statuses(evaluation)


@pytest.mark.parametrize(
    ("evaluator", "output", "expected"),
    [
        ("forbid_pattern", {"a": ["x", "internal-42"]}, "FAIL"),
        ("forbid_pattern", {"internal-42": 1}, "FAIL"),
        ("forbid_pattern", {"a": "internal-x"}, "PASS"),
        ("forbid_pattern", None, "PASS"),
        ("require_pattern", ["x", "see internal-1"], "PASS"),
        ("require_pattern", "internal-", "FAIL"),
        ("require_pattern", None, "FAIL"),
        ("require_pattern", 1, "FAIL"),
    ],
)
def test_patterns(evaluator: str, output: Any, expected: str) -> None:
    by = constitution(entry(evaluator, r"pattern = 'internal-\d+'"))
    evaluation = final("this", by=by, output=output)
    assert statuses(evaluation) == {OWN: expected}
    assert "internal-" not in evaluation.checks[0]["notes"]


@pytest.mark.timeout(20)
def test_patterns_take_linear_time() -> None:
    by = constitution(entry("forbid_pattern", r"pattern = '^(a+)+$'"))
    assert statuses(final("this", by=by, output="a" * 400_000 + "b")) == {OWN: "PASS"}


@pytest.mark.parametrize(
    ("output", "contract", "expected"),
    [
        ("x", {"format": "text", "schema": {"type": "string"}}, "PASS"),
        (1, {"format": "text", "schema": {"type": "integer"}}, "FAIL"),
        ("x", {"format": "text", "schema": {"parts": 3}}, "UNCHECKED"),
        ("x", {"format": "html"}, "UNCHECKED"),
        ("x", None, "UNCHECKED"),
    ],
)
def test_the_contract_as_a_constraint(output: Any, contract: Any, expected: str) -> None:
    results = statuses(final("follow the output contract", output=output, contract=contract))
    assert results["constraint:output_contract"] == expected
