"""What becomes of a Result record: each check in its order, who may report, duplicates."""

from __future__ import annotations

import pytest

from schemas import sap
from streams.protocols.sap.processor import results
from tests.unit.protocols.sap.processor.support import (
    CORRELATION,
    START_MS,
    TASK,
    Bench,
    Json,
    derived,
    result,
    task,
    uuid,
)
from topology.keys import partition_of
from topology.sap import SAP_OUTCOMES, SAP_RESULT_HASHES, SAP_RESULTS, SAP_TASKS

SYSTEM = {"agentId": "scheduler", "agentKind": "system"}


def closed_row(**changes: object) -> Json:
    """A task that breaks every rule of 5.3 from step 5 on."""
    bench = Bench()
    bench.task(task("prefer", target={"agentId": "A-other"}))
    return {**bench.row(), "state": "FAILED", **changes}


def rules_of(value: Json, facts: results.Facts) -> list[str]:
    all_checks = results.checks(value, "hash", facts)
    return [check.verdict.rule for check in all_checks if check.verdict is not None]


def test_each_check_comes_before_the_next() -> None:
    """Steps 2 to 8 of 5.3, all broken at once: told in the table's order."""
    known = {"position": "sap.results/0/0", "sha256": "hash"}
    facts = results.Facts(closed_row(), known, True, START_MS)
    value = result("QUEUED", correlationId=uuid(7))
    assert rules_of(value, facts) == [
        "correlation_mismatch",
        "duplicate",
        "task_closed",
        "not_dispatched",
        "producer_mismatch",
        "illegal_transition",
    ]
    assert rules_of(value, results.Facts(None, known, True, START_MS)) == ["unknown_task"]
    open_row = closed_row(state="QUEUED", dispatched=True)
    quiet = results.Facts(open_row, None, False, START_MS)
    assert rules_of(result(), quiet) == []


def test_shape_key_and_partition_come_before_the_task() -> None:
    bench = Bench(2)
    away = 1 - partition_of(TASK.encode(), 2)
    value = result(correlationId=uuid(7))
    assert bench.result({**value, "reportedAt": "x"}, key="x", partition=away)["rule"] == (
        "bad_timestamp"
    )
    assert bench.result(value, key="x", partition=away)["rule"] == "key_mismatch"
    assert bench.result(value, partition=away)["rule"] == "partition_mismatch"
    assert bench.result(value)["rule"] == "unknown_task"


def test_an_accepted_result() -> None:
    bench = Bench()
    bench.task(task(replyTo={"endpoint": "bus:prime"}))
    value = result("RUNNING", meta={"own": 1, "headrace": "mine"}, more={"kept": None})
    ack = bench.result(value, START_MS + 1500)
    cause = "sap.results/0/1"
    assert (ack["ackId"], ack["subject"], ack["messageId"]) == (derived(cause, 0), "RESULT", TASK)
    assert (ack["rule"], ack["accepted"], ack["position"]) == ("accepted", None, cause)
    assert ack["envelopeSha256"] == sap.envelope_hash(value)
    (sent,) = bench.of(SAP_OUTCOMES)
    assert (sent.key, sent.id, sent.cause) == (TASK, f"{TASK}/1", cause)
    assert sent.headers == (("headrace-reply-to", b"bus:prime"),)
    outcome = sent.json
    assert (outcome["more"], outcome["meta"]["own"]) == ({"kept": None}, 1)
    assert outcome["meta"]["headrace"] == {
        "seq": 1,
        "rule": "agent_status",
        "cause": cause,
        "agentStatus": "RUNNING",
        "agentAlignment": "VALID",
        "serviceAlignment": "VALID",
        "resultSha256": ack["envelopeSha256"],
        "heuristicsVersion": 0,
        "constitution": ack["constitution"],
    }
    row = bench.row()
    assert (row["state"], row["startedAt"], row["outcomeSeq"]) == ("RUNNING", START_MS + 1500, 1)
    assert row["producer"]["agentId"] == "A-ml-001"
    node = f"sap:outcome:{TASK}/1"
    assert (node, "answers", f"sap:task:{TASK}") in bench.edges()


@pytest.mark.parametrize("status", ["RUNNING", "SUCCEEDED"])
def test_the_same_result_again_is_a_duplicate(status: str) -> None:
    bench = Bench()
    bench.task()
    bench.result(result(status))
    before, outcomes = bench.stored(), len(bench.outcomes())
    ack = bench.result(result(status, taskId=TASK.upper()), key=TASK)
    assert (ack["status"], ack["rule"], ack["duplicateOf"]) == (
        "ACK",
        "duplicate",
        "sap.results/0/1",
    )
    assert (bench.stored(), len(bench.outcomes())) == (before, outcomes)


def test_a_refused_result_is_not_remembered() -> None:
    bench = Bench()
    bench.task()
    early = result("PARTIAL", nextActions=[{"action": "go on"}])
    assert bench.result(early)["rule"] == "illegal_transition"
    assert bench.rows(SAP_RESULT_HASHES) == {}
    bench.result(result("RUNNING"))
    assert bench.result(early)["rule"] == "accepted"


def test_an_unknown_task() -> None:
    ack = Bench().result(result())
    assert (ack["rule"], ack["code"]) == ("unknown_task", "NOT_FOUND")
    assert TASK in ack["reason"]


