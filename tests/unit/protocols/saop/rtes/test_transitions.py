"""The table of checks, and the row that recorded transitions make."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from streams.errors import SettingsError
from streams.protocols.saop.rtes.transitions import COMMITS, first_profile
from streams.protocols.saop.settings import TASK_PROFILES
from streams.settings import Settings
from tests.unit.protocols.saop.rtes.support import START_MS, Bench, transition
from topology.machines.task_profiles import PROFILES, PROTOCOLS

# The protocol's table of the profile `devs`, written out once more: one row per state left, one
# column per state entered.  `y` is an edge, `g` an edge that needs a commit.
COLUMNS = ["PENDING", "IN_PROGRESS", "BLOCKED", "PAUSED", "FAILED", "COMPLETED", "SKIPPED"]
GRID = {
    "PENDING": "- y y - - - y",
    "IN_PROGRESS": "y - y y y y -",
    "BLOCKED": "y y - - y - y",
    "PAUSED": "- y - - y - -",
    "FAILED": "y y - - - - -",
    "COMPLETED": "g - - - - - -",
    "SKIPPED": "y - - - - - -",
}
EXPECTED = {
    (source, target): mark
    for source, marks in GRID.items()
    for target, mark in zip(COLUMNS, marks.split(), strict=True)
}
WAY_TO = {
    "PENDING": ["IN_PROGRESS", "PENDING"],
    "IN_PROGRESS": ["IN_PROGRESS"],
    "BLOCKED": ["BLOCKED"],
    "PAUSED": ["IN_PROGRESS", "PAUSED"],
    "FAILED": ["IN_PROGRESS", "FAILED"],
    "COMPLETED": ["IN_PROGRESS", "COMPLETED"],
    "SKIPPED": ["SKIPPED"],
}


def expected_rule(source: str, target: str, git: str | None) -> str:
    match EXPECTED[source, target]:
        case "y":
            return "edge"
        case "g":
            return "edge" if git else "rewind_required"
    return "illegal_transition"


def standing_in(state: str, **settings: Any) -> Bench:
    """A bench whose task t1 has come to a state."""
    bench = Bench(**settings)
    here = "PENDING"
    for n, there in enumerate(WAY_TO[state], 1000):
        assert bench.rule(transition(n, here, there)) == "edge"
        here = there
    return bench


@pytest.mark.parametrize(("source", "target"), list(product(COLUMNS, COLUMNS)))
@pytest.mark.parametrize("git", [None, "", "5c0ffee"])
def test_a_first_transition_is_judged_from_the_state_it_names(
    source: str, target: str, git: str | None
) -> None:
    bench = Bench()
    rule = expected_rule(source, target, git)
    assert bench.rule(transition(1, source, target, git=git)) == rule
    assert (bench.task() is not None) == (rule == "edge")


@pytest.mark.parametrize(("row", "source", "target"), list(product(COLUMNS, COLUMNS, COLUMNS)))
def test_a_later_transition_must_leave_the_state_of_the_row(
    row: str, source: str, target: str
) -> None:
    for git in (None, "5c0ffee"):
        bench = standing_in(row)
        rule = expected_rule(source, target, git) if row == source else "from_state_mismatch"
        assert bench.rule(transition(1, source, target, git=git)) == rule
        task = bench.known_task()
        assert task["state"] == (target if rule == "edge" else row)


def figures(bench: Bench, *args: Any, **more: Any) -> Any:
    sent = bench.judge(transition(*args, **more))
    return sent.value["rule"], json.loads(sent.value["figures_json"])


def test_each_refusal_records_the_figures_it_rests_on() -> None:
    bench = standing_in("COMPLETED")
    expected = {"state": "COMPLETED", "to_state": "PAUSED", "allowed": ["PENDING"]}
    assert figures(bench, 1, "COMPLETED", "paused") == ("illegal_transition", expected)
    expected = {"state": "COMPLETED", "to_state": "PENDING", "allowed": ["PENDING"]}
    assert figures(bench, 2, "completed", "PENDING") == ("rewind_required", expected)
    expected = {"state": "COMPLETED", "from_state": "FAILED"}
    assert figures(bench, 3, "FAILED", "PENDING") == ("from_state_mismatch", expected)
    expected = {"unknown": "REOPENED", "profile": "devs"}
    assert figures(bench, 4, "COMPLETED", "REOPENED") == ("unknown_state", expected)
    expected = {"unknown": "NEW", "profile": "devs"}
    assert figures(bench, 5, "NEW", "PENDING", task="t2") == ("unknown_state", expected)


def test_states_are_compared_and_kept_in_upper_case() -> None:
    bench = Bench()
    recorded = bench.judge(transition(1, "pending", "In_Progress")).value
    assert recorded["payload"][1]["from_state"] == "PENDING"
    assert recorded["payload"][1]["to_state"] == "IN_PROGRESS"
    assert bench.rule(transition(2, "in_progress", "blocked")) == "edge"
    task = bench.known_task()
    assert (task["previous_state"], task["state"]) == ("IN_PROGRESS", "BLOCKED")


def test_only_ascii_letters_are_folded() -> None:
    bench = Bench(rtes_profile="open")
    bench.judge(transition(1, "a", "stra\u00dfe"))
    task = bench.known_task()
    assert task["state"] == "STRA\u00dfE"
    assert bench.rule(transition(2, "STRASSE", "b")) == "from_state_mismatch"
    assert bench.rule(transition(3, "Stra\u00dfe", "b")) == "open_profile"


def test_a_foreign_vocabulary_puts_the_task_under_open_for_good() -> None:
    bench = Bench()
    first = bench.judge(transition(1, "queued", "running")).value
    assert (first["rule"], first["profile"]) == ("open_profile", "open")
    assert first["flags"] == ["unknown_states"]
    second = bench.judge(transition(2, "RUNNING", "PENDING")).value
    assert (second["rule"], second["profile"], second["flags"]) == ("open_profile", "open", [])
    assert bench.rule(transition(3, "PENDING", "PENDING")) == "open_profile"
    assert bench.rule(transition(4, "IN_PROGRESS", "PENDING")) == "from_state_mismatch"


def test_another_protocols_transitions_are_kept_as_sent() -> None:
    bench = Bench()
    first = bench.judge(transition(1, "none", "SESSION_open", origin="apc")).value
    assert (first["rule"], first["profile"]) == ("other_protocol", "apc")
    assert (first["task_id"], first["origin"], first["flags"]) == ("t1", "apc", [])
    task = bench.known_task(origin="apc")
    assert (task["task_id"], task["state"]) == ("t1", "SESSION_open")
    jump = bench.judge(transition(2, "session_open", "CLOSED", origin="apc")).value
    assert (jump["rule"], jump["flags"]) == ("other_protocol", ["discontinuity"])
    assert bench.task() is None


def test_a_task_named_like_another_protocols_cannot_move_it() -> None:
    bench = Bench()
    assert bench.rule(transition(1, "none", "OPEN", origin="apc")) == "other_protocol"
    assert bench.rule(transition(2, "OPEN", "CLOSED", task="apc:t1")) == "unknown_state"
    assert bench.rule(transition(3, "PENDING", "BLOCKED", task="apc:t1")) == "from_state_mismatch"
    assert bench.rule(transition(4, "PENDING", "BLOCKED", task="apc:t2")) == "edge"
    taken = bench.judge(transition(5, "none", "OPEN", task="t2", origin="apc")).value
    assert (taken["profile"], taken["flags"]) == ("apc", [])
    task = bench.known_task(task="t2", origin="apc")
    assert (task["origin"], task["transitions"], task["first_sequence"]) == ("apc", 1, 3)


def test_the_longest_prefix_of_the_task_id_names_its_profile() -> None:
    settings = {"RTES_PROFILES": "x-=open,x-y-=devs", "RTES_PROFILE": "devs"}
    assert first_profile("x-1", None, settings).name == "open"
    assert first_profile("x-y-1", None, settings).name == "devs"
    assert first_profile("y", None, settings).name == "devs"
    assert first_profile("x-1", "sap", settings).name == "sap"


@pytest.mark.parametrize("text", ["x", "x=none", "x=apc", "x-=devs,y"])
def test_a_profile_that_no_setting_may_name_is_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        first_profile("x", None, {"RTES_PROFILES": text, "RTES_PROFILE": "devs"})
    with pytest.raises(SettingsError, match="HEADRACE_RTES_PROFILES"):
        Settings.load({"HEADRACE_RTES_PROFILES": text})


def test_a_profile_is_checked_before_any_record_is_read() -> None:
    with pytest.raises(SettingsError, match="HEADRACE_RTES_PROFILE is one of devs, open"):
        Settings.load({"HEADRACE_RTES_PROFILE": "sap"})
    settings = Settings.load({"HEADRACE_RTES_PROFILES": "x-=open,x-y-=devs,"})
    assert settings.rtes_profiles == "x-=open,x-y-=devs,"


def test_a_setting_may_name_every_profile_of_no_protocol() -> None:
    assert set(TASK_PROFILES) == PROFILES.keys() - PROTOCOLS.keys()


def fail(bench: Bench, n: int, state: str = "FAILED") -> list[str]:
    bench.judge(transition(2 * n, state, "IN_PROGRESS"))
    flags: list[str] = bench.judge(transition(2 * n + 1, "IN_PROGRESS", "FAILED")).value["flags"]
    return flags


def test_the_fifth_failure_is_escalated_once() -> None:
    bench = Bench()
    flags = [fail(bench, n, "PENDING" if n == 0 else "FAILED") for n in range(7)]
    assert flags == [[], [], [], [], ["escalated"], [], []]
    task = bench.known_task()
    assert (task["failures"], task["failures_escalated"]) == (7, True)
    assert task["first_failure_sequence"] == 2


@pytest.mark.parametrize(("cure", "left"), [("COMPLETED", 0), ("PAUSED", 0)])
def test_done_and_leaving_a_pause_clear_the_failures(cure: str, left: int) -> None:
    bench = Bench()
    for n in range(5):
        fail(bench, n, "PENDING" if n == 0 else "FAILED")
    bench.judge(transition(100, "FAILED", "IN_PROGRESS"))
    bench.judge(transition(101, "IN_PROGRESS", cure))
    task = bench.known_task()
    assert task["failures"] == (0 if cure == "COMPLETED" else 5)
    bench.judge(transition(102, cure, "PENDING" if cure == "COMPLETED" else "IN_PROGRESS", git="1"))
    task = bench.known_task()
    assert (task["failures"], task["failures_escalated"]) == (left, False)
    assert task["first_failure_sequence"] is None


def test_a_pause_that_ends_in_failure_leaves_one() -> None:
    bench = Bench()
    for n in range(3):
        fail(bench, n, "PENDING" if n == 0 else "FAILED")
    bench.judge(transition(100, "FAILED", "IN_PROGRESS"))
    bench.judge(transition(101, "IN_PROGRESS", "PAUSED"))
    bench.judge(transition(102, "PAUSED", "FAILED"))
    task = bench.known_task()
    assert (task["failures"], task["first_failure_sequence"]) == (1, 9)


def test_a_pause_that_goes_on_clears_nothing() -> None:
    bench = Bench(rtes_profile="open")
    for n, target in enumerate(["FAILED", "PAUSED", "paused"]):
        bench.judge(transition(n, ["X", "FAILED", "PAUSED"][n], target))
    assert bench.known_task()["failures"] == 1
    bench.judge(transition(3, "PAUSED", "SUCCESS"))
    assert bench.known_task()["failures"] == 0


def test_a_row_keeps_its_latest_commits() -> None:
    bench = Bench(rtes_profile="open")
    for n in range(COMMITS + 6):
        bench.judge(transition(n, "A", "A", git=f"{n:07x}"))
    bench.judge(transition(999, "A", "B", git=""))
    task = bench.known_task()
    assert [commit["sequence"] for commit in task["commits"]] == list(range(7, COMMITS + 7))
    newest = {"git_hash": "0000045", "sequence": 70, "to_state": "A", "at": START_MS}
    assert task["commits"][-1] == newest
    assert (task["head_hash"], task["head_sequence"]) == ("0000045", 70)
    assert (task["transitions"], task["last_sequence"]) == (COMMITS + 7, 71)
