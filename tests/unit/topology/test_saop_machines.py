"""The machines of turns, calls, thoughts, rewinds and key blocks against the protocol's tables."""

from __future__ import annotations

from enum import StrEnum
from itertools import product
from typing import Any, NamedTuple

import pytest

from topology.machine import Machine, step
from topology.machines import rtes_call, rtes_key_block, rtes_thought, saop_rewind, saop_turn


class Case(NamedTuple):
    """A machine and the protocol's table of it, written down here a second time."""

    machine: Machine[Any]
    states: type[StrEnum]
    events: type[StrEnum]
    table: str


CASES = [
    Case(
        saop_turn.MACHINE,
        saop_turn.TurnState,
        saop_turn.TurnEvent,
        """
        NEW   due      LOGGED
        NEW   ahead    HELD
        NEW   late     MISSED
        HELD  due      LOGGED
        HELD  crowded  LOGGED
        HELD  waited   LOGGED
        """,
    ),
    Case(
        rtes_call.MACHINE,
        rtes_call.CallState,
        rtes_call.CallEvent,
        """
        none      invoked    open
        none      completed  unpaired
        open      completed  closed
        unpaired  invoked    closed
        """,
    ),
    Case(
        rtes_thought.MACHINE,
        rtes_thought.ThoughtState,
        rtes_thought.ThoughtEvent,
        """
        none  chunk        open
        none  final_chunk  closed
        open  chunk        open
        open  final_chunk  closed
        """,
    ),
    Case(
        saop_rewind.MACHINE,
        saop_rewind.RewindState,
        saop_rewind.RewindEvent,
        """
        none      prepare  prepared
        none      apply    applied
        prepared  confirm  applied
        prepared  abort    aborted
        prepared  lapse    lapsed
        lapsed    abort    lapsed
        """,
    ),
    Case(
        rtes_key_block.MACHINE,
        rtes_key_block.BlockState,
        rtes_key_block.BlockEvent,
        """
        closed  begin      open
        open    end        closed
        open    exhausted  closed
        open    expired    closed
        """,
    ),
]


def named(case: Case) -> str:
    return case.machine.name


@pytest.mark.parametrize("case", CASES, ids=named)
def test_every_state_answers_every_event_as_the_protocol_says(case: Case) -> None:
    rows = [line.split() for line in case.table.strip().splitlines()]
    table = {(state, event): target for state, event, target in rows}
    for state, event in product(case.states, case.events):
        assert step(case.machine, state, event) == table.get((state, event)), (state, event)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_states_and_events_are_all_in_the_table(case: Case) -> None:
    assert set(case.machine.states) == set(case.states)
    assert set(case.machine.events) == set(case.events)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_every_state_can_be_reached(case: Case) -> None:
    reached = {case.machine.initial, *case.machine.edges.values()}
    assert reached == set(case.states)


def test_what_is_over_is_terminal() -> None:
    ends = {case.machine.name: set(case.machine.terminal) for case in CASES}
    assert ends == {
        "saop-turn": {"LOGGED", "MISSED"},
        "rtes-call": {"closed"},
        "rtes-thought": {"closed"},
        "saop-rewind": {"applied", "aborted"},
        "rtes-key-block": set(),
    }
