"""The machines of tasks and flights against the guide's tables: every pair of state and event."""

from __future__ import annotations

from itertools import product

import pytest

from topology.machine import step
from topology.machines import sap_flight, sap_task
from topology.machines.sap_task import TaskEvent, TaskState

REPORTED = """
state    QUEUED RUNNING PARTIAL SUCCEEDED FAILED ESCALATED CANCELLED
QUEUED   ✗      RUNNING ✗       SUCCEEDED FAILED ESCALATED CANCELLED
RUNNING  ✗      RUNNING PARTIAL SUCCEEDED FAILED ESCALATED CANCELLED
PARTIAL  ✗      RUNNING ✗       SUCCEEDED FAILED ESCALATED CANCELLED
"""
"""That a RUNNING task stays so with new metrics only is the processor's to see to."""
OPEN = ("QUEUED", "RUNNING", "PARTIAL")
MOVES = {
    "accepted": (("none",), "QUEUED"),
    "cache_hit": (("QUEUED",), "SUCCEEDED"),
    "precheck_refused": (("QUEUED",), "FAILED"),
    "cache_only_miss": (("QUEUED",), "FAILED"),
    "precheck_escalated": (("QUEUED",), "ESCALATED"),
    "deadline_passed": (OPEN, "FAILED"),
    "alignment_refused": (OPEN, "FAILED"),
    "alignment_escalated": (OPEN, "ESCALATED"),
    "cancelled_by_signal": (OPEN, "CANCELLED"),
}


def expected() -> dict[tuple[str, str], str]:
    """The guide's tables, written down here a second time."""
    rows = [line.split() for line in REPORTED.strip().splitlines()]
    statuses = rows[0][1:]
    edges = {
        (row[0], status): target
        for row in rows[1:]
        for status, target in zip(statuses, row[1:], strict=True)
        if target != "✗"
    }
    for event, (states, target) in MOVES.items():
        edges |= {(state, event): target for state in states}
    return edges


@pytest.mark.parametrize(("state", "event"), list(product(TaskState, TaskEvent)))
def test_each_pair_of_state_and_event_of_a_task(state: str, event: str) -> None:
    assert step(sap_task.MACHINE, state, event) == expected().get((state, event))


def test_four_states_are_ends() -> None:
    assert sap_task.MACHINE.terminal == {"SUCCEEDED", "FAILED", "CANCELLED", "ESCALATED"}


def test_queued_is_no_agents_report() -> None:
    assert "QUEUED" not in set(TaskEvent)


@pytest.mark.parametrize(
    ("state", "event"), list(product(sap_flight.FlightState, sap_flight.FlightEvent))
)
def test_each_pair_of_state_and_event_of_a_flight(state: str, event: str) -> None:
    opens = (state, event) == ("absent", "led")
    ends = state == "open" and event != "led"
    assert step(sap_flight.MACHINE, state, event) == (
        "open" if opens else "absent" if ends else None
    )