def test_another_correlation() -> None:
    bench = Bench()
    bench.task()
    ack = bench.result(result(correlationId=uuid(7)))
    assert (ack["rule"], ack["code"]) == ("correlation_mismatch", "UNPROCESSABLE")
    assert ack["figures"] == {"correlationId": uuid(7), "expected": CORRELATION}
    assert bench.result(result(correlationId=CORRELATION.upper()))["rule"] == "accepted"


def test_nobody_reports_before_the_cache_has_answered() -> None:
    bench = Bench()
    bench.task(task("prefer"))
    ack = bench.result(result())
    assert (ack["rule"], ack["figures"]) == ("not_dispatched", {"cacheState": "lookup"})
    bench.verdict("waiting", waitUntil=START_MS + 30_000)
    assert bench.result(result())["figures"] == {"cacheState": "waiting"}
    bench.verdict("miss", leader=True)
    assert bench.result(result())["rule"] == "accepted"


def test_a_system_producer_may_report_at_any_time() -> None:
    bench = Bench()
    bench.task(task("prefer", target={"agentId": "A-other"}))
    assert bench.result(result("RUNNING", producer=SYSTEM))["rule"] == "accepted"
    assert bench.row()["producer"] is None
    bench.verdict("miss", leader=True)
    assert bench.result(result("FAILED", producer=SYSTEM))["rule"] == "accepted"


def test_the_first_agent_to_report_has_the_task() -> None:
    bench = Bench()
    bench.task()
    assert bench.result(result("RUNNING"))["rule"] == "accepted"
    other = result("SUCCEEDED", producer={"agentId": "A-other"})
    ack = bench.result(other)
    assert (ack["rule"], ack["code"]) == ("producer_mismatch", "FORBIDDEN")
    assert ack["figures"] == {"agentId": "A-other", "expected": "A-ml-001"}
    assert bench.result(result("SUCCEEDED"))["rule"] == "accepted"


def test_a_task_for_one_agent_is_that_agents() -> None:
    bench = Bench()
    bench.task(task(target={"agentId": "A-other"}))
    assert bench.result(result())["rule"] == "producer_mismatch"
    assert bench.result(result(producer={"agentId": "A-other"}))["rule"] == "accepted"


def test_binding_may_be_switched_off() -> None:
    bench = Bench(sap_producer_binding=False)
    bench.task(task(target={"agentId": "A-other"}))
    assert bench.result(result())["rule"] == "accepted"
    assert bench.row()["producer"]["agentId"] == "A-ml-001"
    assert bench.result(result("SUCCEEDED", producer={"agentId": "B"}))["rule"] == "accepted"
    assert bench.row()["producer"]["agentId"] == "A-ml-001"


@pytest.mark.parametrize(
    ("status", "alignment", "code", "rule"),
    [
        ("SUCCEEDED", "ESCALATE", None, "alignment_status_mismatch"),
        ("SUCCEEDED", "NON_CONSTITUTIONAL", None, "alignment_status_mismatch"),
        ("PARTIAL", "NON_CONSTITUTIONAL", None, "alignment_status_mismatch"),
        ("RUNNING", "NON_CONSTITUTIONAL", None, "accepted"),
        ("FAILED", "VALID", "NON_CONSTITUTIONAL", "alignment_status_mismatch"),
        ("FAILED", "NON_CONSTITUTIONAL", "NON_CONSTITUTIONAL", "accepted"),
        ("FAILED", "ESCALATE", "OTHER", "accepted"),
    ],
)
def test_evidence_at_odds_with_its_status(
    status: str, alignment: str, code: str | None, rule: str
) -> None:
    bench = Bench()
    bench.task()
    changes: Json = {"constitutionalEvidence": {"alignment": alignment}}
    if code is not None:
        changes["error"] = {"code": code, "message": "so"}
    ack = bench.result(result(status, **changes))
    assert ack["rule"] == rule
    assert (ack["code"] is None) == (rule == "accepted")


def test_failed_needs_a_message() -> None:
    bench = Bench()
    bench.task()
    assert bench.result(result("FAILED", error=...))["rule"] == "error_message_missing"
    assert bench.result(result("FAILED", error={"message": " "}))["rule"] == "error_message_missing"


@pytest.mark.parametrize(
    ("value", "warnings"),
    [
        (result("FAILED", error={"code": "WEIRD"}), ["unknown_error_code"]),
        (result("FAILED", error={"code": "INTERNAL"}), []),
        (result("ESCALATED"), ["escalated_without_next_actions"]),
        (result("ESCALATED", nextActions=[{"action": "ask"}]), []),
    ],
)
def test_warnings(value: Json, warnings: list[str]) -> None:
    bench = Bench()
    bench.task()
    assert bench.result(value)["warnings"] == warnings


def test_two_results_of_one_batch_are_judged_one_after_the_other() -> None:
    bench = Bench()
    first = bench.record(SAP_TASKS, task())
    more = [
        bench.record(SAP_RESULTS, result(status)) for status in ("RUNNING", "RUNNING", "SUCCEEDED")
    ]
    bench.decide(first, *more)
    assert [o["status"] for o in bench.outcomes()] == ["RUNNING", "SUCCEEDED"]
    assert bench.state == "SUCCEEDED"
