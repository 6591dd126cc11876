"""Rewind commands against the protocol's table (4.6), written here once more."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from schemas import uuid5_url
from streams.protocols.saop.rtes.rewinds import rewind_key
from tests.unit.protocols.saop.rtes.support import START_MS, Bench, pulse, rewind, transition, uuid
from topology.saop import REWINDS, RTES_EVENTS, SAOP_REWIND_LOG, SAOP_REWINDS, SAOP_TASK_SIGNALS

PHASES = ["prepare", "apply", "confirm", "abort"]
LAPSE_MS = 600_000
TARGETED = ("prepare", "apply")

# How a rewind comes to stand in a state; `…` lets its time pass.
WAYS = {
    "none": [],
    "prepared": ["prepare"],
    "applied": ["prepare", "confirm"],
    "applied at once": ["apply"],
    "aborted": ["prepare", "abort"],
    "lapsed": ["prepare", "…"],
    "lapsed, aborted": ["prepare", "…", "abort"],
}
# What the same phase gets where it was not given before; where it was, the same command is a
# duplicate and any other one a conflict.
TABLE = {
    ("none", "prepare"): "rewind_prepared",
    ("none", "apply"): "rewind_applied",
    ("none", "confirm"): "rewind_unknown",
    ("none", "abort"): "rewind_unknown",
    ("prepared", "apply"): "rewind_conflict",
    ("prepared", "confirm"): "rewind_applied",
    ("prepared", "abort"): "rewind_aborted",
    ("applied", "apply"): "rewind_conflict",
    ("applied", "abort"): "rewind_already_applied",
    ("applied at once", "prepare"): "rewind_conflict",
    ("applied at once", "confirm"): "rewind_already_applied",
    ("applied at once", "abort"): "rewind_already_applied",
    ("aborted", "apply"): "rewind_conflict",
    ("aborted", "confirm"): "rewind_aborted",
    ("lapsed", "apply"): "rewind_conflict",
    ("lapsed", "confirm"): "rewind_lapsed",
    ("lapsed", "abort"): "rewind_aborted",
    ("lapsed, aborted", "apply"): "rewind_conflict",
    ("lapsed, aborted", "confirm"): "rewind_lapsed",
}
ACCEPTED = {
    ("none", "prepare"): "prepared",
    ("none", "apply"): "applied",
    ("prepared", "confirm"): "applied",
    ("prepared", "abort"): "aborted",
    ("lapsed", "abort"): "lapsed",
}


def story() -> Bench:
    """Task A with a commit, then B, then C: the protocol's worked example, sequences from 1."""
    bench = Bench()
    bench.walk("A", "PENDING", "IN_PROGRESS", "COMPLETED", first=1, git="5c0ffee")
    bench.walk("B", "PENDING", "IN_PROGRESS", "COMPLETED", first=10)
    bench.walk("C", "PENDING", "IN_PROGRESS", first=20)
    return bench


def give(bench: Bench, phase: str, n: int = 1, **members: Any) -> dict[str, Any]:
    task = "A" if phase in TARGETED else None
    return bench.order(rewind(n, phase, **({"task": task} | members)))


def come_to(state: str) -> Bench:
    bench = story()
    for phase in WAYS[state]:
        if phase == "…":
            bench.advance(LAPSE_MS)
        else:
            assert give(bench, phase)["verdict"] == "accepted"
    return bench


@pytest.mark.parametrize(("state", "phase"), list(product(WAYS, PHASES)))
@pytest.mark.parametrize("same", [True, False])
def test_every_state_of_a_rewind_answers_every_phase(state: str, phase: str, same: bool) -> None:
    bench = come_to(state)
    rows, events = bench.session(), len(bench.of(RTES_EVENTS))
    is_repeated = phase in WAYS[state]
    fact = give(bench, phase, requested_by="kim" if same else "lee")
    again = "rewind_duplicate" if same else "rewind_conflict"
    assert fact["rule"] == (again if is_repeated else TABLE[state, phase])
    accepted = not is_repeated and (state, phase) in ACCEPTED
    verdict = "accepted" if accepted else "duplicate" if is_repeated and same else "rejected"
    assert fact["verdict"] == verdict
    assert fact["fault"] == ("sender" if verdict == "rejected" else None)
    stands = state.partition(" at")[0].partition(",")[0]
    assert fact["state"] == (ACCEPTED[state, phase] if accepted else stands)
    if not accepted:
        assert fact["moved"] == [] == fact["unchanged"]
        assert bench.session() == rows
    if fact["rule"] != "rewind_applied":
        assert len(bench.of(RTES_EVENTS)) == events


