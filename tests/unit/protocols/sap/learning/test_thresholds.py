"""Thresholds move with what the bins of readings say, at exactly the figures of the guide."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.protocols.sap.learning.thresholds import basis, bin_of, count, derive


def bins(**named: tuple[int, int]) -> list[dict[str, int]]:
    """Bins by low: `b30=(24, 3)` are 24 readings in (30, 35], 3 of them failed."""
    return [{"low": int(name[1:]), "n": n, "f": f} for name, (n, f) in named.items()]


def derived(base: float, on_exceed: str = "check", **named: tuple[int, int]) -> float | None:
    return derive(basis(bins(**named), base, on_exceed))


def test_the_example_of_the_spec() -> None:
    assert derived(40, b30=(24, 3), b25=(60, 2)) == 30


@pytest.mark.parametrize(
    ("reading", "low"),
    [(0, -5), (0.1, 0), (5, 0), (5.000001, 5), (14.999999999999998, 10), (15.000000000000002, 15),
     (100, 95), (99.99, 95)],
)  # fmt: skip
def test_a_bin_has_its_upper_bound_and_not_its_lower(reading: float, low: int) -> None:
    assert bin_of(reading) == low


@given(st.floats(0, 100))
def test_every_reading_lies_in_its_bin(reading: float) -> None:
    low = bin_of(reading)
    assert low % 5 == 0
    assert low < reading <= low + 5


@pytest.mark.parametrize("low", [20, 25, 30, 35])
@pytest.mark.parametrize(
    ("n", "f", "lowers"),
    [(20, 2, True), (19, 19, False), (20, 1, False), (29, 3, True), (31, 3, False), (30, 3, True),
     (1000, 100, True), (1000, 99, False)],
)  # fmt: skip
def test_one_bin_lowers_at_twenty_readings_and_a_tenth(
    low: int, n: int, f: int, lowers: bool
) -> None:
    one: Any = {f"b{low}": (n, f)}
    assert derived(40, **one) == (low if lowers else None)


def test_the_smallest_of_several_bins_counts() -> None:
    assert derived(40, b20=(19, 19), b25=(20, 2), b30=(20, 20), b35=(20, 20)) == 25


@pytest.mark.parametrize(("low", "lowers"), [(15, False), (40, False), (45, False)])
def test_other_bins_do_not_lower(low: int, lowers: bool) -> None:
    one: Any = {f"b{low}": (100, 100)}
    assert (derived(40, **one) is not None) is lowers


def test_a_base_between_two_bins_counts_from_the_lower() -> None:
    assert derived(43.5, b20=(20, 2)) == 20
    assert derived(43.5, b40=(20, 20)) is None


def test_no_threshold_falls_under_zero() -> None:
    below = [{"low": -5, "n": 50, "f": 50}]
    assert derive(basis(below, 10, "check")) is None
    assert derived(10, b0=(20, 2)) == 0


@pytest.mark.parametrize(
    ("first", "second", "threshold"),
    [((200, 0), (0, 0), 45), ((200, 0), (200, 0), 50), ((199, 0), (200, 0), None),
     ((200, 1), (200, 0), None), ((200, 0), (199, 0), 45), ((200, 0), (200, 1), 45)],
)  # fmt: skip
def test_raising_takes_two_hundred_without_a_failure(
    first: tuple[int, int], second: tuple[int, int], threshold: float | None
) -> None:
    assert derived(40, b40=first, b45=second) == threshold
    assert derived(40, "escalate", b40=first, b45=second) is None


def test_lowering_comes_before_raising() -> None:
    assert derived(40, b35=(20, 2), b40=(500, 0), b45=(500, 0)) == 35
    assert derived(40, "escalate", b35=(20, 2)) == 35


@pytest.mark.parametrize(("base", "threshold"), [(90, 100), (95, 100), (97, 100), (100, None)])
def test_never_above_a_hundred(base: float, threshold: float | None) -> None:
    full: Any = {f"b{low}": (200, 0) for low in range(0, 100, 5)}
    assert derived(base, **full) == threshold


def test_a_basis_has_the_bins_it_asks_and_no_others() -> None:
    every = {f"b{low}": (1, 0) for low in range(0, 100, 5)}
    parsed = basis(bins(**every), 42, "check")
    assert [one["low"] for one in parsed["bins"]] == [20, 25, 30, 35, 40, 45]
    assert (parsed["base"], parsed["onExceed"]) == (42, "check")


@given(st.lists(st.tuples(st.floats(0, 100), st.booleans()), max_size=60))
def test_counting_is_a_sum_in_any_order(readings: list[tuple[float, bool]]) -> None:
    forward: list[dict[str, int]] = []
    backward: list[dict[str, int]] = []
    for reading, failed in readings:
        forward = count(forward, reading, failed)
    for reading, failed in reversed(readings):
        backward = count(backward, reading, failed)
    assert forward == backward
    for one in forward:
        here = [failed for reading, failed in readings if bin_of(reading) == one["low"]]
        assert (one["n"], one["f"]) == (len(here), sum(here))


@given(
    st.sampled_from([0, 3, 10, 40, 62.5, 90, 100, 120]),
    st.sampled_from(["check", "escalate"]),
    st.lists(
        st.tuples(st.integers(-1, 19), st.integers(0, 300), st.floats(0, 1)),
        unique_by=lambda one: one[0],
    ),
)
def test_the_rule_read_once_more(
    base: float, on_exceed: str, given_bins: list[tuple[int, int, float]]
) -> None:
    """The same rule, written as the guide says it."""
    counted = [{"low": 5 * k, "n": n, "f": round(share * n)} for k, n, share in given_bins]
    by_low = {one["low"]: one for one in counted}
    b5 = 5 * int(base // 5)
    expected: float | None = None
    for c in (b5 - 20, b5 - 15, b5 - 10, b5 - 5):
        one = by_low.get(c, {"n": 0, "f": 0})
        if expected is None and c >= 0 and one["n"] >= 20 and one["f"] / one["n"] >= 0.10:
            expected = c
    clean = [by_low.get(c, {"n": 0, "f": 1}) for c in (b5, b5 + 5)]
    if expected is None and on_exceed == "check":
        for k in range(len(clean)):
            if all(c["n"] >= 200 and c["f"] == 0 for c in clean[: k + 1]) and b5 + 5 * k < 100:
                expected = b5 + 5 * (k + 1)
    assert derive(basis(counted, base, on_exceed)) == expected


def test_the_product_of_small_cases_is_total() -> None:
    for base, n, f in product((0, 7, 55, 100), (0, 19, 20, 200), (0, 2, 20)):
        assert derived(base, b50=(n, min(n, f))) in (None, *range(0, 101, 5))
