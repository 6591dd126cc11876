"""Who leads, who waits, and what ends either."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.sap.cache.support import NINE, Cache, summarize_verdicts, task_id
from topology.sap import SAP_VERDICTS


def test_the_next_in_the_order_of_arrival_leads_when_the_leader_gives_up() -> None:
    cache = Cache()
    cache.read("A", 0)
    cache.read("B", 1000)
    cache.read("C", 2000)
    assert summarize_verdicts(cache.release("A", 5000)) == [
        ("A", "released", False),
        ("B", "miss", True),
    ]
    assert cache.head["flight"]["leaderTaskId"] == task_id("B")
    assert cache.waiting() == [task_id("C")]
    assert cache.waiting() == [w["taskId"] for w in cache.head["waiters"]]
    assert summarize_verdicts(cache.store("B", 6000)) == [
        ("B", "stored", False),
        ("C", "hit", False),
    ]


def test_a_task_that_waits_may_go() -> None:
    cache = Cache()
    cache.read("A", 0)
    cache.read("B", 1000)
    assert summarize_verdicts(cache.release("B", 2000)) == [("B", "released", False)]
    assert cache.waiting() == []
    assert cache.head["flight"]["leaderTaskId"] == task_id("A")
    assert summarize_verdicts(cache.until(60_000)) == []


def test_who_has_nothing_gives_nothing_back() -> None:
    cache = Cache()
    cache.read("A", 0)
    assert summarize_verdicts(cache.release("B", 2000)) == [("B", "released", False)]
    assert summarize_verdicts(cache.release("C", 2000, key="6" * 64)) == [("C", "released", False)]
    assert cache.head["flight"]["leaderTaskId"] == task_id("A")


def test_a_lapse_makes_the_next_one_lead() -> None:
    cache = Cache(SAP_FLIGHT_LEASE_S=10)
    cache.read("A", 0)
    cache.read("B", 1000)
    assert summarize_verdicts(cache.until(10_000)) == [
        ("A", "flight_lapsed", False),
        ("B", "miss", True),
    ]
    assert cache.head["flight"]["lapsesAt"] == NINE + 20_000
    assert summarize_verdicts(cache.until(20_000)) == [("B", "flight_lapsed", False)]
    assert cache.timers == {}


def test_all_timers_of_an_outage_fire_at_once() -> None:
    cache = Cache(SAP_FLIGHT_LEASE_S=10)
    cache.read("A", 0)
    cache.read("B", 1000)
    cache.read("C", 1500)
    verdicts = cache.verdicts(cache.fire(NINE + 40_000))
    assert summarize_verdicts(verdicts) == [
        ("A", "flight_lapsed", False),
        ("B", "miss", True),
        ("C", "wait_expired", False),
    ]
    assert cache.waiting() == []


def test_no_more_than_the_most_wait() -> None:
    cache = Cache(SAP_FLIGHT_MAX_WAITERS=1)
    verdicts = [v for n, name in enumerate("ABC") for v in cache.read(name, n)]
    assert summarize_verdicts(verdicts) == [
        ("A", "miss", True),
        ("B", "waiting", False),
        ("C", "miss", False),
    ]


def test_nobody_waits_when_there_is_no_time() -> None:
    cache = Cache()
    cache.read("A", 0)
    assert summarize_verdicts(cache.read("B", 5000, deadlineAt=5000)) == [("B", "miss", False)]
    assert summarize_verdicts(cache.read("C", 5000, deadlineAt=5001)) == [("C", "waiting", False)]


def test_a_store_of_another_task_serves_those_who_wait_and_leaves_the_flight() -> None:
    cache = Cache()
    cache.read("A", 0)
    cache.read("B", 1000)
    assert summarize_verdicts(cache.store("C", 2000)) == [
        ("C", "stored", False),
        ("B", "hit", False),
    ]
    assert cache.head["flight"]["leaderTaskId"] == task_id("A")


def test_who_is_not_served_keeps_its_place_and_time() -> None:
    cache = Cache()
    cache.read("A", 0)
    needs: dict[str, Any] = {"mustAlign": True, "context": {"constraints": ["cite sources"]}}
    cache.read("B", 1000, **needs)
    cache.read("C", 2000, **needs)
    assert summarize_verdicts(cache.store("A", 3000)) == [
        ("A", "stored", False),
        ("B", "misaligned", True),
    ]
    assert [w["waitUntil"] for w in cache.head["waiters"]] == [NINE + 32_000]
    assert summarize_verdicts(cache.until(32_001)) == [("C", "wait_expired", False)]


def test_the_same_lookup_again_changes_nothing() -> None:
    cache = Cache()
    assert summarize_verdicts(cache.read("A", 0) + cache.read("A", 1)) == [("A", "miss", True)] * 2
    assert cache.head["flight"]["lapsesAt"] == NINE + 300_000
    first, again = cache.read("B", 1000) + cache.read("B", 2000)
    assert summarize_verdicts([first, again]) == [("B", "waiting", False)] * 2
    assert first["waitUntil"] == again["waitUntil"] == NINE + 31_000
    assert cache.waiting() == [task_id("B")]
    cache.store("A", 3000)
    assert summarize_verdicts(cache.store("A", 4000)) == [("A", "store_duplicate", False)]
    assert len(cache.versions()) == 1


def test_keys_have_nothing_to_do_with_each_other() -> None:
    cache = Cache()
    cache.read("A", 0)
    assert summarize_verdicts(cache.read("B", 1, key="6" * 64)) == [("B", "miss", True)]


def test_many_large_answers_are_sent_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.protocols.sap.cache.flights.BATCH_BYTES", 3000)
    cache = Cache()
    cache.read("A", 0)
    for name in "BCDEF":
        cache.read(name, 1)
    served = summarize_verdicts(cache.store("A", 2, output="x" * 2000))
    assert served == [("A", "stored", False), ("B", "hit", False), ("C", "hit", False)]
    assert summarize_verdicts(cache.until(4)) == [(name, "hit", False) for name in "DEF"]
    assert (cache.waiting(), cache.timers) == ([], {})


def test_flights_that_would_lapse_in_one_ms_have_verdicts_of_their_own() -> None:
    cache = Cache(SAP_FLIGHT_LEASE_S=4)
    late = NINE + 16_000
    cache.read("a", 0)
    first = cache.of(SAP_VERDICTS, cache.fire(late))
    cache.read("b", 0)  # of the same ms, and decided only now
    sent = first + cache.of(SAP_VERDICTS, cache.fire(late))
    assert [each.value["verdict"] for each in sent] == ["flight_lapsed", "flight_lapsed"]
    assert len({each.value["verdictId"] for each in sent}) == 2
