"""Sets of versions as ranges, against plain sets."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.protocols.asap.processor import versions

SOME = st.integers(1, 30)


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), SOME), max_size=60))
def test_they_are_sets(changes: list[tuple[bool, int]]) -> None:
    ranges: list[int] = []
    plain: set[int] = set()
    for add, version in changes:
        if add:
            ranges, plain = versions.added(ranges, version), plain | {version}
        else:
            ranges, plain = versions.removed(ranges, version), plain - {version}
        assert list(versions.each(ranges)) == sorted(plain)
        assert [v for v in range(32) if versions.contains(ranges, v)] == sorted(plain)
        lows, highs = ranges[::2], ranges[1::2]
        assert all(low <= high for low, high in zip(lows, highs, strict=True))
        assert all(high + 1 < low for high, low in zip(highs, lows[1:], strict=False))


def test_a_counter_makes_one_range() -> None:
    ranges: list[int] = []
    for version in range(1, 10_001):
        ranges = versions.added(ranges, version)
    assert ranges == [1, 10_000]
