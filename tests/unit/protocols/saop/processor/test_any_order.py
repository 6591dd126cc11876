"""Turns in any order, with resends, clashes and pauses: the log stays what the table says."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.engine.processor import AvroValue
from streams.protocols.saop.processor.ordering import Limits
from tests.examples import example_count
from tests.unit.protocols.saop.processor.model import Arrival, Line, Model
from tests.unit.protocols.saop.processor.support import START_MS, Bench, envelope
from topology.saop import SAOP_TURN_HEADS, SAOP_TURNS_HELD, SAOP_VERDICTS

NARROW = {"saop_hold_turns": 3, "saop_hold_s": 1, "saop_max_ahead": 8}
LIMITS = Limits(3, 1000, 8)


def make_turn(turn: Arrival) -> AvroValue:
    return envelope(turn.turn, thought=turn.text)


def lines(bench: Bench) -> list[Line]:
    """The log of the task as the model shows it."""
    entries = []
    for value in bench.log():
        turn, gap = value["turn"], value["gap"]
        named = gap and (gap["missing_from"], gap["missing_to"], gap["reason"])
        entries.append(Line(turn["turn_index"], turn["content"]["thought"], named, value["at"]))
    return entries


def rules(bench: Bench) -> list[str]:
    return [sent.value["rule"] for sent in bench.of(SAOP_VERDICTS)]


@st.composite
def histories(draw: st.DrawFn) -> list[Arrival]:
    """Arrivals in order of time; now and then much time passes."""
    at, arrivals = START_MS, []
    steps = st.sampled_from([0, 0, 1, 10, 400, 1000, 1001])
    for _ in range(draw(st.integers(0, 40))):
        at += draw(steps)
        arrivals.append(Arrival(at, draw(st.integers(0, 25)), draw(st.sampled_from("aab"))))
    return arrivals


@settings(max_examples=example_count(100), deadline=None)
@given(histories())
def test_the_table_is_followed_to_the_letter(history: list[Arrival]) -> None:
    bench, model = Bench(**NARROW), Model(LIMITS)
    for turn in history:
        bench.advance_to(turn.at - 1)
        bench.rule(make_turn(turn), turn.at)
        model.arrive(turn)
        assert len(bench.rows(SAOP_TURNS_HELD)) == len(model.due) <= LIMITS.hold_turns
    bench.advance(10_000)
    model.pass_to(START_MS + 10**9)
    assert rules(bench) == model.rules
    assert lines(bench) == model.log
    assert not bench.timers
    assert not bench.rows(SAOP_TURNS_HELD)


@settings(max_examples=example_count(60), deadline=None)
@given(histories())
def test_the_log_ascends_and_names_each_hole_once(history: list[Arrival]) -> None:
    bench = Bench(**NARROW)
    for turn in history:
        bench.rule(make_turn(turn), turn.at)
    bench.advance(10_000)
    upcoming = 0
    for line in lines(bench):
        assert line.gap is None or line.gap[:2] == (upcoming, line.turn - 1)
        assert (line.gap is None) == (line.turn == upcoming)
        upcoming = line.turn + 1
    assert len(rules(bench)) == len(history)
    assert all(value["at"] - value["received_at"] <= 1000 for value in bench.log())


@st.composite
def arrivals(draw: st.DrawFn) -> list[int]:
    """Turns 0 to n in any order, some of them more than once."""
    count = draw(st.integers(1, 40))
    order = draw(st.permutations(range(count)))
    again = draw(st.lists(st.integers(0, count - 1), max_size=10))
    line = list(order)
    for index in again:
        line.insert(draw(st.integers(0, len(line))), index)
    return line


@settings(max_examples=example_count(100), deadline=None)
@given(arrivals())
def test_any_order_of_arrival_gives_the_same_log(line: list[int]) -> None:
    bench = Bench()
    for index in line:
        bench.rule(envelope(index))
    count = max(line) + 1
    assert bench.logged() == list(range(count))
    assert bench.gaps() == []
    assert [value["turn"] for value in bench.log()] == [envelope(n) for n in range(count)]
    assert len(rules(bench)) == len(line)
    assert rules(bench).count("turn_duplicate") == len(line) - count


@settings(max_examples=example_count(100), deadline=None)
@given(histories(), st.lists(st.integers(0, 100), max_size=6))
def test_batches_do_not_matter(history: list[Arrival], cuts: list[int]) -> None:
    single, batched = Bench(**NARROW), Bench(**NARROW)
    for turn in history:
        single.decide(single.turn(make_turn(turn), turn.at))
    messages = [batched.turn(make_turn(turn), turn.at) for turn in history]
    places = sorted({0, len(messages), *(cut % (len(messages) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        batched.decide(*messages[start:end])
    assert batched.sent == single.sent
    assert batched.tables == single.tables
    assert batched.timers == single.timers


@settings(max_examples=example_count(100), deadline=None)
@given(histories())
def test_a_late_tick_changes_no_verdict(history: list[Arrival]) -> None:
    prompt, late = Bench(**NARROW), Bench(**NARROW)
    for turn in history:
        prompt.advance_to(turn.at - 1)
        prompt.rule(make_turn(turn), turn.at)
        late.rule(make_turn(turn), turn.at)
    in_time = lines(late)
    prompt.advance(10_000)
    late.fire(late.now + 10_000)
    assert rules(late) == rules(prompt)
    assert [line[:3] for line in lines(late)] == [line[:3] for line in lines(prompt)]
    assert lines(prompt)[: len(in_time)] == in_time
    assert late.rows(SAOP_TURN_HEADS) == prompt.rows(SAOP_TURN_HEADS)
