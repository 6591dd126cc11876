"""Agents are functions: what they return, raise and await becomes Results."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from schemas.sap import SapResult, SapTask
from tests.unit.sdk.local_bus.support import (
    CAPABILITY,
    BusBench,
    id_of,
    open_bus,
    result,
    signal,
    task,
)


def handled(handler: Any, **options: Any) -> BusBench:
    """A desk on which one agent has had one task."""
    at = BusBench(**options)
    at.bus.register("a", [CAPABILITY], handler)
    at.bus.dispatch(task())
    return at


def outcome_of(at: BusBench) -> SapResult:
    outcome = at.bus.outcome(id_of(1))
    assert outcome is not None
    return outcome


@pytest.mark.parametrize("value", [{"text": "x"}, [1, 2], "text", 0, False, 1.5, {}, (1, 2)])
def test_a_json_value_is_the_output_of_a_success(value: Any) -> None:
    outcome = outcome_of(handled(lambda task: value))
    assert (outcome.status, outcome.constitutionalEvidence.alignment) == ("SUCCEEDED", "VALID")
    assert outcome.output == (list(value) if isinstance(value, tuple) else value)
    assert outcome.producer.agentId == "a"
    assert outcome.reportedAt == "2026-01-01T00:00:00Z"


def test_null_is_a_success_without_output() -> None:
    outcome = outcome_of(handled(lambda task: None))
    assert (outcome.status, outcome.output) == ("SUCCEEDED", None)


def test_a_handler_is_given_the_task() -> None:
    tasks: list[SapTask] = []
    handled(tasks.append)
    assert tasks[0].to_json() == task()


def test_a_result_is_reported_as_it_is() -> None:
    made = result(output="x", metrics={"tokens": 3}, constitutionalEvidence={"alignment": "VALID"})
    outcome = outcome_of(handled(lambda task: SapResult.from_json(made)))
    assert (outcome.output, outcome.metrics) == ("x", {"tokens": 3})


@pytest.mark.parametrize(
    "exc", [ValueError("bad \ud800 luck"), RuntimeError(), KeyError("x" * 9999)]
)
def test_one_that_raises_has_failed(exc: Exception) -> None:
    def raising(task: SapTask) -> None:
        raise exc

    at = handled(raising)
    outcome = outcome_of(at)
    assert outcome.error is not None
    assert (outcome.status, outcome.error.code) == ("FAILED", "INTERNAL")
    assert outcome.error.details == {"rule": "handler_error"}
    assert type(exc).__name__ in (outcome.error.message or "")
    assert [ack["status"] for ack in at.of("ack")] == ["ACK", "ACK"]


@pytest.mark.parametrize(
    "value",
    [
        {1, 2},
        float("nan"),
        object(),
        b"bytes",
        {1: 2},
        "\ud800",
        2**60,
        "x" * 600_000,
        SapResult.from_json(result(status="FAILED")),
        SapResult.from_json({}),
        SapResult.from_json(result(constitutionalEvidence={"alignment": "ESCALATE"})),
    ],
)
def test_what_is_no_result_and_no_json_has_failed_too(value: Any) -> None:
    at = handled(lambda task: value)
    outcome = outcome_of(at)
    assert outcome.error is not None
    assert (outcome.status, outcome.error.code) == ("FAILED", "INTERNAL")
    assert [ack["status"] for ack in at.of("ack")] == ["ACK", "ACK"]


def test_a_handler_may_report_for_itself() -> None:
    with open_bus() as at:

        def working(task: SapTask) -> Any:
            assert at.bus.report(result(status="RUNNING")).rule == "accepted"
            at.bus.report(result(status="PARTIAL", output="half", nextActions=[{}]))
            return {"text": "whole"}

        at.bus.register("a", [CAPABILITY], working)
        at.bus.dispatch(task())
        outcomes = [(one.status, one.output) for one in at.bus.outcomes(id_of(1))]
        assert outcomes == [
            ("RUNNING", None),
            ("PARTIAL", "half"),
            ("SUCCEEDED", {"text": "whole"}),
        ]


def test_one_that_has_reported_and_returns_nothing_is_still_at_work() -> None:
    with open_bus() as at:

        def begin(task: SapTask) -> None:
            at.bus.report(result(status="RUNNING"))

        at.bus.register("a", [CAPABILITY], begin)
        at.bus.dispatch(task())
        assert at.status() == "RUNNING"
        at.bus.report(result(output=1))
        assert at.status() == "SUCCEEDED"


def test_a_handler_may_dispatch() -> None:
    with open_bus() as at:

        def delegating(parent: SapTask) -> Any:
            at.bus.dispatch(task(2, parentTaskId=parent.taskId, target={"capability": "sub.task"}))
            outcome = at.bus.outcome(id_of(2))
            return None if outcome is None else {"from": outcome.output}

        at.bus.register("a", [CAPABILITY], delegating)
        at.bus.register("b", ["sub.task"], lambda task: "b")
        at.bus.dispatch(task())
        assert outcome_of(at).output == {"from": "b"}


def test_manual_delivery_waits_until_it_is_asked_for() -> None:
    with open_bus(deliver="manual") as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        at.bus.dispatch(task(1))
        at.bus.dispatch(task(2))
        assert at.kinds().count("inbox") == 2
        assert at.status() is None
        assert at.bus.deliver_pending() == 2
        assert (at.status(1), at.status(2)) == ("SUCCEEDED", "SUCCEEDED")
        assert at.bus.deliver_pending() == 0


def test_async_handlers_are_awaited() -> None:
    async def slow(task: SapTask) -> Any:
        await asyncio.sleep(0)
        return {"of": task.taskId}

    async def run(at: BusBench) -> None:
        at.bus.register("a", [CAPABILITY], slow)
        await asyncio.gather(*(at.bus.dispatch_async(task(n)) for n in range(1, 6)))
        for n in range(1, 6):
            outcome = at.bus.outcome(id_of(n))
            assert outcome is not None
            assert outcome.output == {"of": id_of(n)}

    with open_bus() as at:
        asyncio.run(run(at))


def test_a_task_whose_handler_is_cancelled_waits_again() -> None:
    began, go = asyncio.Event(), asyncio.Event()

    async def slow(task: SapTask) -> Any:
        began.set()
        await go.wait()
        return {"of": task.taskId}

    async def run(at: BusBench) -> None:
        at.bus.register("a", [CAPABILITY], slow)
        dispatching = asyncio.create_task(at.bus.dispatch_async(task()))
        await began.wait()
        dispatching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dispatching
        assert at.bus.outcome(id_of(1)) is None
        go.set()
        assert await at.bus.deliver_pending_async() == 1
        outcome = at.bus.outcome(id_of(1))
        assert outcome is not None
        assert outcome.output == {"of": id_of(1)}

    with open_bus() as at:
        asyncio.run(run(at))


def test_async_handlers_that_raise_have_failed() -> None:
    async def raising(task: SapTask) -> Any:
        raise ValueError("no")

    with open_bus() as at:
        at.bus.register("a", [CAPABILITY], raising)
        asyncio.run(at.bus.dispatch_async(task()))
        assert at.status() == "FAILED"


def test_without_a_loop_async_handlers_run_to_their_end() -> None:
    class Agent:
        async def __call__(self, task: SapTask) -> Any:
            return "done"

    assert outcome_of(handled(Agent())).output == "done"
    assert outcome_of(handled(lambda task: Agent()(task))).output == "done"


def test_within_a_loop_they_wait_to_be_awaited() -> None:
    async def quick(task: SapTask) -> Any:
        return 1

    async def run(at: BusBench) -> None:
        at.bus.register("a", [CAPABILITY], quick)
        at.bus.dispatch(task())
        assert at.status() is None
        assert await at.bus.deliver_pending_async() == 1
        assert at.status() == "SUCCEEDED"

    with open_bus() as at:
        asyncio.run(run(at))


def test_plain_handlers_work_with_dispatch_async() -> None:
    with open_bus() as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        assert asyncio.run(at.bus.dispatch_async(task())).rule == "accepted"
        assert at.status() == "SUCCEEDED"


def test_a_task_that_was_cancelled_keeps_its_outcome() -> None:
    with open_bus(deliver="manual") as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        at.bus.dispatch(task())
        at.bus.signal(signal(1, "cancel"))
        at.bus.deliver_pending()
        assert at.status() == "CANCELLED"
        assert at.of("ack")[-1]["rule"] == "task_closed"