def test_the_worked_example() -> None:
    bench = story()
    fact = give(bench, "apply")
    assert (fact["target_task_id"], fact["git_hash"], fact["cut_sequence"]) == ("A", "5c0ffee", 2)
    moves = [tuple(move.values()) for move in fact["moved"]]
    assert moves == [
        ("A", "COMPLETED", "IN_PROGRESS", 6),
        ("B", "COMPLETED", "PENDING", 7),
        ("C", "IN_PROGRESS", "PENDING", 8),
    ]
    assert (fact["first_sequence"], fact["last_sequence"], fact["unchanged"]) == (6, 8, [])
    events = [sent.value for sent in bench.of(RTES_EVENTS)][-3:]
    assert [e["payload"][1]["git_hash"] for e in events] == ["5c0ffee", None, None]
    assert {e["rule"] for e in events} == {"rewind"}
    assert {e["rewind_id"] for e in events} == {fact["rewind_id"]}
    assert {e["cause"] for e in events} == {"saop.rewinds/0/5"} == {fact["cause"]}
    assert bench.session()["active_tasks"] == ["A"]
    assert bench.session()["last_rewind"] == 8


def test_each_move_has_a_derived_id_a_signal_and_an_edge() -> None:
    bench = story()
    sent = bench.decide(bench.command(rewind(1, "apply", "A")))
    events = bench.of(RTES_EVENTS, sent)
    cause = events[0].cause
    derived = [uuid5_url(f"headrace:{cause}/{n}") for n in range(4)]
    assert [event.id for event in events] == derived[:3]
    assert bench.of(SAOP_REWIND_LOG, sent)[0].id == derived[3]
    signals = [one.value for one in bench.of(SAOP_TASK_SIGNALS, sent)]
    assert [(s["kind"], s["task_id"], s["rewind_id"]) for s in signals] == [
        ("rewound", task, uuid(9001)) for task in "ABC"
    ]
    edges = [s.value for s in sent if s.topic.name == "lineage.edges"]
    node = f"saop:rewind:{uuid(9001)}"
    assert [(e["from_node"], e["relation"], e["to_node"]) for e in edges] == [
        (node, "restores", "saop:task:A"),
        (node, "retracts", "saop:task:B"),
        (node, "retracts", "saop:task:C"),
    ]


def test_an_event_that_repeats_a_rewinds_id_is_a_known_one() -> None:
    bench = story()
    give(bench, "apply")
    made = bench.of(RTES_EVENTS)[-1].value
    event = transition(1, "X", "Y", event_id=made["event_id"])
    assert bench.rule(event) == "event_id_conflict"


def test_prepare_plans_and_confirm_moves() -> None:
    bench = story()
    plan = give(bench, "prepare")
    assert [(move["task_id"], move["sequence"]) for move in plan["moved"]] == [
        ("A", None),
        ("B", None),
        ("C", None),
    ]
    assert (plan["first_sequence"], plan["last_sequence"]) == (None, None)
    bench.recorded(transition(30, "IN_PROGRESS", "FAILED", task="C"))
    fact = give(bench, "confirm")
    states = [(move["task_id"], move["from_state"]) for move in fact["moved"]]
    assert states == [("A", "COMPLETED"), ("B", "COMPLETED"), ("C", "FAILED")], "as they are then"
    assert bench.known_task("C")["rewind_id"] == uuid(9001)


def test_what_is_in_its_state_already_is_unchanged_but_the_target_always_moves() -> None:
    bench = Bench()
    bench.walk("A", "PENDING", "IN_PROGRESS", first=1, git="aaaaaaa")
    bench.walk("B", "PENDING", "IN_PROGRESS", "PENDING", first=10)
    fact = give(bench, "apply")
    assert [move["task_id"] for move in fact["moved"]] == ["A"]
    assert fact["unchanged"] == ["B"]
    assert bench.known_task("B")["rewind_id"] is None
    assert bench.known_task("A")["state"] == "IN_PROGRESS"


def test_tasks_of_other_protocols_and_of_before_the_cut_stay() -> None:
    bench = Bench()
    bench.walk("Z", "PENDING", "IN_PROGRESS", "COMPLETED", first=1)
    bench.walk("A", "PENDING", "IN_PROGRESS", "COMPLETED", first=10, git="aaaaaaa")
    bench.recorded(transition(20, "X", "Y", task="A", origin="apc"))
    fact = give(bench, "apply")
    assert [move["task_id"] for move in fact["moved"]] == ["A"]
    assert bench.known_task("Z")["state"] == "COMPLETED"
    assert bench.known_task("A", origin="apc")["state"] == "Y"


def test_a_rewind_without_a_commit_goes_back_to_the_tasks_last_transition() -> None:
    bench = Bench()
    bench.walk("A", "PENDING", "IN_PROGRESS", first=1)
    bench.walk("B", "PENDING", "IN_PROGRESS", first=10)
    assert give(bench, "prepare", n=2)["rule"] == "task_without_hash"
    fact = give(bench, "apply")
    assert (fact["git_hash"], fact["cut_sequence"]) == (None, 1)
    assert [move["task_id"] for move in fact["moved"]] == ["A", "B"]
    assert bench.known_task("A")["head_hash"] is None


