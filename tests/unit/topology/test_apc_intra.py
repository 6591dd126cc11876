"""The agent machine against the protocol's table, written down here a second time."""

from __future__ import annotations

from itertools import product

import pytest

from topology.machine import ANY, step
from topology.machines.apc_intra import MACHINE, IntraEvent, IntraState

TABLE = """
LOCAL_IDLE      task_assigned             CONTEXT_SYNC
CONTEXT_SYNC    context_complete          IDEA_SYNTHESIS
IDEA_SYNTHESIS  idea_packet_ready         SELF_CRITIQUE
SELF_CRITIQUE   critique_pass             LOCAL_BUILD
SELF_CRITIQUE   critique_fail             IDEA_SYNTHESIS
LOCAL_BUILD     artifact_local_ready      LOCAL_VERIFY
LOCAL_VERIFY    local_checks_pass         PUBLISH
LOCAL_VERIFY    local_checks_fail         IDEA_SYNTHESIS
PUBLISH         packet_emitted            WAIT_FOR_ACK
WAIT_FOR_ACK    ack_accepted              LOCAL_IDLE
WAIT_FOR_ACK    ack_rejected_or_deferred  IDEA_SYNTHESIS
"""
EXACT = {(s, e): target for s, e, target in (line.split() for line in TABLE.strip().splitlines())}
CANCEL = "cancel_or_error"
STATES = {state for state, _ in EXACT} | {"LOCAL_HALT"}
EVENTS = {event for _, event in EXACT} | {CANCEL}


def expected(state: str, event: str) -> str | None:
    if event == CANCEL:
        return None if state == "LOCAL_HALT" else "LOCAL_HALT"
    return EXACT.get((state, event))


@pytest.mark.parametrize(("state", "event"), sorted(product(STATES, EVENTS)))
def test_every_state_answers_every_event_as_the_protocol_says(state: str, event: str) -> None:
    assert step(MACHINE, state, event) == expected(state, event)


def test_the_states_and_events_are_those_of_the_protocol() -> None:
    assert set(MACHINE.states) == set(IntraState) == STATES
    assert set(MACHINE.events) == set(IntraEvent) == EVENTS


def test_it_rests_at_its_beginning_and_ends_only_when_halted() -> None:
    assert (MACHINE.name, MACHINE.initial) == ("apc-intra", "LOCAL_IDLE")
    assert MACHINE.terminal == MACHINE.sealed == {"LOCAL_HALT"}
    assert {event for state, event in MACHINE.edges if state == ANY} == {CANCEL}
