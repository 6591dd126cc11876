"""The machines of ASAP against the spec's tables: every pair of state and event."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from topology.machine import Machine, step
from topology.machines import asap_admission, asap_call, asap_task

TASK = """
state          request   start   ask_input      pause  complete  fail   cancel    reject   time_out
none           submitted -       -              -      -         -      -         -        -
submitted      -         working -              -      -         -      cancelled rejected failed
working        -         -       input_required paused completed failed cancelled -        failed
input_required -         working -              -      -         -      cancelled -        failed
paused         -         working -              -      -         -      cancelled -        failed
"""
CALL = """
state  call  answer    time_out
none   open  -         -
open   -     answered  timed_out
"""
ADMISSION = """
state           ask_depth       ask_claim       admit     refuse   redirect
none            awaiting_depth  awaiting_claim  admitted  refused  -
awaiting_depth  -               awaiting_claim  admitted  refused  -
awaiting_claim  -               -               admitted  -        redirected
"""
"""The spec's tables, written down here a second time; states without a row are terminal."""
MACHINES: list[tuple[Machine[Any], str]] = [
    (asap_task.MACHINE, TASK),
    (asap_call.MACHINE, CALL),
    (asap_admission.MACHINE, ADMISSION),
]


def expected(table: str) -> dict[tuple[str, str], str]:
    head, *rows = [line.split() for line in table.strip().splitlines()]
    return {
        (row[0], event): target
        for row in rows
        for event, target in zip(head[1:], row[1:], strict=True)
        if target != "-"
    }


def pairs() -> list[tuple[Machine[Any], str, str, str]]:
    return [
        (machine, table, state, event)
        for machine, table in MACHINES
        for state, event in product(machine.states, machine.events)
    ]


@pytest.mark.parametrize(
    ("machine", "table", "state", "event"),
    pairs(),
    ids=[f"{machine.name}-{state}-{event}" for machine, _, state, event in pairs()],
)
def test_each_pair_of_state_and_event(
    machine: Machine[Any], table: str, state: str, event: str
) -> None:
    assert step(machine, state, event) == expected(table).get((state, event))


@pytest.mark.parametrize(("machine", "table"), MACHINES, ids=[m.name for m, _ in MACHINES])
def test_a_state_without_a_row_is_terminal(machine: Machine[Any], table: str) -> None:
    with_rows = {state for state, _ in expected(table)}
    assert machine.terminal == set(machine.states) - with_rows
    assert set(machine.events) == {event for _, event in expected(table)}