def test_the_head_goes_back_to_the_commit_and_forward_again() -> None:
    bench = Bench(rtes_profile="open")
    for n, git in enumerate(["aaaaaaa", "bbbbbbb", "ccccccc"], 1):
        bench.recorded(transition(n, "X", "X", task="A", git=git))
    bench.order(rewind(1, "apply", git="AAAAAAA"))
    task = bench.known_task("A")
    assert (task["head_hash"], task["head_sequence"], len(task["commits"])) == ("aaaaaaa", 1, 3)
    assert bench.order(rewind(2, "apply", "A"))["cut_sequence"] == 1
    bench.order(rewind(3, "apply", git="ccccccc"))
    task = bench.known_task("A")
    assert (task["head_hash"], task["head_sequence"]) == ("ccccccc", 3)


@pytest.mark.parametrize(
    ("git", "rule", "cut"),
    [
        ("5c0ffee1", "rewind_applied", 1),
        ("5C0FFEE", "rewind_applied", 1),
        ("5c0ffee1aaaa", "rewind_applied", 1),
        ("5c0ffe", "hash_unknown", None),
        ("", "hash_unknown", None),
        ("5c0ffee1b", "hash_unknown", None),
        ("abc1234", "hash_ambiguous", None),
        ("abc1234d", "rewind_applied", 2),
        ("deadbeef", "rewind_applied", 5),
        ("v1.0", "rewind_applied", 6),
        ("V1.0", "hash_unknown", None),
        ("v1.", "hash_unknown", None),
    ],
)
def test_a_hash_names_one_commit_or_none(git: str, rule: str, cut: int | None) -> None:
    bench = Bench(rtes_profile="open")
    hashes = ["5c0ffee1aa", "abc1234d", "abc1234e", "deadbee", "deadbeef01", "v1.0"]
    for n, git_hash in enumerate(hashes, 1):
        bench.recorded(transition(n, "X", "X", task=f"t{n % 2}", git=git_hash))
    fact = bench.order(rewind(1, "apply", git=git))
    assert (fact["rule"], fact["cut_sequence"]) == (rule, cut)


def test_one_rewind_of_a_session_is_prepared_at_a_time() -> None:
    bench = story()
    give(bench, "prepare")
    assert give(bench, "prepare", n=2)["rule"] == "rewind_in_progress"
    assert give(bench, "apply", n=2)["rule"] == "rewind_in_progress"
    give(bench, "abort")
    assert give(bench, "apply", n=2)["rule"] == "rewind_applied"


def test_what_is_unknown_is_named() -> None:
    bench = story()
    assert give(bench, "apply", session_id="s2")["rule"] == "session_unknown"
    fact = give(bench, "apply", task="D")
    assert (fact["rule"], fact["state"], fact["target_task_id"]) == ("task_unknown", "none", None)
    assert bench.row(REWINDS, rewind_key("s1", uuid(9001))) is None, "judged again if sent again"
    assert give(bench, "apply")["rule"] == "rewind_applied"


def test_a_prepared_rewind_lapses_at_its_time() -> None:
    bench = story()
    give(bench, "prepare")
    assert bench.advance(LAPSE_MS - 1) == []
    (lapse,) = bench.advance(1)
    fact = lapse.value
    assert (fact["phase"], fact["verdict"], fact["rule"], fact["state"]) == (
        "lapse",
        "accepted",
        "lapsed",
        "lapsed",
    )
    assert (fact["at"], fact["cause"]) == (START_MS + LAPSE_MS, "saop.rewinds/0/5")
    assert (fact["requested_by"], fact["target_task_id"]) == ("kim", "A")
    assert bench.session()["prepared_rewind"] is None
    assert give(bench, "apply", n=2)["rule"] == "rewind_applied"


def test_a_confirm_in_time_counts_and_one_too_late_does_not_although_no_timer_fired() -> None:
    for late, rules in ((0, ["rewind_applied"]), (1, ["lapsed", "rewind_lapsed"])):
        bench = story()
        give(bench, "prepare")
        at = START_MS + LAPSE_MS + late
        sent = bench.decide(bench.command(rewind(1, "confirm"), at=at))
        facts = bench.of(SAOP_REWIND_LOG, sent)
        assert [fact.value["rule"] for fact in facts] == rules
        assert len({fact.id for fact in facts}) == len(facts)
        assert not [key for key in bench.timers if key[1] == "rtes.rewind"]
        assert bench.advance(LAPSE_MS) == []


