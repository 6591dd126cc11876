"""A deadline that passes: by its timer, or by whatever comes first; past ones; late ones."""

from __future__ import annotations

import pytest

from tests.unit.protocols.sap.processor.support import (
    START_MS,
    TASK,
    Bench,
    derived,
    result,
    signal,
    task,
    uuid,
)
from topology.core import RTES_RAW
from topology.sap import SAP_LEARNING_SIGNALS

DUE = START_MS + 10_000
SOON = {"deadline": "2026-01-01T00:00:10Z"}
PAST = {"deadline": "2025-12-31T23:59:59Z"}


def begun(mode: str | None = None) -> Bench:
    bench = Bench()
    bench.task(task(mode, telemetry=SOON))
    return bench


def timed_out(bench: Bench) -> bool:
    return [o["meta"]["headrace"]["rule"] for o in bench.outcomes()].count("deadline_passed") == 1


def test_the_timer_fires_one_millisecond_after_the_deadline() -> None:
    bench = begun()
    assert bench.row()["accepted"]["deadlineAt"] == DUE
    assert bench.advance_to(DUE) == []
    sent = bench.advance_to(DUE + 1)
    cause = f"timer/0/sap.task-states/{TASK}@{DUE + 1}"
    assert {one.cause for one in sent} == {cause}
    last = bench.last
    assert (last["status"], last["reportedAt"]) == ("FAILED", "2026-01-01T00:00:10Z")
    assert last["error"] == {
        "code": "TIMEOUT",
        "message": "The deadline 2026-01-01T00:00:10Z passed while the task was QUEUED.",
        "details": {"deadline": "2026-01-01T00:00:10Z", "state": "QUEUED"},
    }
    assert (last["meta"]["headrace"]["cause"], bench.row()["closedAt"]) == (cause, DUE + 1)
    assert bench.of(RTES_RAW, sent)[0].id == derived(cause, 0)
    assert bench.of(SAP_LEARNING_SIGNALS, sent)[0].id == derived(cause, 1)
    assert bench.timers == {}


def test_an_outage_does_not_move_the_deadline_but_the_time_of_its_outcome() -> None:
    bench = begun()
    bench.fire(DUE + 60_000)
    assert bench.last["reportedAt"] == "2026-01-01T00:01:10Z"
    assert bench.last["meta"]["headrace"]["cause"].endswith(f"@{DUE + 1}")


@pytest.mark.parametrize("at", [DUE, DUE + 1])
def test_a_result_on_the_last_millisecond_is_in_time(at: int) -> None:
    bench = begun()
    ack = bench.result(result("SUCCEEDED"), at)
    in_time = at == DUE
    assert ack["rule"] == ("accepted" if in_time else "task_closed")
    assert (bench.state, timed_out(bench)) == ("SUCCEEDED" if in_time else "FAILED", not in_time)
    assert bench.timers == {}
    assert bench.advance_to(DUE + 10_000) == []
    assert bench.row()["outcomeSeq"] == 1


def test_the_outcome_is_the_late_results_the_ack_comes_after_it() -> None:
    bench = begun()
    ack = bench.result(result("SUCCEEDED"), DUE + 1)
    assert bench.last["meta"]["headrace"]["cause"] == ack["position"]
    assert bench.of(RTES_RAW)[-1].id == derived(ack["position"], 0)
    assert (ack["ackId"], ack["figures"]["deadline"]) == (
        derived(ack["position"], 2),
        SOON["deadline"],
    )


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("note", "accepted"),
        ("rating", "accepted"),
        ("approval", "accepted"),
        ("cancel", "task_closed"),
    ],
)
def test_a_late_signal_finds_the_task_closed(kind: str, rule: str) -> None:
    bench = begun()
    assert bench.signal(signal(kind), DUE + 1)["rule"] == rule
    assert (bench.state, timed_out(bench)) == ("FAILED", True)
    assert bench.row()["errorCode"] == "TIMEOUT"


def test_a_late_signal_of_a_stranger_finds_it_closed_as_well() -> None:
    bench = begun()
    stranger = signal("cancel", operator={"agentId": "B", "agentKind": "agent"})
    assert bench.signal(stranger, DUE + 1)["rule"] == "not_issuer"
    assert timed_out(bench)


