"""What becomes of a Signal record: each check in its order, and what it does."""

from __future__ import annotations

import pytest

from streams.protocols.sap.processor import signals
from tests.unit.protocols.sap.processor.support import (
    CORRELATION,
    START_MS,
    TASK,
    Bench,
    Json,
    derived,
    result,
    signal,
    task,
    uuid,
)
from topology.keys import partition_of


def closed(mode: str | None = None) -> Bench:
    bench = Bench()
    bench.task(task(mode))
    if mode is not None:
        bench.verdict("miss")
    bench.result(result("SUCCEEDED"))
    return bench


def rules_of(value: Json, facts: signals.Facts) -> list[str]:
    all_checks = signals.checks(value, "hash", facts)
    return [check.verdict.rule for check in all_checks if check.verdict is not None]


@pytest.mark.parametrize("kind", ["rating", "approval"])
def test_each_check_of_a_judgement_comes_before_the_next(kind: str) -> None:
    bench = closed()
    row = {**bench.row(), "state": "RUNNING"}
    known = {"sha256": "other", "position": "sap.signals/0/0"}
    value = signal(kind, correlationId=uuid(1), operator={"agentId": "A-ml-001"})
    assert rules_of(value, signals.Facts(row, known, known, START_MS)) == [
        "correlation_mismatch",
        "signal_id_conflict",
        "signal_too_early",
        "self_rating",
        "signal_repeated",
    ]
    assert rules_of(value, signals.Facts(None, known, known, START_MS)) == ["unknown_task"]


def test_each_check_of_a_cancel_comes_before_the_next() -> None:
    row = closed().row()
    value = signal("cancel", operator={"agentId": "B", "agentKind": "agent"})
    facts = signals.Facts(row, {"sha256": "hash", "position": "p"}, None, START_MS)
    assert rules_of(value, facts) == ["duplicate", "not_issuer", "task_closed"]


def test_shape_key_and_partition_come_before_the_task() -> None:
    bench = Bench(2)
    away = 1 - partition_of(TASK.encode(), 2)
    assert bench.signal(signal(sentAt="x"), key="x", partition=away)["rule"] == "bad_timestamp"
    assert bench.signal(signal(), key="x", partition=away)["rule"] == "key_mismatch"
    assert bench.signal(signal(), partition=away)["rule"] == "partition_mismatch"
    assert bench.signal(signal())["rule"] == "unknown_task"


@pytest.mark.parametrize("kind", ["rating", "approval", "note"])
def test_a_signal_is_acknowledged_and_learned_from(kind: str) -> None:
    bench = closed()
    before, outcomes = bench.row(), len(bench.outcomes())
    ack = bench.signal(signal(kind))
    cause = "sap.signals/0/2"
    assert (ack["rule"], ack["subject"], ack["messageId"]) == ("accepted", "SIGNAL", uuid(900))
    assert (ack["taskId"], ack["correlationId"]) == (TASK, CORRELATION)
    fact = bench.learned()[-1]
    assert (fact["kind"], fact["operator"], fact["taskId"]) == (kind, "ana", TASK)
    assert (fact["rating"], fact["decision"], fact["note"]) == {
        "rating": (4, None, None),
        "approval": (None, "approved", None),
        "note": (None, None, "fine"),
    }[kind]
    assert (fact["status"], fact["cacheHit"], fact["rule"]) == ("SUCCEEDED", False, "agent_status")
    assert fact["signalId"] == derived(cause, 1)
    assert (f"sap:signal:{uuid(900)}", "evaluates", f"sap:task:{TASK}") in bench.edges()
    assert (bench.row(), len(bench.outcomes())) == (before, outcomes)


def test_a_rating_of_a_cached_answer_says_so() -> None:
    bench = Bench()
    bench.task(task("prefer"))
    bench.hit()
    assert bench.signal(signal("rating"))["rule"] == "accepted"
    assert bench.learned()[-1]["cacheHit"] is True


def test_a_note_may_come_at_any_time() -> None:
    bench = Bench()
    bench.task()
    assert bench.signal(signal("note"))["rule"] == "accepted"
    assert bench.learned()[-1]["status"] == "QUEUED"


@pytest.mark.parametrize("kind", ["rating", "approval"])
def test_a_judgement_is_for_a_task_that_has_ended(kind: str) -> None:
    bench = Bench()
    bench.task()
    ack = bench.signal(signal(kind))
    assert (ack["rule"], ack["code"], ack["figures"]) == (
        "signal_too_early",
        "UNPROCESSABLE",
        {"state": "QUEUED"},
    )
    assert {"rating": " a rating ", "approval": " an approval "}[kind] in ack["reason"]
    bench.result(result("SUCCEEDED"))
    assert bench.signal(signal(kind))["rule"] == "accepted"


