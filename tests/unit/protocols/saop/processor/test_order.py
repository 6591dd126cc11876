"""The order of a task's turns: each row of the table of 4.1, by the machine and by figures."""

from __future__ import annotations

from collections.abc import Callable

import orjson
import pytest

from tests.unit.protocols.saop.processor.support import START_MS, Bench, derived, envelope
from topology.keys import split
from topology.machines.saop_turn import MACHINE, TurnEvent, TurnState
from topology.saop import SAOP_LOG, SAOP_TURN_HEADS, SAOP_TURNS_HELD, SAOP_VERDICTS

SECOND = 1000
NEW, HELD, LOGGED, MISSED = TurnState
DUE, AHEAD, CROWDED, WAITED, LATE = TurnEvent


def test_the_worked_example() -> None:
    bench = Bench()
    at = {index: START_MS + s * SECOND for index, s in {0: 0, 2: 1, 3: 2, 1: 5, 6: 10}.items()}
    rules = [bench.rule(envelope(index, task="paint-7"), at[index]) for index in (0, 2, 3, 1, 6)]
    assert rules == ["turn_logged", "turn_held", "turn_held", "turn_logged", "turn_held"]
    assert bench.logged("paint-7") == [0, 1, 2, 3]
    assert [value["held"] for value in bench.log("paint-7")] == [False, False, True, True]
    assert bench.gaps("paint-7") == []
    bench.advance_to(START_MS + 70 * SECOND - 1)
    assert bench.logged("paint-7") == [0, 1, 2, 3]
    bench.advance_to(START_MS + 70 * SECOND)
    assert bench.gaps("paint-7") == [(6, 4, 5, "time")]
    assert bench.log("paint-7")[-1]["at"] == START_MS + 70 * SECOND
    assert bench.log("paint-7")[-1]["received_at"] == at[6]
    head = bench.row(SAOP_TURN_HEADS, "paint-7")
    assert head is not None
    assert head["next"] == 7
    assert bench.rule(envelope(4, task="paint-7"), START_MS + 90 * SECOND) == "turn_late"


def state_of(bench: Bench, index: int) -> TurnState:
    if index in bench.logged():
        return LOGGED
    if f"t1/{index}" in bench.rows(SAOP_TURNS_HELD):
        return HELD
    head = bench.row(SAOP_TURN_HEADS, "t1")
    return MISSED if head is not None and index < head["next"] else NEW


EDGES: dict[tuple[TurnState, TurnEvent], Callable[[Bench], object]] = {
    (NEW, DUE): lambda bench: bench.rules(5),
    (NEW, AHEAD): lambda bench: bench.rules(5),
    (NEW, LATE): lambda bench: bench.rules(5),
    (HELD, DUE): lambda bench: bench.rules(4),
    (HELD, CROWDED): lambda bench: bench.rules(*range(100, 164)),
    (HELD, WAITED): lambda bench: bench.advance(60 * SECOND),
}
"""What makes turn 5 take each edge, from the places below."""

PLACES: dict[tuple[TurnState, TurnEvent], tuple[int, ...]] = {
    (NEW, DUE): (0, 1, 2, 3, 4),
    (NEW, AHEAD): (0, 1, 2),
    (NEW, LATE): (0, 7),
    (HELD, DUE): (0, 1, 2, 3, 5),
    (HELD, CROWDED): (0, 5),
    (HELD, WAITED): (0, 5),
}
"""The turns that came before."""


@pytest.mark.parametrize("edge", MACHINE.edges, ids="-".join)
def test_a_turn_takes_each_edge_of_its_machine(edge: tuple[TurnState, TurnEvent]) -> None:
    bench = Bench()
    bench.rules(*PLACES[edge])
    if edge == (NEW, LATE):
        bench.advance(60 * SECOND)
        assert bench.rule(envelope(5)) == "turn_late"
        assert 5 not in bench.logged()
        return
    assert state_of(bench, 5) is edge[0]
    EDGES[edge](bench)
    assert state_of(bench, 5) is MACHINE.edges[edge]


def test_a_turn_may_come_again() -> None:
    bench = Bench()
    bench.rules(0, 2)
    first = [sent.value for sent in bench.of(SAOP_VERDICTS)]
    for index, verdict in ((0, first[0]), (2, first[1])):
        known = {"known_hash": verdict["canonical_hash"], "position": verdict["cause"]}
        assert bench.figures(envelope(index)) == ("turn_duplicate", known)
        assert bench.figures(envelope(index, thought="other")) == ("turn_conflict", known)
    assert bench.logged() == [0]
    assert bench.rules(1) == ["turn_logged"]
    assert [value["turn"]["content"]["thought"] for value in bench.log()] == ["so"] * 3


def test_the_first_turn_is_held_however_high_and_later_ones_are_not() -> None:
    bench = Bench(saop_max_ahead=10)
    assert bench.figures(envelope(5000)) == ("turn_held", {"next": 0})
    assert bench.figures(envelope(3)) == ("turn_held", {"next": 0})
    assert bench.rules(0) == ["turn_logged"]
    assert bench.figures(envelope(11)) == ("turn_held", {"next": 1})
    assert bench.figures(envelope(12)) == ("turn_too_far", {"next": 1, "limit": 10})
    bench.advance(60 * SECOND)
    assert bench.logged() == [0, 3, 11, 5000]
    assert bench.figures(envelope(5012)) == ("turn_too_far", {"next": 5001, "limit": 10})
    assert bench.figures(envelope(9)) == ("turn_late", {"next": 5001})


