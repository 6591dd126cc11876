"""What the cache's answers do (the last table of 5.4)."""

from __future__ import annotations

from typing import Any

import pytest

from streams.engine.processor import TooLarge
from tests.unit.processing.harness import StepWork
from tests.unit.protocols.sap.processor.support import (
    START_MS,
    TASK,
    Bench,
    Json,
    result,
    signal,
    task,
)
from topology.sap import SAP_OUTCOMES

SYSTEM = {"agentId": "scheduler", "agentKind": "system"}
MISSES = ("miss", "stale", "misaligned", "wait_expired")


def bench_with_task(mode: str = "prefer", **changes: Any) -> Bench:
    bench = Bench()
    bench.task(task(mode, **changes))
    return bench


def test_a_hit_answers_the_task() -> None:
    bench = bench_with_task(constitutionalContext={"pressure": {"calm": 3}})
    checks = [{"principle": "constraint:no_pii", "status": "PASS", "notes": "", "extra_json": None}]
    sent = bench.hit(version=3, age_s=7, checks=checks, violations=[])
    last, row = bench.last, bench.row()
    key = row["accepted"]["cacheKey"]
    assert (last["status"], last["output"]) == ("SUCCEEDED", "as before")
    assert last["producer"] == {"agentId": "headrace", "agentKind": "system"}
    assert (last["reportedAt"], last["taskId"]) == ("2026-01-01T00:00:00Z", TASK)
    evidence = last["constitutionalEvidence"]
    assert (evidence["alignment"], evidence["citations"]) == ("VALID", ["lib:17"])
    assert [check["principle"] for check in evidence["policyChecks"]] == [
        "constraint:no_pii",
        "old",
    ]
    assert evidence["pressureReadings"] == {"calm": 3}
    assert evidence["cache"] == {"hit": True, "cacheKey": key, "ageSec": 7, "version": 3}
    meta = last["meta"]["headrace"]
    assert (meta["rule"], meta["agentStatus"], meta["cause"]) == (
        "cache_hit",
        None,
        "sap.verdicts/0/1",
    )
    assert set(meta["cacheRecord"]) == {"version", "recordSha256", "taskId", "producer"}
    assert meta["cacheRecord"]["version"] == 3
    assert (row["state"], row["cacheState"], row["hitVersion"]) == ("SUCCEEDED", "hit", 3)
    assert row["producer"] is None
    outcome_node = f"sap:outcome:{TASK}/1"
    assert bench.edges(sent) == {
        (outcome_node, "answers", f"sap:task:{TASK}"),
        (outcome_node, "derived_from", f"sap:cache:{key}/3"),
    }
    assert bench.lookups(sent) == []
    (fact,) = bench.learned()
    assert (fact["rule"], fact["computed"], fact["cacheHit"]) == ("cache_hit", False, True)
    assert (bench.inbox(), bench.moves()[-1]) == ([], ("QUEUED", "SUCCEEDED"))


def test_a_hit_that_was_not_looked_at_again_has_the_records_checks() -> None:
    bench = bench_with_task(
        constitutionalContext={"cachePolicy": {"mode": "prefer", "mustAlign": False}}
    )
    bench.hit()
    checks = bench.last["constitutionalEvidence"]["policyChecks"]
    assert checks == [{"principle": "old", "status": "PASS", "notes": "then"}]


def test_a_hit_shows_the_steps_of_its_check_when_the_task_asks_for_a_trace() -> None:
    constraints = {"constraints": ["No PII"]}
    bench = bench_with_task(constitutionalContext=constraints, telemetry={"trace": True})
    label = bench.row()["constitution"]
    bench.hit(checks=[], violations=[], constitution=label)
    steps = bench.last["meta"]["headrace"]["steps"]
    assert [step["name"] for step in steps] == ["constraint:no_pii", "sum"]
    assert [step["vote"] for step in steps] == ["VALID", "VALID"]


