"""The facts that a view has read last are found without the log, within bounds."""

from __future__ import annotations

from streams.engine.records import LogRecord, Record
from streams.view_store import recent_facts
from streams.view_store.live import LiveView
from streams.view_store.recent_facts import RecentFacts
from streams.views.positions import Position
from tests.unit.envelopes import idea
from tests.unit.views.bench import Bench
from tests.unit.views.living import live_over, to_position, until
from topology.topics import BY_NAME

FACTS, INBOX = "apc.events", "apc.inbox"


def record(offset: int, topic: str = FACTS, size: int = 1) -> Record:
    return LogRecord(topic, 0, offset, 0, b"k", b"v" * size)


def find_all(facts: RecentFacts, topic: str = FACTS, count: int = 5000) -> list[int]:
    """Return the offsets of the facts that are found."""
    return [n for n in range(count) if facts.find(Position(topic, 0, n)) is not None]


def test_only_facts_are_stored() -> None:
    facts = RecentFacts()
    facts.add(BY_NAME, [record(1), record(2, INBOX)])
    assert find_all(facts) == [1]
    assert find_all(facts, INBOX) == []
    facts.clear()
    assert find_all(facts) == []


def test_the_first_go_when_there_are_too_many() -> None:
    facts = RecentFacts()
    facts.add(BY_NAME, [record(n) for n in range(recent_facts.MAX_FACTS)])
    facts.add(BY_NAME, [record(recent_facts.MAX_FACTS)])
    assert find_all(facts) == [*range(1, recent_facts.MAX_FACTS + 1)]


def test_the_first_go_when_they_are_too_large() -> None:
    facts, half = RecentFacts(), recent_facts.MAX_BYTES // 2
    for offset in (1, 2, 2, 3):
        facts.add(BY_NAME, [record(offset, size=half)])
    assert find_all(facts) == [2, 3]
    facts.add(BY_NAME, [record(4, size=recent_facts.MAX_BYTES + 1)])
    assert find_all(facts) == []
    facts.add(BY_NAME, [record(5)])
    assert find_all(facts) == [5]


def read_fact(view: LiveView, bench: Bench, number: int) -> Record | None:
    """Send a packet, wait for its verdict, and return the recent fact that says it."""
    (cause,) = bench.send("apc.packets", idea(number))
    view.wait(to_position(cause), 20)
    last = bench.records(FACTS)[-1]
    return view.recent_fact(Position(last.topic, last.partition, last.offset))


def test_a_fact_is_found_once_its_verdict_is_seen(bench: Bench) -> None:
    view = live_over(bench)
    view.start()
    until(view, "ready")
    fact = read_fact(view, bench, 1)
    assert fact is not None
    assert fact.value == bench.records(FACTS)[-1].value
    view.stop()
