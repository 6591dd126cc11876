"""A run's time, and what comes too late (Summit guide, 5.4, 5.5)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.summit.processor.support import START_MS, Bench, Json

DUE_MS = START_MS + 20_000


def begun(**more: Any) -> Bench:
    bench = Bench()
    bench.invoke(context={"budget": {"seconds": 20}}, **more)
    return bench


def test_the_timer_fires_at_the_first_tick_after_the_time() -> None:
    bench = begun()
    assert bench.fire(DUE_MS) == []
    bench.fire(DUE_MS + 700)
    fact = bench.facts()[-1]
    call = bench.run()["evidence"]["callPosition"]
    assert (fact["eventId"], fact["cause"]) == (f"{call}/timeout", call)
    assert fact["at"] == "2026-01-01T00:00:20.000Z", "when it was due, whenever it fires"
    assert fact["figures"] == {"dueAt": DUE_MS, "elapsed_ms": 20_000}
    assert (fact["verdict"], fact["fault"]) == ("fired", None)
    run = bench.run()
    assert run["finishedAt"] == run["updatedAt"] == fact["at"]
    assert run["error"] == {
        "code": -32013,
        "message": "budget.seconds: the time that the caller gave is over",
        "data": {"rule": "budget.seconds"},
    }
    assert bench.inbox()[-1]["delivery"]["reason"] == "budget.seconds"
    assert "reason" not in bench.inbox()[-1]["params"]


def test_the_services_own_time_fails_a_run() -> None:
    bench = Bench(summit_run_timeout_s=5)
    bench.invoke(context={"budget": {"usd": 1}})
    bench.advance_to(START_MS + 5_001)
    assert bench.facts()[-1]["rule"] == "run.timeout"
    assert (bench.state(), bench.run()["error"]["code"]) == ("failed", -32012)


@pytest.mark.parametrize("kind", ["progress", "result", "error"])
def test_a_reply_that_is_due_is_in_time(kind: str) -> None:
    bench = begun()
    assert bench.reply(kind, at=DUE_MS)["rule"] == f"reply.{kind}"


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("progress", "run.terminal"),
        ("result", "run.terminal"),
        ("error", "run.terminal"),
        ("verification", "judge.not_completed"),
    ],
)
def test_a_reply_that_is_late_ends_the_run_first(kind: str, rule: str) -> None:
    bench = begun()
    fact = bench.reply(kind, at=DUE_MS + 1)
    assert (fact["verdict"], fact["rule"], fact["runVersion"]) == ("rejected", rule, 2)
    timeout = bench.facts()[-2]
    call = bench.run()["evidence"]["callPosition"]
    assert timeout["eventId"] == f"{call}/timeout"
    assert timeout["cause"] == fact["cause"]
    assert timeout["at"] == fact["at"] == "2026-01-01T00:00:20.001Z"
    assert timeout["figures"] == {"dueAt": DUE_MS, "elapsed_ms": 20_001}
    assert bench.state() == "budget_exceeded"
    assert bench.advance_to(DUE_MS + 60_000) == [], "it times out once"
    assert bench.inbox()[-1]["delivery"]["kind"] == "stop"


def test_a_cancel_that_is_late_ends_the_run_first() -> None:
    bench = begun()
    refused = bench.cancel(at=DUE_MS + 1, caller="desk-8")
    assert (refused["rule"], bench.state()) == ("cancel.not_caller", "queued")
    assert bench.cancel(at=DUE_MS + 1)["rule"] == "run.terminal"
    assert bench.state() == "budget_exceeded"


UNTOUCHED: list[tuple[str, Json]] = [
    ("reply.agent", {"agentId": "other"}),
    ("reply.conflict", {"reply_id": "p1", "message": "other"}),
    ("reply.duplicate", {"reply_id": "p1"}),
]


@pytest.mark.parametrize(("rule", "more"), UNTOUCHED)
def test_what_is_decided_before_the_time_is_looked_at(rule: str, more: Json) -> None:
    bench = begun()
    bench.reply("progress", "p1")
    assert bench.reply("progress", at=DUE_MS + 5, **more)["rule"] == rule
    assert bench.state() == "running"


def test_the_cost_of_a_late_reply_stays_on_record() -> None:
    bench = begun()
    bench.cancel()
    fact = bench.reply("result", metrics={"tokens": 12, "cost_usd": 0.5})
    assert (fact["rule"], fact["figures"]) == ("run.terminal", {"tokens": 12, "cost_usd": 0.5})
    assert bench.run()["metrics"] == {"tokens": 0, "cost_usd": 0}
    assert bench.reply("result", metrics=None)["figures"] == {}
    assert bench.known() == set()


def test_repeating_a_call_does_not_end_its_run() -> None:
    bench = begun()
    again = bench.invoke(context={"budget": {"seconds": 20}}, at=DUE_MS + 5)
    assert (again["rule"], bench.state()) == ("call.duplicate", "queued")