@pytest.mark.parametrize("more", [{}, {"checks": [], "violations": []}])
def test_steps_of_a_hit_that_nobody_can_know_are_none(more: Json) -> None:
    bench = bench_with_task(telemetry={"trace": True})
    bench.hit(**more)
    assert bench.last["meta"]["headrace"]["steps"] == []


@pytest.mark.parametrize("name", MISSES)
@pytest.mark.parametrize("leader", [True, False])
def test_prefer_computes(name: str, leader: bool) -> None:
    bench = bench_with_task()
    bench.verdict(name, leader=leader)
    row = bench.row()
    assert (row["state"], row["cacheState"], row["dispatched"]) == ("QUEUED", "missed", True)
    assert (row["flightLeader"], len(bench.inbox()), bench.outcomes()) == (leader, 1, [])


@pytest.mark.parametrize("name", MISSES)
def test_only_fails(name: str) -> None:
    bench = bench_with_task("only")
    sent = bench.verdict(name, reason="none there")
    last, row = bench.last, bench.row()
    assert (last["status"], last["error"]["code"]) == ("FAILED", "CACHE_MISS")
    assert name in last["error"]["message"]
    assert last["error"]["details"]["verdict"] == name
    assert last["meta"]["headrace"]["rule"] == "cache_only_miss"
    assert last["constitutionalEvidence"]["alignment"] == "VALID"
    assert (row["state"], row["cacheState"], row["dispatched"]) == ("FAILED", "missed", False)
    assert (row["errorCode"], bench.lookups(sent), bench.inbox()) == ("CACHE_MISS", [], [])


def test_waiting() -> None:
    bench = bench_with_task()
    bench.verdict("waiting", waitUntil=START_MS + 30_000, leaderTaskId=TASK)
    assert (bench.row()["cacheState"], bench.state) == ("waiting", "QUEUED")
    assert bench.inbox() == []
    bench.hit()
    assert (bench.row()["cacheState"], bench.state) == ("hit", "SUCCEEDED")
    assert [lookup["op"] for lookup in bench.lookups()] == ["READ"]


@pytest.mark.parametrize("how", ["cancel", "system"])
def test_a_task_that_ends_while_it_waits_leaves_the_queue(how: str) -> None:
    bench = bench_with_task()
    bench.verdict("waiting", waitUntil=START_MS + 30_000)
    if how == "cancel":
        bench.signal(signal("cancel"))
    else:
        bench.result(result("FAILED", producer=SYSTEM))
    assert [lookup["op"] for lookup in bench.lookups()] == ["READ", "RELEASE"]


@pytest.mark.parametrize(
    ("name", "members", "ops"),
    [
        ("waiting", {"waitUntil": START_MS + 1}, ["READ", "RELEASE"]),
        ("miss", {"leader": True}, ["READ", "RELEASE"]),
        ("stale", {"leader": False}, ["READ"]),
        ("released", {}, ["READ"]),
    ],
)
def test_a_closed_task_gives_back_what_it_is_given(
    name: str, members: dict[str, Any], ops: list[str]
) -> None:
    bench = bench_with_task()
    bench.signal(signal("cancel"))
    before = bench.stored()
    bench.verdict(name, **members)
    assert [lookup["op"] for lookup in bench.lookups()] == ops
    assert (bench.stored(), len(bench.outcomes())) == (before, 1)


def test_a_hit_for_a_closed_task_is_nothing() -> None:
    bench = bench_with_task()
    bench.signal(signal("cancel"))
    before = bench.stored()
    assert bench.hit() == []
    assert bench.stored() == before


def test_what_became_of_a_store_is_noted_on_the_closed_task() -> None:
    bench = bench_with_task()
    bench.verdict("miss", leader=True)
    bench.result(result("SUCCEEDED"))
    bench.verdict("stored", START_MS + 9, version=4)
    row = bench.row()
    assert (row["storedVersion"], row["storeRefused"], row["updatedAt"]) == (4, False, START_MS + 9)
    bench.verdict("cache_version_exists")
    assert bench.row()["storeRefused"]