@pytest.mark.parametrize("what", ["correlation", "duplicate", "shape"])
def test_what_is_refused_before_says_nothing_of_the_deadline(what: str) -> None:
    bench = begun()
    bench.result(result("RUNNING"))
    value = {
        "correlation": result("RUNNING", correlationId=uuid(1)),
        "duplicate": result("RUNNING"),
        "shape": result("RUNNING", reportedAt="x"),
    }[what]
    bench.result(value, DUE + 1)
    assert bench.state == "RUNNING"
    bench.advance_to(DUE + 1)
    assert (bench.state, timed_out(bench)) == ("FAILED", True)


@pytest.mark.parametrize(
    ("name", "ops"),
    [
        ("hit", ["READ"]),
        ("miss", ["READ", "RELEASE"]),
        ("waiting", ["READ", "RELEASE"]),
        ("released", ["READ"]),
    ],
)
def test_a_late_answer_of_the_cache(name: str, ops: list[str]) -> None:
    bench = begun("prefer")
    if name == "hit":
        bench.hit(at=DUE + 1)
    else:
        bench.verdict(name, DUE + 1, leader=name == "miss")
    assert (bench.state, timed_out(bench), bench.inbox()) == ("FAILED", True, [])
    assert [lookup["op"] for lookup in bench.lookups()] == ops


def test_a_deadline_ends_the_wait_for_another_task() -> None:
    bench = begun("prefer")
    bench.verdict("waiting", waitUntil=DUE)
    bench.advance_to(DUE + 1)
    assert [lookup["op"] for lookup in bench.lookups()] == ["READ", "RELEASE"]
    assert bench.verdict("wait_expired", DUE + 1) == []


def test_every_end_takes_the_timer_away() -> None:
    for status in ("SUCCEEDED", "FAILED", "CANCELLED", "ESCALATED"):
        bench = begun()
        assert len(bench.timers) == 1
        bench.result(result(status))
        assert bench.timers == {}


def test_a_deadline_that_is_now_is_not_past() -> None:
    bench = Bench()
    ack = bench.task(task(telemetry={"deadline": "2026-01-01T00:00:00Z"}))
    assert (ack["warnings"], ack["accepted"]["deadlineAt"]) == ([], "2026-01-01T00:00:00.000Z")
    bench.advance(1)
    assert timed_out(bench)


def test_a_past_deadline_is_not_enforced() -> None:
    bench = Bench()
    ack = bench.task(task(issuedAt="2025-12-31T00:00:00Z", telemetry=PAST))
    assert (ack["warnings"], ack["accepted"]["deadlineAt"]) == (["deadline_already_past"], None)
    assert (bench.timers, len(bench.inbox())) == ({}, 1)
    assert bench.row()["deadline"] == PAST["deadline"]
    assert bench.result(result("SUCCEEDED"), DUE)["rule"] == "accepted"


@pytest.mark.parametrize("mode", [None, "prefer"])
def test_a_past_deadline_ends_the_task_at_once_if_it_is_set_so(mode: str | None) -> None:
    bench = Bench(sap_past_deadline="timeout")
    ack = bench.task(task(mode, issuedAt="2025-12-31T00:00:00Z", telemetry=PAST))
    assert (ack["rule"], ack["warnings"]) == ("accepted", [])
    assert bench.moves() == [("none", "QUEUED"), ("QUEUED", "FAILED")]
    assert (timed_out(bench), bench.inbox(), bench.lookups(), bench.timers) == (True, [], [], {})
    assert bench.last["error"]["code"] == "TIMEOUT"


def test_a_timer_for_a_task_that_is_gone_does_nothing() -> None:
    bench = Bench()
    bench.timers[DUE + 1, "sap.deadline", uuid(1)] = {}
    assert bench.fire(DUE + 1) == []


def test_another_timer_is_an_error() -> None:
    bench = Bench()
    bench.timers[DUE + 1, "sap.other", uuid(1)] = {}
    with pytest.raises(ValueError, match=r"sap\.other"):
        bench.fire(DUE + 1)


def test_the_trace_goes_on_through_the_timer() -> None:
    parent = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    bench = Bench()
    bench.task(task(telemetry=SOON), headers=[("traceparent", parent)])
    assert {one.traceparent for one in bench.sent} == {parent}
    assert {one.traceparent for one in bench.advance_to(DUE + 1)} == {parent}
