"""Every pair of a state and a status, and every move of the service (SAP guide, 4).

The pairs are made from the machine's table, which is compared with the guide's own.
"""

from __future__ import annotations

from itertools import product

import pytest

from schemas.sap import rules
from tests.unit.protocols.sap.processor.support import Bench, Json, result, signal, task
from topology.machine import step
from topology.machines.sap_task import MACHINE, TaskEvent, TaskState

STATUSES = ("QUEUED", "RUNNING", "PARTIAL", "SUCCEEDED", "FAILED", "ESCALATED", "CANCELLED")
SPEC = {
    "QUEUED": "-       RUNNING -       SUCCEEDED FAILED ESCALATED CANCELLED",
    "RUNNING": "-       RUNNING PARTIAL SUCCEEDED FAILED ESCALATED CANCELLED",
    "PARTIAL": "-       RUNNING -       SUCCEEDED FAILED ESCALATED CANCELLED",
}
OPEN = tuple(SPEC)
ENDS = tuple(sorted(MACHINE.terminal))


def at(state: str) -> Bench:
    """A bench whose task is in this state."""
    bench = Bench()
    bench.task()
    way = {"QUEUED": [], "RUNNING": ["RUNNING"], "PARTIAL": ["RUNNING", "PARTIAL"]}
    for n, status in enumerate(way.get(state, [state])):
        assert bench.result(result(status, metrics={"step": n}))["rule"] == "accepted"
    assert bench.state == state
    return bench


def report(status: str) -> Json:
    return result(status, metrics={"step": 99})


def test_the_machine_is_the_specs() -> None:
    for state, row in SPEC.items():
        targets = [None if word == "-" else word for word in row.split()]
        assert [step(MACHINE, state, status) for status in STATUSES] == targets
    assert set(ENDS) == {"SUCCEEDED", "FAILED", "CANCELLED", "ESCALATED"}
    assert set(MACHINE.states) == {*SPEC, *ENDS, "none"}


@pytest.mark.parametrize(("state", "status"), list(product(OPEN, STATUSES)))
def test_an_agents_status(state: str, status: str) -> None:
    bench = at(state)
    before, moves = bench.stored(), bench.moves()
    target = step(MACHINE, state, status)
    ack = bench.result(report(status))
    if target is None:
        assert (ack["rule"], ack["figures"]) == (
            "illegal_transition",
            {"state": state, "status": status},
        )
        assert (bench.stored(), bench.moves()) == (before, moves)
        return
    assert (ack["rule"], bench.state, bench.last["status"]) == ("accepted", target, target)
    assert bench.moves()[len(moves) :] == ([] if target == state else [(state, target)])
    assert (bench.row()["closedAt"] is not None) == (target in ENDS)


@pytest.mark.parametrize(("state", "status"), list(product(ENDS, STATUSES)))
def test_nothing_leaves_an_end(state: str, status: str) -> None:
    bench = at(state)
    before, outcomes = bench.stored(), bench.outcomes()
    ack = bench.result(report(status))
    assert (ack["rule"], ack["code"]) == ("task_closed", "UNPROCESSABLE")
    assert (bench.stored(), bench.outcomes()) == (before, outcomes)


@pytest.mark.parametrize("state", OPEN)
@pytest.mark.parametrize("rule", ["deadline_passed", "cancelled_by_signal"])
def test_the_service_ends_any_open_task(state: str, rule: str) -> None:
    bench = Bench()
    bench.task(task(telemetry={"deadline": "2026-01-01T00:00:10Z"}))
    for n, status in enumerate(
        {"RUNNING": ["RUNNING"], "PARTIAL": ["RUNNING", "PARTIAL"]}.get(state, [])
    ):
        bench.result(result(status, metrics={"step": n}))
    if rule == "deadline_passed":
        bench.advance(10_001)
    else:
        bench.signal(signal("cancel"))
    target = step(MACHINE, state, rule)
    assert bench.last["meta"]["headrace"]["rule"] == rule
    assert (bench.state, bench.last["status"], bench.moves()[-1]) == (
        target,
        target,
        (state, target),
    )


@pytest.mark.parametrize(("status", "state"), [("SUCCEEDED", "QUEUED"), ("RUNNING", "RUNNING")])
def test_a_refused_answer_moves_to_failed(status: str, state: str) -> None:
    bench = Bench()
    bench.task(task(constitutionalContext={"constraints": ["No PII"]}))
    if state == "RUNNING":
        bench.result(result("RUNNING"))
    bench.result(result(status, output="ana@example.org", metrics={"n": 1}))
    assert (bench.state, bench.moves()[-1]) == ("FAILED", (state, "FAILED"))
    assert bench.last["meta"]["headrace"]["rule"] == "alignment_refused"


def test_every_event_of_the_machine_is_a_status_or_a_rule() -> None:
    codes = {rule.code for rule in rules.ALL}
    assert {*TaskEvent} <= {*STATUSES, *codes}
    assert {*TaskState} == set(MACHINE.states)


@pytest.mark.parametrize(
    ("before", "now", "legal"),
    [
        (None, None, False),
        (None, {}, False),
        (None, {"n": 1}, True),
        ({"n": 1}, None, False),
        ({"n": 1}, {"n": 1}, False),
        ({"n": 1, "m": 2}, {"m": 2.0, "n": 1}, False),
        ({"n": 1}, {"n": 2}, True),
        ({"n": 1}, {}, True),
    ],
)
def test_running_again_is_progress(before: Json | None, now: Json | None, legal: bool) -> None:
    bench = Bench()
    bench.task()
    bench.result(result("RUNNING", metrics=before))
    moves = bench.moves()
    ack = bench.result(result("RUNNING", metrics=now, meta={"again": True}))
    assert ack["rule"] == ("accepted" if legal else "illegal_transition")
    assert bench.moves() == moves
    assert len(bench.outcomes()) == (2 if legal else 1)


def test_progress_is_told_by_the_last_accepted_result() -> None:
    bench = Bench()
    bench.task()
    for metrics, rule in [({"n": 1}, "accepted"), ({"n": 2}, "accepted"), ({"n": 1}, "duplicate")]:
        assert bench.result(result("RUNNING", metrics=metrics))["rule"] == rule
    back = result("RUNNING", metrics={"n": 1}, meta={"back": True})
    assert bench.result(back)["rule"] == "accepted"
