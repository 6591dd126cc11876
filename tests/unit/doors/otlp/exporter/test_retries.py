"""Each answer of a backend, and how long the next attempt waits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.doors.otlp.exporter.retries import MAX_PAUSE_S, Action, action_of, pause_s

NOW_S = 1_767_225_600.0


@pytest.mark.parametrize(
    ("action", "statuses"),
    [
        (Action.DONE, (200, 202, 204)),
        (Action.WAIT, (429, 502, 503, 504)),
        (Action.ADVISE, (401, 403, 404)),
        (Action.SPLIT, (302, 400, 413, 415, 422)),
        (Action.RETRY, (500, 501, 507)),
    ],
)
def test_a_status_asks_for_an_action(action: Action, statuses: tuple[int, ...]) -> None:
    assert {action_of(status) for status in statuses} == {action}


@pytest.mark.parametrize(("attempt", "pause"), [(0, 1), (1, 2), (3, 8), (6, 60), (5000, 60)])
def test_pauses_double_up_to_a_minute(attempt: int, pause: float) -> None:
    assert pause_s(attempt, None, NOW_S, 0.5) == pytest.approx(pause)
    assert pause_s(attempt, None, NOW_S, 0.0) == pytest.approx(pause * 0.8)
    assert pause_s(attempt, None, NOW_S, 1.0) == pytest.approx(pause * 1.2)


@pytest.mark.parametrize(
    ("retry_after", "pause"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("999999999", 600.0),
        ("Thu, 01 Jan 2026 00:00:30 GMT", 30.0),
        ("Thu, 01 Jan 2015 00:00:30 GMT", 0.0),
    ],
)
def test_the_backend_may_say_when(retry_after: str, pause: float) -> None:
    assert pause_s(0, retry_after, NOW_S, 0.5) == pytest.approx(pause)


@given(retry_after=st.text(max_size=40), attempt=st.integers(0, 100), draw=st.floats(0, 1))
def test_any_text_gives_a_pause_within_bounds(retry_after: str, attempt: int, draw: float) -> None:
    assert 0.0 <= pause_s(attempt, retry_after, NOW_S, draw) <= max(600.0, MAX_PAUSE_S * 1.2)
