"""The sums that tell a fault of this version from bad records."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streams.engine.poison import Minute

CYCLES = st.lists(
    st.tuples(st.integers(0, 40_000), st.integers(0, 1000), st.integers(0, 5)), min_size=1
)


@given(CYCLES)
def test_the_sums_are_those_of_the_last_minute(cycles: list[tuple[int, int, int]]) -> None:
    minute, now, seen = Minute(), 0, []
    for wait, records, poison in cycles:
        now += wait
        seen.append((now, records, poison))
        recent = [c for c in seen if c[0] >= now - 60_000]
        expected = sum(c[1] for c in recent), sum(c[2] for c in recent)
        assert minute.add(now, records, poison) == expected