def test_a_refused_turn_is_kept_in_full_and_changes_nothing() -> None:
    bench = Bench()
    bench.rules(0, 2)
    bench.advance(60 * SECOND)
    before = dict(bench.tables["saop-turns"])
    verdict = bench.judge(envelope(1, thought="a" * 100_000))
    assert (verdict["rule"], verdict["disposition"]) == ("turn_late", "none")
    turn_json = orjson.loads(verdict["turn_json"])
    assert turn_json["content"]["thought"] == "a" * 100_000
    assert bench.tables["saop-turns"] == before


def test_the_65th_held_turn_releases_the_lowest_run() -> None:
    bench = Bench()
    bench.rules(0)
    indexes = [*range(3, 6), *range(10, 71)]
    assert set(bench.rules(*indexes)) == {"turn_held"}
    assert bench.logged() == [0]
    verdict = bench.judge(envelope(200))
    assert (verdict["rule"], verdict["disposition"]) == ("turn_held", "held")
    assert bench.logged() == [0, 3, 4, 5]
    assert bench.gaps() == [(3, 1, 2, "count")]
    assert len(bench.timers) == 62


def test_the_newcomer_may_be_of_the_lowest_run_itself() -> None:
    bench = Bench()
    assert set(bench.rules(*range(2, 130, 2))) == {"turn_held"}
    verdict = bench.judge(envelope(1))
    assert (verdict["rule"], verdict["disposition"]) == ("turn_held", "held")
    assert bench.logged() == [1, 2]
    assert bench.gaps() == [(1, 0, 0, "count")]
    assert [value["held"] for value in bench.log()] == [True, True]


def test_a_timer_names_every_hole_below_its_turn_and_takes_the_run_behind_it() -> None:
    bench = Bench()
    bench.rules(0)
    bench.rules(9)
    bench.advance(SECOND)
    bench.rules(3, 6, 10, 11, 13)
    bench.advance(59 * SECOND)
    assert bench.logged() == [0, 3, 6, 9, 10, 11]
    assert bench.gaps() == [(3, 1, 2, "time"), (6, 4, 5, "time"), (9, 7, 8, "time")]
    bench.advance(SECOND)
    assert bench.gaps()[-1] == (13, 12, 12, "time")
    assert not bench.timers


def test_timers_of_one_tick_fire_by_due_time_then_index() -> None:
    bench = Bench()
    for at, index in ((0, 100), (0, 9), (1, 5), (2, 3)):
        bench.rule(envelope(index), START_MS + at)
    armed = [(due - START_MS - 60_000, int(split(key)[1])) for due, _, key in sorted(bench.timers)]
    assert armed == [(0, 9), (0, 100), (1, 5), (2, 3)]
    bench.fire(START_MS + 60 * SECOND + 5)
    assert bench.gaps() == [
        (3, 0, 2, "time"),
        (5, 4, 4, "time"),
        (9, 6, 8, "time"),
        (100, 10, 99, "time"),
    ]


def test_no_timer_is_left_of_a_turn_that_is_logged() -> None:
    bench = Bench()
    bench.rules(2, 1)
    assert len(bench.timers) == 2
    bench.rules(0)
    assert not bench.timers
    assert not bench.rows(SAOP_TURNS_HELD)


def test_a_turn_whose_time_is_up_is_released_before_a_later_record_is_judged() -> None:
    bench = Bench()
    bench.rules(0, 2)
    assert bench.rule(envelope(1), START_MS + 60 * SECOND + 1) == "turn_late"
    assert bench.gaps() == [(2, 1, 1, "time")]
    assert not bench.timers


def test_a_turn_that_comes_at_the_very_end_of_the_time_is_in_time() -> None:
    bench = Bench()
    bench.rules(0, 2)
    assert bench.rule(envelope(1), START_MS + 60 * SECOND) == "turn_logged"
    assert bench.gaps() == []


def test_what_a_held_turn_gives_rise_to_derives_from_its_own_record() -> None:
    bench = Bench()
    parents = [b"00-" + b"%032x" % n + b"-00f067aa0ba902b7-01" for n in (1, 2)]
    bench.rule(envelope(1), headers=[("traceparent", parents[0]), ("headrace-dropped-keys", b"4")])
    sent = bench.decide(
        bench.turn(envelope(0), START_MS + 7, headers=[("traceparent", parents[1])])
    )
    (verdict,), (first, second) = bench.of(SAOP_VERDICTS, sent), bench.of(SAOP_LOG, sent)
    assert verdict.id == derived("saop.turns/0/1", 0)
    assert (first.id, first.cause) == (derived("saop.turns/0/1", 1), "saop.turns/0/1")
    assert (second.id, second.cause) == (derived("saop.turns/0/0", 1), "saop.turns/0/0")
    assert (second.at, second.traceparent) == (START_MS + 7, parents[0])
    assert second.value["received_at"] == START_MS
    assert second.value["dropped_keys"] == 4


def test_tasks_do_not_wait_for_each_other() -> None:
    bench = Bench()
    assert bench.rule(envelope(1, task="a")) == "turn_held"
    assert bench.rule(envelope(0, task="a/1")) == "turn_logged"
    assert bench.rule(envelope(0, task="")) == "turn_logged"
    assert bench.rule(envelope(0, task="a%2F1")) == "turn_logged"
    assert (bench.logged("a"), bench.logged("a/1"), bench.logged("")) == ([], [0], [0])
