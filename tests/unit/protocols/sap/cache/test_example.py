"""The worked example of the SAP guide, 5.4, with its times."""

from __future__ import annotations

from tests.unit.protocols.sap.cache.support import NINE, Cache, summarize_verdicts, task_id


def _asked() -> Cache:
    """A leads, B and C wait, D gets nothing."""
    cache = Cache()
    assert summarize_verdicts(cache.read("A", 0)) == [("A", "miss", True)]
    (b,) = cache.read("B", 4_000, maxAgeSec=90)
    (c,) = cache.read("C", 10_000, deadlineAt=25_000)
    (d,) = cache.read("D", 12_000, mode="only")
    assert summarize_verdicts([b, c, d]) == [
        ("B", "waiting", False),
        ("C", "waiting", False),
        ("D", "miss", False),
    ]
    assert (b["waitUntil"], c["waitUntil"]) == (NINE + 34_000, NINE + 25_000)
    assert b["leaderTaskId"] == task_id("A")
    return cache


def test_the_answer_of_the_leader_serves_those_who_wait() -> None:
    cache = _asked()
    verdicts = cache.store("A", 20_000)
    assert summarize_verdicts(verdicts) == [
        ("A", "stored", False),
        ("B", "hit", False),
        ("C", "hit", False),
    ]
    assert [verdict["version"] for verdict in verdicts] == [1, 1, 1]
    assert [verdict["ageSec"] for verdict in verdicts] == [None, 0, 0]
    assert (cache.waiting(), cache.timers) == ([], {})
    assert cache.head["flight"] is None


def test_a_silent_leader_is_waited_for_until_the_lease_is_over() -> None:
    cache = _asked()
    assert summarize_verdicts(cache.until(25_000)) == []
    assert summarize_verdicts(cache.until(25_001)) == [("C", "wait_expired", False)]
    assert summarize_verdicts(cache.until(34_000)) == []
    assert summarize_verdicts(cache.until(34_001)) == [("B", "wait_expired", False)]
    assert summarize_verdicts(cache.until(299_999)) == []
    assert summarize_verdicts(cache.until(300_000)) == [("A", "flight_lapsed", False)]
    assert (cache.head["flight"], cache.timers) == (None, {})


def test_the_age_counts_whole_seconds() -> None:
    cache = _asked()
    cache.store("A", 20_000)
    (hit,) = cache.read("E", 110_900, maxAgeSec=90)
    assert (hit["verdict"], hit["ageSec"]) == ("hit", 90)
    (stale,) = cache.read("F", 111_000, maxAgeSec=90, mode="only")
    assert (stale["verdict"], stale["candidates"][0]["ageSec"]) == ("stale", 91)
