from __future__ import annotations

import pytest

from streams.engine.records import TopicPartition
from streams.errors import ViewNotReady
from streams.view_store.offset_waiters import Ends, OffsetWaiters
from streams.views.positions import Position

FACTS, STATES = TopicPartition("facts", 0), TopicPartition("states", 0)
FIRST, SECOND = Position("packets", 0, 1), Position("packets", 0, 2)


class Fake:
    """last_answered: the last offset of packets/0 that was.  at: where the view stands."""

    def __init__(self, last_answered: int = -1, at: int = 0) -> None:
        self.last_answered = last_answered
        self.at = at

    def has_answer(self, position: Position) -> bool:
        return position.offset <= self.last_answered

    def short_of(self, ends: Ends) -> int:
        return sum(max(0, end - self.at) for end in ends.values())


def serve(waiters: OffsetWaiters, view: Fake, end: int) -> int:
    """Ask for the ends, for all who are due; how many they are."""
    due = waiters.due(0)
    waiters.passing(due, {0: {FACTS: end, STATES: end}}, view)
    return len(due)


def test_without_an_answer_nobody_is_due() -> None:
    waiters, view = OffsetWaiters(), Fake()
    waiters.attach(view)
    done = waiters.add(FIRST)
    assert serve(waiters, view, 0) == 0
    assert not done.done()


def test_an_answer_alone_is_not_enough() -> None:
    waiters, view = OffsetWaiters(), Fake(last_answered=1, at=5)
    waiters.attach(view)
    done = waiters.add(FIRST)
    assert serve(waiters, view, 7) == 1
    view.at = 6
    waiters.check()
    assert not done.done()
    view.at = 7
    waiters.check()
    assert done.result(0) is None


def test_one_question_serves_all_who_are_due() -> None:
    waiters, view = OffsetWaiters(), Fake(last_answered=2, at=7)
    waiters.attach(view)
    done = [waiters.add(position) for position in (FIRST, SECOND, FIRST)]
    assert serve(waiters, view, 7) == 3
    assert [each.done() for each in done] == [True] * 3
    assert serve(waiters, view, 7) == 0


def test_who_came_after_the_question_needs_another() -> None:
    waiters, view = OffsetWaiters(), Fake(last_answered=2, at=7)
    waiters.attach(view)
    waiters.add(FIRST)
    due = waiters.due(0)
    later = waiters.add(SECOND)
    waiters.passing(due, {0: {FACTS: 7}}, view)
    assert not later.done()
    assert serve(waiters, view, 7) == 1
    assert later.done()


def test_a_question_that_failed_is_asked_again() -> None:
    waiters, view = OffsetWaiters(), Fake(last_answered=1, at=7)
    waiters.attach(view)
    done, gone = waiters.add(FIRST), waiters.add(FIRST)
    due = waiters.due(0)
    gone.cancel()
    waiters.put_back(due)
    assert serve(waiters, view, 7) == 1
    assert done.done()


@pytest.mark.parametrize("passes_early", [False, True])
def test_what_another_view_had_seen_counts_no_more(passes_early: bool) -> None:
    waiters, before, after = OffsetWaiters(), Fake(last_answered=1, at=7), Fake()
    waiters.attach(before)
    done = waiters.add(FIRST)
    due = waiters.due(0)
    if passes_early:
        waiters.passing(due, {0: {FACTS: 9}}, before)
    waiters.attach(None)
    waiters.attach(after)
    if not passes_early:
        waiters.passing(due, {0: {FACTS: 7}}, before)
    before.at = 9
    waiters.check()
    assert not done.done()
    after.last_answered, after.at = 1, 7
    waiters.check()
    assert serve(waiters, after, 7) == 1
    assert done.done()


def test_who_waits_on_nothing_is_forgotten() -> None:
    waiters, view = OffsetWaiters(), Fake()
    waiters.attach(view)
    done = waiters.add(FIRST)
    done.cancel()
    view.last_answered = 0
    waiters.check()
    view.last_answered = 1
    waiters.check()
    assert serve(waiters, view, 0) == 0


def test_all_are_refused_when_it_closes() -> None:
    waiters, view = OffsetWaiters(), Fake(last_answered=1, at=0)
    waiters.attach(view)
    done = [waiters.add(FIRST), waiters.add(SECOND)]
    serve(waiters, view, 9)
    done.append(waiters.add(FIRST))
    waiters.close(ViewNotReady("the view is stopped"))
    done.append(waiters.add(FIRST))
    assert [type(each.exception(0)) for each in done] == [ViewNotReady] * 4
