"""A task's time is over: by its timer, or by a record before it (ASAP guide, 5.4)."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import asap, uuid5_url
from tests.unit.protocols.asap.processor.support import (
    INDEXER,
    PLANNER,
    SERVICE,
    START_MS,
    Bench,
    Json,
    envelope,
)
from topology.asap import ASAP_INBOX
from topology.core import RTES_RAW

DUE = START_MS + 90_000
CAUSE = f"timer/task/T/{DUE}"


def bench_of(**more: Any) -> Bench:
    bench = Bench()
    bench.request(payload={"config": {"timeout_seconds": 90}}, trace_id="tr", **more)
    return bench


def timeouts(bench: Bench) -> list[Json]:
    return [fact for fact in bench.facts() if fact["kind"] == "timeout"]


def test_both_agents_are_told() -> None:
    bench = bench_of()
    bench.advance_to(DUE + 5000)
    (fact,) = timeouts(bench)
    assert (fact["event_id"], fact["cause"]) == (asap.derived_id(CAUSE, 0, DUE), CAUSE)
    assert (fact["verdict"], fact["fault"]) == (None, None)
    letters = bench.of(ASAP_INBOX)[-2:]
    assert [one.key for one in letters] == [PLANNER, INDEXER]
    assert [one.id for one in letters] == [asap.derived_id(CAUSE, n, DUE) for n in (2, 3)]
    letter = letters[0].json
    assert (letter["sender"], letter["correlation_id"], letter["trace_id"]) == (SERVICE, "T", "tr")
    assert (letter["timestamp"], letter["payload"]["status"]) == ("2026-01-01T00:01:30Z", "failed")
    assert letter["extensions"] == {
        asap.EXT_ERROR: {"code": "asap:execution/task_timeout", "message": fact["detail"]}
    }
    (event,) = [one for one in bench.of(RTES_RAW) if one.cause == CAUSE]
    assert event.id == uuid5_url(f"headrace:{CAUSE}/0")
    assert event.value["payload"][1]["to_state"] == "failed"


def test_a_record_on_time_counts_although_the_timer_is_late() -> None:
    bench = bench_of()
    assert bench.respond(at=DUE)["rule"] == "response_recorded"
    bench.advance_to(DUE + 1)
    assert timeouts(bench) == []


@pytest.mark.parametrize("kind", ["TaskUpdate", "TaskResponse", "TaskCancel", "StateRestore"])
def test_a_late_record_finds_the_task_ended(kind: str) -> None:
    bench = bench_of()
    say = bench.requester if kind == "TaskCancel" else bench.worker
    payload = {"snapshot_id": "s"} if kind == "StateRestore" else {}
    correlation = "T" if kind == "TaskResponse" else None
    fact = say(kind, payload, at=DUE + 1, correlation_id=correlation)
    assert (fact["rule"], fact["status"]) == ("task_already_terminal", "failed")
    (over,) = timeouts(bench)
    assert (over["cause"], over["at"]) == (CAUSE, "2026-01-01T00:01:30.000Z")
    assert bench.task()["cause"] == CAUSE
    assert bench.armed() == []
    bench.advance_to(DUE + 10)
    assert timeouts(bench) == [over]


def test_what_the_timer_and_a_late_record_bring_about_is_the_same() -> None:
    by_timer, by_record = bench_of(), bench_of()
    by_timer.advance_to(DUE)
    by_record.worker("ArtifactNotify", at=DUE + 1)
    by_timer.worker("ArtifactNotify", at=DUE + 1)
    assert by_timer.facts() == by_record.facts()
    assert by_timer.task() == by_record.task()
    assert by_timer.inbox(PLANNER) == by_record.inbox(PLANNER)


def test_an_agreeing_response_after_the_end_is_recorded() -> None:
    bench = bench_of()
    bench.advance_to(DUE)
    assert bench.respond("completed")["rule"] == "task_already_terminal"
    assert bench.respond("failed")["rule"] == "response_recorded"
    assert bench.task()["error_code"] == "asap:execution/task_timeout"


def test_a_pause_does_not_stop_the_clock() -> None:
    bench = bench_of()
    bench.update()
    bench.update("paused")
    bench.advance_to(DUE)
    assert bench.task()["status"] == "failed"


def test_a_timer_of_what_ended_does_nothing() -> None:
    bench = bench_of()
    armed = dict(bench.timers)
    bench.respond()
    sent = len(bench.sent)
    bench.timers = {key: data for key, data in armed.items() if key[1] == "task"}
    assert bench.advance_to(DUE) == []
    assert len(bench.sent) == sent


def test_a_timer_hands_the_trace_context_on() -> None:
    bench = Bench()
    value = envelope("TaskRequest", id="T", sender=PLANNER, recipient=INDEXER)
    bench.put(value, headers=[("traceparent", b"00-ab-cd-01")])
    assert {one.traceparent for one in bench.sent} == {b"00-ab-cd-01"}
    sent = bench.advance_to(START_MS + 600_000)
    assert [one.traceparent for one in bench.of(ASAP_INBOX, sent)] == [b"00-ab-cd-01"] * 2
