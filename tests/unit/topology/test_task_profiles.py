"""The vocabularies of task states."""

from __future__ import annotations

from importlib.resources import files
from itertools import product

import pytest

from topology.machines.task_profiles import (
    DEVS,
    OPEN,
    PROFILES,
    PROTOCOLS,
    Checks,
    Guard,
    Profile,
    parse,
)

TARGETS = {
    "PENDING": ["IN_PROGRESS", "SKIPPED", "BLOCKED"],
    "IN_PROGRESS": ["COMPLETED", "FAILED", "BLOCKED", "PAUSED", "PENDING"],
    "BLOCKED": ["PENDING", "IN_PROGRESS", "SKIPPED", "FAILED"],
    "PAUSED": ["IN_PROGRESS", "FAILED"],
    "FAILED": ["PENDING", "IN_PROGRESS"],
    "COMPLETED": ["PENDING"],
    "SKIPPED": ["PENDING"],
}


@pytest.mark.parametrize(("source", "target"), list(product(TARGETS, TARGETS)))
def test_devs_has_exactly_the_edges_of_the_protocol(source: str, target: str) -> None:
    assert DEVS.is_edge(source, target) == (target in TARGETS[source])


@pytest.mark.parametrize("source", TARGETS)
def test_allowed_targets_come_in_declared_order(source: str) -> None:
    assert DEVS.targets(source) == TARGETS[source]


def test_only_reopening_what_was_completed_is_guarded() -> None:
    guarded = [(edge.source, edge.target) for edge in DEVS.edges if edge.guard]
    assert guarded == [("COMPLETED", "PENDING")]
    assert DEVS.guard("COMPLETED", "PENDING") is Guard.REWIND_REQUIRED
    assert DEVS.guard("FAILED", "PENDING") is None
    assert DEVS.guard("COMPLETED", "IN_PROGRESS") is None


def test_devs_declares_its_states_and_lists_within_them() -> None:
    assert set(DEVS.states) == set(TARGETS)
    assert DEVS.active == {"IN_PROGRESS"}
    assert DEVS.failure == {"FAILED"}
    assert DEVS.done == {"COMPLETED", "SKIPPED"}
    assert DEVS.paused == {"PAUSED"}
    assert (DEVS.rewind_target, DEVS.rewind_later) == ("IN_PROGRESS", "PENDING")


def test_every_devs_state_can_be_reached_and_left() -> None:
    assert {target for state in DEVS.states for target in DEVS.targets(state)} == set(DEVS.states)
    assert all(DEVS.targets(state) for state in DEVS.states)


def test_names_are_folded_by_ascii_only() -> None:
    assert DEVS.normalise("in_Progress") == "IN_PROGRESS"
    assert OPEN.normalise("straße") == "STRAßE"
    assert PROTOCOLS["apc"].normalise("Session_Open") == "Session_Open"


def test_a_vocabulary_knows_its_own_states_and_an_open_one_all() -> None:
    assert DEVS.knows("PAUSED")
    assert not DEVS.knows("RUNNING")
    assert OPEN.knows("ANYTHING")


def test_open_takes_every_step_and_adds_two_words() -> None:
    assert OPEN.checks is Checks.CONTINUITY
    assert OPEN.is_edge("A", "B")
    assert OPEN.guard("COMPLETED", "PENDING") is None
    assert OPEN.active == DEVS.active | {"RUNNING"}
    assert OPEN.done == DEVS.done | {"SUCCESS"}
    assert (OPEN.failure, OPEN.paused) == (DEVS.failure, DEVS.paused)
    assert OPEN.rewind_target == DEVS.rewind_target
    assert OPEN.rewind_later == DEVS.rewind_later


@pytest.mark.parametrize("origin", ["apc", "asap", "otel", "sap", "summit"])
def test_the_profiles_of_protocols_check_nothing_and_list_nothing(origin: str) -> None:
    profile = PROTOCOLS[origin]
    assert profile == Profile(origin, Checks.NONE, fold_case=False)
    assert profile.is_edge("anything", "else")


def test_every_data_file_is_a_profile_of_its_own_name() -> None:
    assert all(name == profile.name for name, profile in PROFILES.items())
    directory = files("topology.machines") / "profiles"
    stems = {entry.name.removesuffix(".toml") for entry in directory.iterdir()}
    assert stems == set(PROFILES)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES.keys())
def test_what_a_profile_lists_is_known_to_it(profile: Profile) -> None:
    ends = {end for edge in profile.edges for end in edge[:2]}
    lists = profile.active | profile.failure | profile.done | profile.paused
    rewinds = {name for name in (profile.rewind_target, profile.rewind_later) if name}
    assert all(profile.knows(name) for name in ends | lists | rewinds)
    assert all(profile.normalise(name) == name for name in ends | lists | rewinds)
    assert not [edge for edge in profile.edges if edge.source == edge.target]


def test_a_rewind_puts_a_task_in_one_state_only() -> None:
    text = 'name = "x"\nchecks = "none"\nfold_case = false\nrewind_target = ["A", "B"]\n'
    with pytest.raises(ValueError, match="one state"):
        parse(text)


def test_an_unknown_guard_is_refused() -> None:
    text = (
        'name = "x"\nchecks = "edges"\nfold_case = false\n'
        'edges = [{ from = "A", to = "B", guard = "moon_is_full" }]\n'
    )
    with pytest.raises(ValueError, match="moon_is_full"):
        parse(text)
