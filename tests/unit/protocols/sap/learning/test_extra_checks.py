"""A check is added at a fifth of twenty, and removed after a hundred with at most one failure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.protocols.sap.learning.extra_checks import NEW, answers, count, derive, mark


def counted(passes: int, fails: int, counter: dict[str, Any] | None = None) -> dict[str, Any]:
    after = dict(counter or NEW)
    for failed in [False] * passes + [True] * fails:
        after = count(after, failed)
    return after


def in_force(counter: dict[str, Any]) -> bool:
    return derive({"x": counter}) == ["x"]


@pytest.mark.parametrize(
    ("n", "f", "added"),
    [(20, 4, True), (19, 19, False), (20, 3, False), (35, 8, True), (25, 5, True), (26, 5, False),
     (100, 20, True), (100, 19, False)],
)  # fmt: skip
def test_added_at_twenty_answers_of_which_a_fifth_failed(n: int, f: int, added: bool) -> None:
    assert in_force(counted(n - f, f)) is added


def test_the_example_of_the_spec() -> None:
    counter = counted(27, 8)
    assert in_force(counter)
    counter = mark(counter, True)
    assert in_force(counted(98, 1, counter))
    after = counted(99, 1, counter)
    assert after == NEW
    assert not in_force(after)


@pytest.mark.parametrize(("f", "stays"), [(0, False), (1, False), (2, True), (50, True)])
def test_each_hundred_is_judged_by_itself(f: int, stays: bool) -> None:
    active = mark(counted(0, 20), True)
    once = counted(100 - f, f, active)
    assert in_force(once) is stays
    if stays:
        assert (once["sinceN"], once["sinceF"]) == (0, 0)
        assert in_force(counted(99, 0, once))
        assert not in_force(counted(100, 0, once))


def test_a_check_in_force_stays_though_its_share_falls() -> None:
    active = mark(counted(16, 4), True)
    assert in_force(counted(98, 2, active))


def test_one_that_comes_again_starts_from_zero() -> None:
    gone = counted(100, 0, mark(counted(0, 20), True))
    assert not in_force(counted(0, 19, gone))
    assert in_force(counted(0, 20, gone))


def test_one_that_the_constitution_dropped_starts_from_zero() -> None:
    assert mark(mark(counted(0, 20), True), False) == NEW
    assert mark(counted(5, 1), False) == counted(5, 1)


def test_only_passes_and_failures_of_constraints_are_answers() -> None:
    checks = {
        "constraint:no_pii": "PASS",
        "learned:no_pii": "FAIL",
        "learned:citations_required": "UNCHECKED",
        "systems_over_willpower": "FAIL",
        "constraint:text:0123456789abcdef": "FAIL",
    }
    results = list(answers(checks))
    assert results == [("no_pii", False), ("no_pii", True), ("text:0123456789abcdef", True)]


@given(st.lists(st.booleans(), max_size=400), st.integers(1, 30))
def test_counters_are_what_was_seen_since_they_started(fails: list[bool], every: int) -> None:
    """A model that keeps the answers themselves, derived after every few of them."""
    counter: dict[str, Any] = dict(NEW)
    seen: list[bool] = []
    window: list[bool] = []
    active = False
    for number, failed in enumerate(fails, 1):
        counter = count(counter, failed)
        seen.append(failed)
        if active:
            window.append(failed)
            if len(window) == 100:
                if sum(window) <= 1:
                    active, seen = False, []
                window = []
        if number % every == 0:
            active = active or (len(seen) >= 20 and sum(seen) / len(seen) >= 0.20)
            assert in_force(counter) is active
            counter = mark(counter, in_force(counter))
        assert (counter["n"], counter["f"]) == (len(seen), sum(seen))
