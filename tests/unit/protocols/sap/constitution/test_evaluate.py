"""The eight steps of an evaluation, the worked example, and how votes add up."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.sap.constants import LEVELS, RISKS, SEVERITIES
from streams.protocols.sap.constitution import Evaluation, combine, status_after
from streams.protocols.sap.constitution.checks import PHASES, VOTES
from streams.protocols.sap.constitution.texts import normalised
from tests.unit.protocols.sap.constitution.support import constitution, entry, final, statuses

RANK = ["VALID", "ESCALATE", "NON_CONSTITUTIONAL"]
TABLE = {
    "critical": "NON_CONSTITUTIONAL NON_CONSTITUTIONAL NON_CONSTITUTIONAL",
    "high": "NON_CONSTITUTIONAL ESCALATE ESCALATE",
    "medium": "ESCALATE VALID VALID",
    "low": "VALID VALID VALID",
}
VOTE = {
    (severity, risk): vote
    for severity, votes in TABLE.items()
    for risk, vote in zip(RISKS, votes.split(), strict=True)
}
COURTEOUS = "constraint:text:1464441e333f55bb"


def _example(level: str = "consulted", text: str = "Ring Ana", tokens_in: int = 610) -> Evaluation:
    return final(
        "No PII",
        "Cite at least one source",
        "Keep it courteous",
        level=level,
        context={
            "riskTolerance": "low",
            "pressure": {"systems_over_willpower": 63, "strategic_pause": 12},
        },
        budget={"tokens": 900},
        output={"text": text},
        citations=["lib:17"],
        checks=[{"principle": "systems_over_willpower", "status": "PASS", "notes": "ours"}],
        metrics={"tokensIn": tokens_in, "tokensOut": 205},
    )


PRESSURE = (
    "the pressure 63 is above the threshold 50, so it had to be checked; the agent reports PASS;"
    " the agent notes PASS: ours"
)


def test_the_example() -> None:
    evaluation = _example(text="Ring Ana on +372 5550 1234")
    assert [(c["principle"], c["status"], c["notes"]) for c in evaluation.checks] == [
        ("systems_over_willpower", "PASS", PRESSURE),
        ("budget:tokens", "PASS", "815 used ≤ 900 allowed"),
        ("constraint:no_pii", "FAIL", "phone at /text"),
        ("constraint:citations_required", "PASS", "1 cited ≥ 1 required"),
        (COURTEOUS, "UNCHECKED", "Keep it courteous"),
    ]
    assert evaluation.violations == [
        {"principle": "constraint:no_pii", "severity": "high", "evidence": "phone at /text"}
    ]
    assert status_after("SUCCEEDED", evaluation.alignment) == ("FAILED", "alignment_refused")


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({}, "SUCCEEDED"),
        ({"level": "deliberated"}, "ESCALATED"),
        ({"tokens_in": 700}, "ESCALATED"),
        ({"level": "instant"}, "SUCCEEDED"),
        ({"level": "instant", "text": "+372 5550 1234"}, "FAILED"),
        ({"level": "instant", "tokens_in": 700}, "ESCALATED"),
    ],
)
def test_variants_of_the_example(more: dict[str, Any], status: str) -> None:
    assert status_after("SUCCEEDED", _example(**more).alignment)[0] == status


def test_the_hash_of_an_unknown_text_is_that_of_its_normal_form() -> None:
    assert normalised("  Keep IT   courteous!.; ") == "keep it courteous"
    assert statuses(final("KEEP it courteous .")) == {COURTEOUS: "UNCHECKED"}


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("risk", [*RISKS, None])
def test_votes_of_reported_violations(severity: str, risk: str | None) -> None:
    expected = VOTE[severity, risk or "medium"]
    context = {"riskTolerance": risk} if risk else {}
    reported = [{"principle": "p", "severity": severity, "evidence": "e"}]
    for level in LEVELS:
        for phase in PHASES:
            evaluation = final(level=level, phase=phase, context=context, violations=reported)
            assert evaluation.alignment == ("VALID" if phase == "task" else expected)
            assert evaluation.violations == []
    assert VOTES[severity][RISKS.index(risk or "medium")] == expected


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("status", ["PASS", "UNCHECKED", "FAIL"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("phase", PHASES)
def test_a_pressure_above_its_threshold(
    severity: str, risk: str, status: str, level: str, phase: str
) -> None:
    by = constitution(f'[principles.p]\nthreshold = 50\nseverity = "{severity}"')
    evaluation = final(
        by=by,
        level=level,
        phase=phase,
        context={"pressure": {"p": 50.5}, "riskTolerance": risk},
        checks=[{"principle": "p", "status": status}],
    )
    if level == "instant" or phase in ("partial", "task"):
        assert (evaluation.checks, evaluation.alignment) == ([], "VALID")
        return
    assert statuses(evaluation) == {"p": status}
    vote = VOTE[severity, risk] if status == "FAIL" else "VALID"
    if status == "UNCHECKED" and level == "deliberated":
        vote = "ESCALATE"
    assert evaluation.alignment == vote
    assert [v["severity"] for v in evaluation.violations] == (
        [severity] if status == "FAIL" else []
    )


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("level", LEVELS)
def test_a_principle_that_escalates(phase: str, level: str) -> None:
    by = constitution('[principles.p]\nthreshold = 50\non_exceed = "escalate"')
    context = {"pressure": {"p": 51}}
    evaluation = final(by=by, level=level, phase=phase, context=context)
    looked = level != "instant" and phase != "partial"
    assert statuses(evaluation) == ({"p": "FAIL"} if looked else {})
    assert evaluation.alignment == ("ESCALATE" if looked else "VALID")
    assert evaluation.violations == []


def test_principles_come_in_the_order_of_the_task_then_by_code_point() -> None:
    evaluation = final(
        context={
            "principles": ["z", "absent", "b"],
            "pressure": {"b": 99, "d": 99, "z": 99, "a": 99, "low": 60},
        }
    )
    assert list(statuses(evaluation).items()) == [(name, "UNCHECKED") for name in "zbad"]
    assert evaluation.alignment == "VALID"


def test_the_worst_of_the_reported_checks_counts() -> None:
    checks = [{"principle": "p", "status": s} for s in ("PASS", "FAIL", "UNCHECKED")]
    evaluation = final(context={"pressure": {"p": 61}}, checks=checks)
    assert statuses(evaluation) == {"p": "FAIL"}
    assert [v["principle"] for v in evaluation.violations] == ["p"]


def test_other_reported_failures_are_violations_of_medium_severity() -> None:
    checks = [
        {"principle": "under", "status": "FAIL"},
        {"principle": "other", "status": "FAIL"},
        {"principle": "fine", "status": "PASS"},
        {"principle": "open", "status": "UNCHECKED"},
    ]
    for risk, vote in (("low", "ESCALATE"), ("medium", "VALID")):
        context = {"pressure": {"under": 60}, "riskTolerance": risk}
        evaluation = final(context=context, checks=checks)
        assert statuses(evaluation) == {"under": "FAIL", "other": "FAIL"}
        assert [v["severity"] for v in evaluation.violations] == ["medium", "medium"]
        assert evaluation.alignment == vote
    assert final(level="instant", checks=checks).checks == []


UNREPORTED = "the pressure 45 is above the threshold 40, and no check of it is reported"


def test_learned_thresholds_come_first() -> None:
    context = {"pressure": {"systems_over_willpower": 45}}
    assert final(context=context).checks == []
    policy = {"thresholds": {"systems_over_willpower": 40.0}}
    (check,) = final(context=context, policy=policy).checks
    assert (check["status"], check["notes"]) == ("UNCHECKED", UNREPORTED)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("level", LEVELS)
def test_the_contract_is_checked_at_every_level(phase: str, level: str) -> None:
    contract = {"format": "text", "schema": {"type": "string"}}
    evaluation = final(level=level, phase=phase, contract=contract, output=1)
    whole = phase in ("final", "cached")
    names = ["contract:format", "contract:schema"] if whole else []
    assert list(statuses(evaluation)) == names
    assert evaluation.alignment == ("NON_CONSTITUTIONAL" if whole else "VALID")
    assert [v["severity"] for v in evaluation.violations] == ["high"] * len(names)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("on_fail", ["ESCALATE", "NON_CONSTITUTIONAL"])
def test_constraints_run_in_their_phases(phase: str, level: str, hard: bool, on_fail: str) -> None:
    by = constitution(
        entry(
            "no_pii",
            hard=str(hard).lower(),
            on_fail=f'"{on_fail}"',
            severity='"low"',
            phases='["task", "final"]',
        )
    )
    evaluation = final("This!", by=by, level=level, phase=phase, output="a@b.eu", payload="a@b.eu")
    runs = phase in ("task", "final") and (hard or level != "instant")
    assert statuses(evaluation) == ({"constraint:own": "FAIL"} if runs else {})
    assert evaluation.alignment == (on_fail if runs else "VALID")
    assert [v["severity"] for v in evaluation.violations] == (["low"] if runs else [])


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("level", LEVELS)
def test_unknown_constraints(phase: str, level: str) -> None:
    evaluation = final("Keep it courteous", level=level, phase=phase)
    looked = level != "instant" and phase in ("final", "cached")
    assert statuses(evaluation) == ({COURTEOUS: "UNCHECKED"} if looked else {})
    assert evaluation.alignment == ("ESCALATE" if looked and level == "deliberated" else "VALID")


def test_of_two_checks_with_one_name_the_worse_stays() -> None:
    for texts in (("at most 5 tokens", "max 9 tokens"), ("max 9 tokens", "at most 5 tokens")):
        evaluation = final(*texts, metrics={"tokens": 7})
        assert statuses(evaluation) == {"constraint:max_tokens": "FAIL"}
        assert evaluation.checks[0]["notes"] == "tokens 7 used > 5 allowed"
        assert len(evaluation.violations) == 1


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("level", LEVELS)
def test_learned_checks_only_escalate(phase: str, level: str) -> None:
    policy = {"extraChecks": ["no_pii", "citations_required"]}
    evaluation = final(level=level, phase=phase, output="a@b.eu", policy=policy)
    runs = level != "instant" and phase in ("final", "cached")
    names = ["learned:citations_required", "learned:no_pii"] if runs else []
    assert list(statuses(evaluation)) == names
    assert evaluation.alignment == ("ESCALATE" if runs else "VALID")
    assert [v["severity"] for v in evaluation.violations] == (["medium", "high"] if runs else [])


def test_a_learned_check_that_the_task_states_runs_once() -> None:
    policy = {"extraChecks": ["no_pii"]}
    evaluation = final("No PII", output="a@b.eu", policy=policy)
    assert statuses(evaluation) == {"constraint:no_pii": "FAIL"}
    assert evaluation.alignment == "NON_CONSTITUTIONAL"


def test_a_learned_check_that_is_no_more() -> None:
    evaluation = final(policy={"extraChecks": ["gone"]})
    assert statuses(evaluation) == {"learned:gone": "UNCHECKED"}


@pytest.mark.parametrize("pattern", ["[" + "a" * 60_000, "(?P<" + "a" * 60_000])
def test_findings_fit_an_outcome(pattern: str) -> None:
    """Whatever issuers write: names have at most 1024 characters, notes 4000 (SAP guide, 2.2)."""
    contract = {"schema": {"pattern": pattern}}
    budget = {"b" * 5000: 1}
    evaluation = final("follow the output contract", contract=contract, budget=budget, output="x")
    assert [check["status"] for check in evaluation.checks] == ["UNCHECKED"] * 3
    for check in evaluation.checks:
        assert len(check["principle"]) <= 1024
        assert len(check["notes"]) <= 4000


def test_steps_tell_everything_in_order() -> None:
    evaluation = _example(level="deliberated")
    assert [step["step"] for step in evaluation.steps] == [1, 4, 6, 6, 6, 8]
    assert evaluation.steps[-1] == {
        "step": 8,
        "name": "sum",
        "status": None,
        "notes": f"not checked: {COURTEOUS}",
        "vote": "ESCALATE",
    }
    assert max((step["vote"] for step in evaluation.steps), key=RANK.index) == evaluation.alignment


def test_combined_evidence() -> None:
    evaluation = _example(text="+372 5550 1234")
    violation = dict(evaluation.violations[0])
    evidence = {
        "alignment": "ESCALATE",
        "policyChecks": [
            {"principle": "systems_over_willpower", "status": "PASS", "notes": "ours"},
            {"principle": "own", "status": "PASS", "notes": None},
        ],
        "violations": [violation, {**violation, "severity": "low"}],
    }
    context = {"pressure": {"p": 1}}
    combined = combine(evaluation, evidence, context)
    assert combined.alignment == "NON_CONSTITUTIONAL"
    assert combined.checks == [*evaluation.checks, evidence["policyChecks"][1]]
    assert combined.violations == [violation, {**violation, "severity": "low"}]
    assert combined.pressureReadings == {"p": 1}
    with_readings = combine(evaluation, {**evidence, "pressureReadings": {"q": 2}}, context)
    assert with_readings.pressureReadings == {"q": 2}


def test_evidence_when_nothing_was_evaluated() -> None:
    for alignment in RANK:
        combined = combine(None, {"alignment": alignment}, {})
        assert combined == (alignment, [], [], None)


def test_the_worse_alignment_of_every_pair() -> None:
    for service in RANK:
        for agent in RANK:
            combined = combine(Evaluation(service, [], [], []), {"alignment": agent}, {})
            assert combined.alignment == max(service, agent, key=RANK.index)


STATUS_TABLE = """
SUCCEEDED  SUCCEEDED  ESCALATED  FAILED
PARTIAL    PARTIAL    PARTIAL    FAILED
RUNNING    RUNNING    RUNNING    FAILED
FAILED     FAILED     FAILED     FAILED
CANCELLED  CANCELLED  CANCELLED  CANCELLED
ESCALATED  ESCALATED  ESCALATED  ESCALATED
"""


@pytest.mark.parametrize("row", STATUS_TABLE.split("\n")[1:-1])
def test_status_after(row: str) -> None:
    reported, *outcomes = row.split()
    for alignment, status in zip(RANK, outcomes, strict=True):
        rule = "agent_status"
        if status != reported:
            rule = "alignment_escalated" if alignment == "ESCALATE" else "alignment_refused"
        assert status_after(reported, alignment) == (status, rule)


def test_an_agents_notes_stand_beside_the_services() -> None:
    agent_check = {
        "principle": "budget:tokens",
        "status": "PASS",
        "notes": "within what was agreed",
    }
    facts: Any = {"budget": {"tokens": 1}, "metrics": {"tokens": 2}, "checks": [agent_check]}
    evaluation = final(**facts)
    (check,) = evaluation.checks
    service = "2 used > 1 allowed"
    assert check["notes"] == f"{service}; the agent notes PASS: within what was agreed"
    assert evaluation.steps[0]["notes"] == check["notes"]
    assert evaluation.violations[0]["evidence"] == service
    assert (
        final(**{**facts, "checks": [{**agent_check, "notes": None}]}).checks[0]["notes"] == service
    )


def test_a_cached_answers_checks_are_no_notes_of_an_agent() -> None:
    stored = {"principle": "systems_over_willpower", "status": "PASS", "notes": "then"}
    context = {"pressure": {"systems_over_willpower": 52}}
    (check,) = final(context=context, checks=[stored], phase="cached").checks
    assert check["notes"] == (
        "the pressure 52 is above the threshold 50, so it had to be checked;"
        " the stored answer has PASS"
    )
