"""Bounds of suspended queries: one user each, size and time."""

from __future__ import annotations

from streams.views.suspended import SuspendedQueries


class Clock:
    """A clock in seconds that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_suspended_query_is_taken_once() -> None:
    queries = SuspendedQueries(Clock())
    queries.put("c", "walk", 1)
    assert queries.take("c") == "walk"
    assert queries.take("c") is None


def test_the_oldest_queries_make_room() -> None:
    queries = SuspendedQueries(Clock(), max_size=10)
    for cursor in "abc":
        queries.put(cursor, cursor, 4)
    assert [queries.take(cursor) for cursor in "abc"] == [None, "b", "c"]
    queries.put("large", "large", 11)
    assert queries.take("large") is None


def test_a_query_put_again_counts_once() -> None:
    queries = SuspendedQueries(Clock(), max_size=10)
    for query in range(5):
        queries.put("a", query, 6)
    queries.put("b", "b", 4)
    assert [queries.take(cursor) for cursor in "ab"] == [4, "b"]


def test_a_query_expires() -> None:
    clock = Clock()
    queries = SuspendedQueries(clock, lifetime_s=5)
    queries.put("a", "a", 1)
    clock.now = 4.9
    queries.put("b", "b", 1)
    clock.now = 5.0
    assert queries.take("a") is None
    assert queries.take("b") == "b"
