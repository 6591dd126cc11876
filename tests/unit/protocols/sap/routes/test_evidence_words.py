"""Words of evidence in results: read on the log, kept beside, or refused where policy is strict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.sap.constants import SEVERITIES
from streams.processing.ingress import check
from streams.protocols.sap import settings as sap_settings
from streams.protocols.sap.ingress import RESULT
from streams.replay.violations import ViolationKind
from streams.settings import Settings
from streams.verify.run import verify
from tests.unit.protocols.sap.processor.support import START_MS, TASK, Bench, Json, result, task
from tests.unit.views.bench import Bench as ViewBench
from topology.sap import SAP_ACKS, SAP_RESULTS, SAP_TASKS

STATUS_PATH = "/constitutionalEvidence/policyChecks/0/status"


def reporting(status: str = "Passed", severity: str = "info") -> Json:
    evidence = {
        "policyChecks": [{"principle": "tone", "status": status}],
        "violations": [{"principle": "tone", "severity": severity}],
    }
    return result("SUCCEEDED", constitutionalEvidence=evidence)


def decided(reported: Json, sent_task: Json | None = None, **settings: Any) -> tuple[Json, Json]:
    """The ack of a result and the outcome of its task."""
    bench = Bench(**settings)
    bench.task(sent_task)
    ack = bench.result(reported)
    return ack, bench.last


def test_an_outcome_has_the_services_words_and_what_was_reported_beside_them() -> None:
    ack, outcome = decided(reporting())
    assert (ack["rule"], ack["warnings"]) == ("accepted", [])
    evidence = outcome["constitutionalEvidence"]
    assert evidence["policyChecks"] == [
        {"principle": "tone", "status": "PASS", "reportedStatus": "Passed"}
    ]
    assert evidence["violations"] == [
        {"principle": "tone", "severity": "low", "reportedSeverity": "info"}
    ]


@pytest.mark.parametrize(
    ("severity", "status", "rule"),
    [
        ("minor", "SUCCEEDED", "agent_status"),
        ("Serious", "ESCALATED", "alignment_escalated"),
        ("FATAL", "FAILED", "alignment_refused"),
        ("grave", "ESCALATED", "alignment_escalated"),
    ],
)
def test_a_violation_votes_by_the_word_that_it_is_read_as(
    severity: str, status: str, rule: str
) -> None:
    _, outcome = decided(reporting(severity=severity))
    assert (outcome["status"], outcome["meta"]["headrace"]["rule"]) == (status, rule)


@pytest.mark.parametrize(
    ("unknown", "status"),
    [("low", "SUCCEEDED"), ("high", "ESCALATED"), ("critical", "FAILED")],
)
def test_policy_says_how_bad_a_violation_of_an_unknown_word_is(unknown: str, status: str) -> None:
    reported = reporting(severity="grave")
    ack, outcome = decided(reported, sap_evidence_unknown_severity=unknown)
    assert ack["warnings"] == ["severity_unmapped"]
    assert outcome["status"] == status


def test_a_check_that_a_reading_asks_for_counts_by_its_word() -> None:
    context = {"principles": ["tone"], "pressure": {"tone": 90}}
    sent_task = task(constitutionalContext=context)
    for word, status in (("OK", "SUCCEEDED"), ("violated", "ESCALATED")):
        _, outcome = decided(reporting(status=word), sent_task)
        assert outcome["status"] == status, word


def test_strict_policy_refuses_at_the_edge_and_on_the_log() -> None:
    settings = Settings(sap_evidence_words="strict")
    _, problems = check(RESULT, reporting(), START_MS, settings)
    assert (problems[0].rule, problems[0].path) == ("bad_enum", STATUS_PATH)
    assert check(RESULT, reporting(), START_MS, Settings())[1] == []
    bench = Bench(sap_evidence_words="strict")
    bench.task()
    ack = bench.result(reporting())
    assert (ack["rule"], ack["code"]) == ("bad_enum", "UNPROCESSABLE")
    assert ack["errors"][0]["path"] == STATUS_PATH
    assert bench.result(reporting("PASS", "low"))["rule"] == "accepted"


@pytest.mark.parametrize("unknown", SEVERITIES)
def test_an_explanation_evaluates_the_words_as_the_decision_did(
    tmp_path: Path, unknown: str
) -> None:
    bench = ViewBench(tmp_path, sap_evidence_unknown_severity=unknown)
    bench.send(SAP_TASKS.name, task())
    bench.send(SAP_RESULTS.name, reporting(severity="grave"))
    explanation = bench.look(f"/v1/sap/tasks/{TASK}/explain")
    evaluation = explanation["commands"][1]["evaluation"]
    assert evaluation["violations"] == [
        {"principle": "tone", "severity": unknown, "reportedSeverity": "grave"}
    ]
    assert explanation["outcomes"][-1]["alignment"] == evaluation["combined"]
    bench.close()


def test_the_setting_knows_every_severity() -> None:
    assert sap_settings.SEVERITIES == SEVERITIES


def test_facts_of_earlier_releases_stay_and_strict_policy_finds_what_it_would_refuse(
    tmp_path: Path,
) -> None:
    mapping = Settings(partitions=2)
    strict = replace(mapping, sap_evidence_words="strict")
    for deciding, other, findings in (
        (strict, mapping, {}),
        (mapping, strict, {ViolationKind.NOT_BORNE_OUT: 1}),
    ):
        folder = tmp_path / deciding.sap_evidence_words
        bench = ViewBench(folder, sap_evidence_words=deciding.sap_evidence_words)
        bench.settings = mapping  # those of an edge that lets it through
        bench.send(SAP_TASKS.name, task())
        bench.send(SAP_RESULTS.name, reporting())
        assert len(bench.records(SAP_ACKS.name)) == 2
        assert verify(bench.log, deciding, folder / "same").clean
        assert verify(bench.log, other, folder / "other").findings.counts == findings
        bench.close()