def test_ids_of_rewinds_are_compared_without_case_and_kept_as_first_sent() -> None:
    bench = story()
    upper = "ABCDEF00-0000-4000-8000-000000000001"
    give(bench, "prepare", rewind_id=upper)
    fact = give(bench, "confirm", rewind_id=upper.lower())
    assert (fact["rule"], fact["rewind_id"]) == ("rewind_applied", upper.lower())
    assert bench.of(RTES_EVENTS)[-1].value["rewind_id"] == upper


def test_rewinds_of_two_sessions_do_not_meet() -> None:
    bench = story()
    bench.recorded(transition(50, "PENDING", "IN_PROGRESS", task="A", git="1", session_id="s2"))
    give(bench, "prepare")
    assert give(bench, "apply", session_id="s2")["rule"] == "rewind_applied"
    assert give(bench, "confirm")["rule"] == "rewind_applied"


BROKEN = {
    "rewind_id_invalid": rewind(1, "apply", "A", rewind_id="a1"),
    "schema_invalid": rewind(1, "apply"),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_command_of_the_wrong_shape_is_refused(rule: str) -> None:
    fact = story().order(BROKEN[rule])
    assert (fact["verdict"], fact["rule"], fact["fault"]) == ("rejected", rule, "sender")


def test_both_targets_or_one_too_many_are_no_shape() -> None:
    bench = story()
    assert bench.order(rewind(1, "apply", "A", "5c0ffee"))["rule"] == "schema_invalid"
    assert bench.order(rewind(1, "confirm", "A"))["rule"] == "schema_invalid"


def test_a_command_under_another_key_or_partition_is_refused() -> None:
    bench = story()
    assert bench.order(rewind(1, "apply", "A"), key=b"x")["rule"] == "key_mismatch"
    spread = Bench(partitions=4)
    wrong = (spread.command(rewind(1, "apply", "A")).record.partition + 1) % 4
    assert spread.order(rewind(1, "apply", "A"), partition=wrong)["rule"] == "partition_mismatch"


def test_a_command_whose_outputs_are_too_large_moves_nothing() -> None:
    bench = story()
    message = bench.command(rewind(1, "apply", "A"))
    (sent,) = bench.too_large(message, RTES_EVENTS, 1 << 30)
    assert (sent.value["rule"], sent.value["fault"]) == ("output_too_large", "service")
    assert bench.session()["last_sequence"] == 5


def test_a_completed_task_may_be_taken_up_after_a_rewind() -> None:
    bench = story()
    reopen = transition(60, "COMPLETED", "PENDING", task="Z")
    bench.walk("Z", "PENDING", "IN_PROGRESS", "COMPLETED", first=50)
    assert bench.rule(reopen) == "rewind_required"
    bench.walk("Y", "PENDING", "IN_PROGRESS", first=70, git="1111111")
    assert (
        bench.order(rewind(1, "apply", "Y"))["cut_sequence"] == bench.session()["last_rewind"] - 1
    )
    assert bench.rule(reopen) == "edge"
    bench.walk("Z", "PENDING", "IN_PROGRESS", "COMPLETED", first=80)
    assert bench.rule(transition(90, "COMPLETED", "PENDING", task="Z")) == "rewind_required"


def test_a_rewind_clears_the_failures_of_what_it_moves() -> None:
    bench = Bench()
    bench.walk("A", "PENDING", "IN_PROGRESS", first=1, git="aaaaaaa")
    bench.walk("B", "PENDING", "IN_PROGRESS", "FAILED", "IN_PROGRESS", "FAILED", first=10)
    assert bench.known_task("B")["failures"] == 2
    give(bench, "apply")
    assert bench.known_task("B")["failures"] == 0
    assert bench.known_task("B")["first_failure_sequence"] is None


def test_events_and_commands_of_one_batch_meet_in_their_order() -> None:
    bench = Bench()
    first = bench.event(transition(1, "PENDING", "IN_PROGRESS", task="A", git="aaaaaaa"))
    second = bench.command(rewind(1, "apply", "A"))
    third = bench.event(pulse(2))
    sent = bench.decide(first, second, third)
    assert second.topic is SAOP_REWINDS
    assert [e.value["sequence"] for e in bench.of(RTES_EVENTS, sent)] == [1, 2, 3]


def test_a_session_of_many_tasks_is_found_whole() -> None:
    bench = Bench()
    bench.recorded(transition(0, "PENDING", "IN_PROGRESS", task="A", git="aaaaaaa"))
    for n in range(1, 150):
        bench.recorded(transition(n, "PENDING", "BLOCKED", task=f"t{n}"))
    fact = give(bench, "apply")
    assert [move["task_id"] for move in fact["moved"]] == ["A", *(f"t{n}" for n in range(1, 150))]
    assert bench.session()["tasks"] == 150
