"""The session machine against the protocol's table, written down here a second time."""

from __future__ import annotations

from itertools import product

import pytest

from topology.machine import ANY, step
from topology.machines.apc_inter import MACHINE, InterEvent, InterState

TABLE = """
SESSION_OPEN             research_briefs_dispatched  DIFFERENTIATED_RESEARCH
DIFFERENTIATED_RESEARCH  all_swarms_ready            INDEPENDENT_DISCOVERY
INDEPENDENT_DISCOVERY    generation_window_open      SELECTIVE_TRANSFER
SELECTIVE_TRANSFER       transfer_accepted           CONTROLLED_CONVERGENCE
CONTROLLED_CONVERGENCE   candidate_pool_ready        ARBITRATION
ARBITRATION              decision_committed          EXECUTION
EXECUTION                artifact_and_eval_emitted   VALIDATION
VALIDATION               validation_pass             PROMOTION
VALIDATION               validation_fail_or_drift    INDEPENDENT_DISCOVERY
PROMOTION                commons_commit_complete     CLOSED
"""
EXACT = {(s, e): target for s, e, target in (line.split() for line in TABLE.strip().splitlines())}
ENDS = {"CLOSED", "HALTED"}
STOP = "stop_signal_or_budget_exhausted"
STATES = {state for state, _ in EXACT} | ENDS
EVENTS = {event for _, event in EXACT} | {STOP}


def expected(state: str, event: str) -> str | None:
    if event == STOP:
        return None if state in ENDS else "HALTED"
    return EXACT.get((state, event))


@pytest.mark.parametrize(("state", "event"), sorted(product(STATES, EVENTS)))
def test_every_state_answers_every_event_as_the_protocol_says(state: str, event: str) -> None:
    assert step(MACHINE, state, event) == expected(state, event)


def test_the_states_and_events_are_those_of_the_protocol() -> None:
    assert set(MACHINE.states) == set(InterState) == STATES
    assert set(MACHINE.events) == set(InterEvent) == EVENTS


def test_it_begins_open_and_ends_closed_or_halted() -> None:
    assert (MACHINE.name, MACHINE.initial) == ("apc-inter", "SESSION_OPEN")
    assert MACHINE.terminal == MACHINE.sealed == ENDS
    assert {event for state, event in MACHINE.edges if state == ANY} == {STOP}
