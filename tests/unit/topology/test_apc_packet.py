"""The packet machine against the protocol's table, written down here a second time."""

from __future__ import annotations

from itertools import product

import pytest

from topology.machine import ANY, step
from topology.machines.apc_packet import INIT, MACHINE, PacketEvent, PacketState

TABLE = """
DRAFT              emit                                NORMALIZED
NORMALIZED         schema_pass                         SCHEMA_VALIDATED
NORMALIZED         schema_fail                         REJECTED_SCHEMA
SCHEMA_VALIDATED   policy_pass                         POLICY_VALIDATED
SCHEMA_VALIDATED   policy_fail                         REJECTED_POLICY
POLICY_VALIDATED   route_selected                      ROUTED
ROUTED             delivery_ack                        DELIVERED
ROUTED             ttl_expired                         EXPIRED
DELIVERED          consumer_apply                      APPLIED
APPLIED            verification_pass                   VERIFIED
APPLIED            verification_fail                   REJECTED_POLICY
APPLIED            higher_conflict_resolution_arrived  SUPERSEDED
SUPERSEDED         supersession_recorded               ARCHIVED
VERIFIED           promotion_eligible                  PROMOTED
VERIFIED           non_promotable_complete             ARCHIVED
PROMOTED           persisted                           ARCHIVED
"""
EXACT = {(s, e): target for s, e, target in (line.split() for line in TABLE.strip().splitlines())}
TERMINAL = {"ARCHIVED", "REJECTED_SCHEMA", "REJECTED_POLICY", "EXPIRED", "RETRACTED"}
STATES = {state for state, _ in EXACT} | TERMINAL
EVENTS = {event for _, event in EXACT} | {"retraction_packet_received"}


def expected(state: str, event: str) -> str | None:
    if event == "retraction_packet_received":
        return None if state == "RETRACTED" else "RETRACTED"
    return EXACT.get((state, event))


@pytest.mark.parametrize(("state", "event"), sorted(product(STATES, EVENTS)))
def test_every_state_answers_every_event_as_the_protocol_says(state: str, event: str) -> None:
    assert step(MACHINE, state, event) == expected(state, event)


def test_the_states_and_events_are_those_of_the_protocol() -> None:
    assert set(MACHINE.states) == set(PacketState) == STATES
    assert set(MACHINE.events) == set(PacketEvent) == EVENTS


def test_it_begins_as_a_draft_and_ends_in_five_states() -> None:
    assert MACHINE.initial == "DRAFT"
    assert MACHINE.terminal == TERMINAL
    assert INIT not in MACHINE.events


def test_every_state_can_be_reached() -> None:
    reached, waiting = {MACHINE.initial}, [MACHINE.initial]
    while waiting:
        state = waiting.pop()
        targets = {step(MACHINE, state, event) for event in MACHINE.events} - {None}
        new = {PacketState(target) for target in targets if target} - reached
        reached |= new
        waiting += new
    assert reached == set(MACHINE.states)


def test_terminal_states_have_no_edge_of_their_own() -> None:
    assert not [edge for edge in MACHINE.edges if edge[0] in MACHINE.terminal]
    assert {event for state, event in MACHINE.edges if state == ANY} == {
        "retraction_packet_received"
    }


def walk(*events: str) -> list[str]:
    state, path = MACHINE.initial, [str(MACHINE.initial)]
    for event in events:
        target = step(MACHINE, state, event)
        assert target is not None, f"no edge for {event} in {state}"
        state = target
        path.append(str(state))
    return path


JUDGED = ("emit", "schema_pass", "policy_pass", "route_selected", "delivery_ack", "consumer_apply")


def test_the_plain_path_has_eight_transitions() -> None:
    path = walk(*JUDGED, "verification_pass", "non_promotable_complete")
    assert len(path) == 9
    assert path[-1] == "ARCHIVED"


def test_the_promoted_path_has_nine_transitions() -> None:
    path = walk(*JUDGED, "verification_pass", "promotion_eligible", "persisted")
    assert len(path) == 10
    assert path[-2:] == ["PROMOTED", "ARCHIVED"]


def test_a_superseded_packet_is_archived() -> None:
    path = walk(*JUDGED, "higher_conflict_resolution_arrived", "supersession_recorded")
    assert path[-2:] == ["SUPERSEDED", "ARCHIVED"]