@pytest.mark.parametrize("kind", ["rating", "approval"])
def test_nobody_judges_their_own_answer(kind: str) -> None:
    ack = closed().signal(signal(kind, operator={"agentId": "A-ml-001", "agentKind": "agent"}))
    assert (ack["rule"], ack["code"]) == ("self_rating", "FORBIDDEN")


def test_one_rating_and_one_approval_per_operator() -> None:
    bench = closed()
    for n, (kind, who, rule) in enumerate(
        [
            ("rating", "ana", "accepted"),
            ("rating", "ana", "signal_repeated"),
            ("approval", "ana", "accepted"),
            ("approval", "ana", "signal_repeated"),
            ("rating", "bo", "accepted"),
            ("note", "ana", "accepted"),
            ("note", "ana", "accepted"),
        ]
    ):
        value = signal(kind, signalId=uuid(n), operator={"agentId": who})
        assert bench.signal(value)["rule"] == rule


def test_the_same_signal_again() -> None:
    bench = closed()
    bench.signal(signal("rating"))
    before, learned_before = bench.stored(), len(bench.learned())
    ack = bench.signal(signal("rating", signalId=uuid(900).upper()))
    assert (ack["status"], ack["rule"], ack["duplicateOf"]) == (
        "ACK",
        "duplicate",
        "sap.signals/0/2",
    )
    other = bench.signal(signal("rating", rating=1))
    assert (other["rule"], other["code"]) == ("signal_id_conflict", "UNPROCESSABLE")
    assert (bench.stored(), len(bench.learned())) == (before, learned_before)


@pytest.mark.parametrize(
    ("operator", "rule"),
    [
        ({"agentId": "A-prime", "agentKind": "agent"}, "accepted"),
        ({"agentId": "ana", "agentKind": "user"}, "accepted"),
        ({"agentId": "cron", "agentKind": "system"}, "accepted"),
        ({"agentId": "B-1", "agentKind": "agent"}, "not_issuer"),
    ],
)
def test_who_may_cancel(operator: Json, rule: str) -> None:
    bench = Bench()
    bench.task()
    ack = bench.signal(signal("cancel", operator=operator))
    assert ack["rule"] == rule
    assert bench.state == ("CANCELLED" if rule == "accepted" else "QUEUED")


def test_a_cancel_ends_the_task() -> None:
    bench = Bench()
    bench.task(task("prefer", telemetry={"deadline": "2026-01-01T00:00:10Z"}))
    bench.verdict("miss", leader=True)
    bench.signal(signal("cancel"))
    last = bench.last
    assert (last["status"], last["producer"]["agentId"]) == ("CANCELLED", "headrace")
    assert last["meta"]["headrace"]["rule"] == "cancelled_by_signal"
    assert last["constitutionalEvidence"]["alignment"] == "VALID"
    assert "error" not in last
    assert [lookup["op"] for lookup in bench.lookups()] == ["READ", "RELEASE"]
    assert bench.timers == {}
    assert [fact["kind"] for fact in bench.learned()] == ["outcome"]
    assert bench.signal(signal("cancel", signalId=uuid(1)))["rule"] == "task_closed"
    assert bench.result(result("SUCCEEDED"))["rule"] == "task_closed"


def test_an_unknown_task_and_another_correlation() -> None:
    bench = Bench()
    ack = bench.signal(signal())
    assert (ack["rule"], ack["code"]) == ("unknown_task", "NOT_FOUND")
    bench.task()
    ack = bench.signal(signal(correlationId=uuid(3)))
    assert (ack["rule"], ack["code"]) == ("correlation_mismatch", "UNPROCESSABLE")


@pytest.mark.parametrize(
    "value",
    [
        signal("rating", rating=6),
        signal("rating", rating=...),
        signal("note", note=" "),
        signal("cancel", decision="approved"),
        signal("approval", decision="maybe"),
    ],
)
def test_what_does_not_go_with_the_kind(value: Json) -> None:
    ack = closed().signal(value)
    assert (ack["rule"], ack["code"], ack["messageId"]) == (
        "bad_signal",
        "UNPROCESSABLE",
        uuid(900),
    )


def test_approving_an_escalated_task_is_for_learning_only() -> None:
    bench = Bench()
    bench.task(task("prefer"))
    bench.verdict("miss", leader=True)
    bench.result(result("ESCALATED"))
    bench.verdict("released")
    before = bench.row()
    assert bench.signal(signal("approval"))["rule"] == "accepted"
    assert (bench.row(), bench.lookups()[-1]["op"]) == (before, "RELEASE")
