"""The interpreter, on a machine of its own."""

from __future__ import annotations

from enum import StrEnum

from topology.machine import ANY, define, step


class Door(StrEnum):
    OPEN = "OPEN"
    SHUT = "SHUT"
    BRICKED_UP = "BRICKED_UP"
    BURNT = "BURNT"


DOORS = define(
    "door",
    Door.OPEN,
    {
        Door.OPEN: {"push": Door.SHUT},
        Door.SHUT: {"pull": Door.OPEN, "burn": Door.SHUT},
        Door.BRICKED_UP: {},
        Door.BURNT: {},
    },
    anywhere={"burn": Door.BURNT, "brick": Door.BRICKED_UP},
    sealed=frozenset({Door.BURNT}),
)


def test_an_exact_edge_is_taken() -> None:
    assert step(DOORS, Door.OPEN, "push") is Door.SHUT


def test_no_edge_gives_none() -> None:
    assert step(DOORS, Door.OPEN, "pull") is None


def test_an_unknown_event_gives_none() -> None:
    assert step(DOORS, Door.OPEN, "knock") is None


def test_the_edge_of_any_state_is_taken_where_no_exact_one_is() -> None:
    assert step(DOORS, Door.OPEN, "burn") is Door.BURNT


def test_an_exact_edge_goes_before_that_of_any_state() -> None:
    assert step(DOORS, Door.SHUT, "burn") is Door.SHUT


def test_terminal_states_are_left_by_the_edges_of_any_state_only() -> None:
    assert step(DOORS, Door.BRICKED_UP, "pull") is None
    assert step(DOORS, Door.BRICKED_UP, "burn") is Door.BURNT


def test_a_sealed_state_is_never_left() -> None:
    assert all(step(DOORS, Door.BURNT, event) is None for event in DOORS.events)


def test_states_may_be_given_as_plain_strings() -> None:
    assert step(DOORS, "OPEN", "push") is Door.SHUT


def test_terminal_states_are_those_with_an_empty_row() -> None:
    assert DOORS.terminal == {Door.BRICKED_UP, Door.BURNT}


def test_an_ended_state_may_have_edges_back_to_it() -> None:
    lamp = define("lamp", "on", {"on": {"off": "dark"}, "dark": {"off": "dark"}}, ended={"dark"})
    assert lamp.terminal == {"dark"}
    assert step(lamp, "dark", "off") == "dark"


def test_events_are_listed_once() -> None:
    assert DOORS.events == ("push", "pull", "burn", "brick")
    assert (ANY, "burn") in DOORS.edges