@pytest.mark.parametrize("name", ["store_duplicate", "released", "flight_lapsed"])
def test_a_flight_ends(name: str) -> None:
    bench = bench_with_task()
    bench.verdict("miss", leader=True)
    sent = bench.verdict(name)
    assert (bench.row()["flightLeader"], bench.state, sent) == (False, "QUEUED", [])


def test_a_task_that_is_worked_on_already_goes_on() -> None:
    """A cached answer ends a task from QUEUED only (SAP guide, 4)."""
    for mode in ("prefer", "only"):
        bench = bench_with_task(mode)
        bench.result(result("RUNNING", producer=SYSTEM))
        bench.verdict("miss") if mode == "only" else bench.hit()
        row = bench.row()
        assert (row["state"], row["cacheState"], row["hitVersion"]) == ("RUNNING", "missed", None)
        assert len(bench.outcomes()) == 1
        assert bench.result(result("SUCCEEDED", producer=SYSTEM))["rule"] == "accepted"


def test_now_is_the_time_in_the_verdict() -> None:
    bench = bench_with_task(telemetry={"deadline": "2026-01-01T00:00:10Z"})
    bench.verdict("miss", START_MS + 10_000)
    assert (bench.state, bench.row()["updatedAt"]) == ("QUEUED", START_MS + 10_000)


def test_a_verdict_that_is_none_is_for_the_dead_letters() -> None:
    bench = bench_with_task()
    with pytest.raises(ValueError, match="no verdict"):
        bench.verdict("maybe")


def test_a_hit_that_is_too_much_with_its_steps_is_told_without_them() -> None:
    constraints = {"constraints": ["No PII"]}
    bench = bench_with_task(constitutionalContext=constraints, telemetry={"trace": True})
    message = bench.hit_message(checks=[], violations=[], constitution=bench.row()["constitution"])
    bench.too_large(message, SAP_OUTCOMES, 10**8)
    last, meta = bench.last, bench.last["meta"]["headrace"]
    assert (last["status"], last["output"]) == ("SUCCEEDED", "as before")
    assert (meta["rule"], meta["omitted"]) == ("cache_hit", {"steps": 2})
    assert "steps" not in meta
    assert (bench.state, bench.row()["hitVersion"]) == ("SUCCEEDED", 1)


@pytest.mark.parametrize("mode", ["prefer", "only"])
def test_a_hit_that_no_outcome_can_hold_counts_as_none(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = bench_with_task(mode)
    monkeypatch.setattr(StepWork, "savepoint", lambda work, part: TooLarge(SAP_OUTCOMES, 10**8))
    bench.too_large(bench.hit_message(), SAP_OUTCOMES, 10**8)
    row = bench.row()
    assert (row["cacheState"], row["hitVersion"], row["flightLeader"]) == ("missed", None, False)
    if mode == "prefer":
        assert (row["state"], row["dispatched"], len(bench.inbox())) == ("QUEUED", True, 1)
        assert bench.outcomes() == []
    else:
        error = bench.last["error"]
        assert (row["state"], error["code"], bench.inbox()) == ("FAILED", "CACHE_MISS", [])
        assert error["details"]["verdict"] == "hit"
        assert "100000000 bytes on sap.outcomes" in error["details"]["reason"]
        assert bench.last["meta"]["headrace"]["rule"] == "cache_only_miss"


@pytest.mark.parametrize("failure", [TooLarge(SAP_OUTCOMES, 10**8), ValueError("it is broken")])
def test_what_else_fails_is_not_hidden(failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_with_task()
    monkeypatch.setattr(StepWork, "savepoint", lambda work, part: failure)
    with pytest.raises(ValueError, match=r"sap\.outcomes|it is broken"):
        bench.too_large(bench.answer("miss"), SAP_OUTCOMES, 10**8)
    assert bench.row()["cacheState"] == "lookup"
