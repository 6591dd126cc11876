"""The rows about the whole service equal a count of the facts, however they are applied."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import decode
from streams.engine.memory import MemoryLog
from streams.engine.records import Record, TopicPartition
from streams.protocols.queries import QUERIES
from streams.view_store.apply import apply_records
from streams.view_store.view import View
from streams.views.changes import MemoryStore, WriteBatch
from streams.views.positions import Position
from streams.views.reads import StoredRows
from streams.views.service.agents import AgentRow, latest_agents
from streams.views.service.counters import (
    HOUR,
    MINUTE,
    SIZES,
    TEN_MINUTES,
    add_counts,
    counts_between,
)
from streams.views.service.effects import effects_of
from streams.views.service.refusals import latest_refusals
from streams.views.service.verdicts import VERDICTS, Judgement
from tests.examples import example_count
from tests.unit.views.service.played import COMMAND_FACTS, Fact, counted, facts, played, records
from topology.topics import BY_NAME

PLAYED = (
    "five-protocols.jsonl",
    "refusals.jsonl",
    "acknowledgements.jsonl",
    "sap-cache.jsonl",
    "asap-bad-input.jsonl",
    "summit-bad-input.jsonl",
    "rtes-rewind-lapse.jsonl",
)
TABLES = {
    "apc": ("apc.packet-states", "state"),
    "saop": ("saop.tasks", "state"),
    "sap": ("sap.task-states", "state"),
    "asap": ("asap.tasks", "status"),
    "summit": ("summit.runs", "state"),
}
CLOSED = {
    *("ARCHIVED", "REJECTED_SCHEMA", "REJECTED_POLICY", "EXPIRED", "RETRACTED", "COMPLETED"),
    *("SKIPPED", "SUCCEEDED", "FAILED", "CANCELLED", "ESCALATED", "completed", "failed"),
    *("cancelled", "rejected", "timeout"),
}


def apply(log: MemoryLog, order: list[list[Record]]) -> StoredRows:
    store = MemoryStore()
    topics = {name: BY_NAME[name] for name in log.topics() if name in BY_NAME}
    for batch in order:
        rows, _ = apply_records(topics, batch, store)
        store.write(rows)
    return StoredRows(store)


def in_one_batch(log: MemoryLog) -> StoredRows:
    return apply(log, [[record for group in records(log).values() for record in group]])


def service_rows(view: StoredRows) -> dict[bytes, bytes]:
    return {**dict(view.scan(b"service")), **dict(view.scan(b"sap ack without"))}


def agents(view: StoredRows) -> list[AgentRow]:
    return [row for _, row in latest_agents(view, lambda agent, protocol: True)(None)]


def refusals(view: StoredRows, **filters: str) -> list[Judgement]:
    entries = latest_refusals(view, filters, None, None)(None)
    return [judgement for _, judgement in entries if judgement is not None]


@pytest.mark.parametrize("name", PLAYED)
def test_counters_of_each_size_equal_a_count_of_the_facts(name: str) -> None:
    log = played(name)
    view, expected = in_one_batch(log), counted(log)
    for size in SIZES:
        counts: Counter[Any] = Counter()
        for _, bucket in counts_between(view, size, 0, 1 << 40):
            counts.update(bucket)
        assert counts == expected


@pytest.mark.parametrize("name", PLAYED)
def test_open_work_equals_the_open_rows_of_the_tables(name: str) -> None:
    log = played(name)
    view = in_one_batch(log)
    assert {side.name for side in QUERIES if side.open_work} == set(TABLES)
    for side in (side for side in QUERIES if side.open_work):
        topic, state = TABLES[side.name]
        rows: dict[bytes | None, dict[str, Any]] = {}
        for tp, group in records(log).items():
            for record in group if tp.topic == topic else ():
                rows[record.key] = decode(record.value, BY_NAME[topic].record or "").value
        states = Counter(row[state] for row in rows.values() if row.get("origin") is None)
        (work,) = side.open_work
        expected = {word: n for word, n in states.items() if word not in CLOSED}
        if side.name == "saop":
            expected |= {"FAILED": states["FAILED"]} if states["FAILED"] else {}
        assert work.counts(view) == expected


@pytest.mark.parametrize("name", PLAYED)
def test_refusals_are_listed_with_the_latest_first(name: str) -> None:
    log = played(name)
    listed = refusals(in_one_batch(log))
    refused = [
        fact
        for fact in facts(log, *COMMAND_FACTS, "rtes.rejections")
        if fact.verdict in ("rejected", "duplicate")
    ]
    assert {(each.fact, each.verdict, each.rule, each.at, each.cause) for each in listed} == {
        (fact.position, fact.verdict, fact.rule, fact.at, fact.cause) for fact in refused
    }
    assert [each.at for each in listed] == sorted((each.at for each in listed), reverse=True)
    assert all(each.message for each in listed if each.verdict == "rejected")


def sender(log: MemoryLog, fact: Fact) -> str | None:
    """Return who sent the command of a fact, as the command says."""
    topic, partition, offset = fact.cause.split("/")
    record = log.slots(TopicPartition(topic, int(partition)))[int(offset)]
    if record is None or record.value is None:
        return None
    value = decode(record.value, BY_NAME[topic].record or "").value
    senders = {
        "apc.packets": lambda: value["sender"]["agent_id"],
        "sap.tasks": lambda: value["issuer"]["agentId"],
        "asap.envelopes": lambda: value["sender"],
        "summit.calls": lambda: value["caller"],
        "summit.replies": lambda: fact.value["agentId"],
        "saop.turns": lambda: value["agent_id"],
    }
    sent_by: str | None = senders[topic]() if topic in senders else None
    return sent_by


@pytest.mark.parametrize("name", PLAYED)
def test_agents_have_the_verdicts_on_what_they_sent(name: str) -> None:
    log = played(name)
    expected: dict[tuple[str, str], Counter[str]] = {}
    latest: dict[tuple[str, str], int] = {}
    for fact in facts(log, *COMMAND_FACTS):
        agent = None if fact.verdict == "none" else sender(log, fact)
        without_packet = fact.topic == "apc.events" and fact.value["packet"] is None
        if agent is None or (without_packet and fact.verdict == "rejected"):
            continue
        pair = agent, COMMAND_FACTS[fact.topic]
        expected.setdefault(pair, Counter())[fact.verdict] += 1
        latest[pair] = max(latest.get(pair, 0), fact.at)
    rows = agents(in_one_batch(log))
    assert {(row.agent, row.protocol): _verdicts(row) for row in rows} == expected
    assert {(row.agent, row.protocol): row.counts.last_at for row in rows} == latest
    times = [row.counts.last_at for row in rows]
    assert times == sorted(times, reverse=True)


def _verdicts(row: AgentRow) -> Counter[str]:
    return Counter({name: getattr(row.counts, name) for name in VERDICTS})


def test_effects_name_each_fact_and_message_of_a_record() -> None:
    log = played("five-protocols.jsonl")
    view = in_one_batch(log)
    expected: dict[str, set[str]] = {}
    for group in records(log).values():
        for record in group:
            fact = Fact(record.topic, record, {})
            kind = BY_NAME[record.topic].kind.value
            if kind in ("fact", "inbox", "dead letter") and fact.cause[:9] != "rtes.raw/":
                expected.setdefault(fact.cause, set()).add(fact.position)
    caused = {cause: places for cause, places in expected.items() if cause.count("/") == 2}
    assert any(len(places) > 1 for places in caused.values())
    for cause, places in caused.items():
        topic, partition, offset = cause.split("/")
        effects = effects_of(view, Position(topic, int(partition), int(offset)))
        assert sorted("/".join(map(str, place)) for place in effects) == sorted(places)
    assert effects_of(view, Position("rtes.raw", 0, 0)) == []


@pytest.mark.parametrize("name", ["five-protocols.jsonl", "sap-cache.jsonl"])
@settings(max_examples=example_count(60), deadline=None)
@given(seed=st.integers(0, 1 << 32), largest=st.integers(1, 40))
def test_rows_depend_neither_on_batches_nor_on_the_order_of_partitions(
    name: str, seed: int, largest: int
) -> None:
    log, rng = played(name), Random(seed)
    remaining = {tp: list(group) for tp, group in records(log).items() if group}
    batches: list[list[Record]] = []
    while remaining:
        batch: list[Record] = []
        for tp in rng.sample(sorted(remaining), rng.randint(1, len(remaining))):
            size = rng.randint(1, largest)
            batch += remaining[tp][:size]
            remaining[tp] = remaining[tp][size:]
        batches.append(batch)
        remaining = {tp: group for tp, group in remaining.items() if group}
    assert service_rows(apply(log, batches)) == service_rows(in_one_batch(log))


def test_rows_survive_restarts(tmp_path: Path) -> None:
    log = played("five-protocols.jsonl")
    for _ in range(100):
        with View(log, tmp_path / "view", clock=log.clock) as view:
            view.at_once = 7
            view.step(0)
            if not view.lag():
                break
    with View(log, tmp_path / "view", clock=log.clock) as view:
        assert view.begun_anew is None
        assert service_rows(view) == service_rows(in_one_batch(log))


def test_filters_of_refusals() -> None:
    view = in_one_batch(played("refusals.jsonl"))
    every = refusals(view)
    for member in ("rule", "protocol", "verdict", "fault"):
        for value in {getattr(each, member) for each in every} - {None}:
            expected = [each for each in every if getattr(each, member) == value]
            assert refusals(view, **{member: value}) == expected
    times = sorted(each.at for each in every)
    middle = latest_refusals(view, {}, times[1], times[-1])(None)
    assert {each.at for _, each in middle} == {at for at in times if times[1] <= at < times[-1]}


def test_buckets_are_kept_for_a_time_before_the_newest_fact() -> None:
    store, day = MemoryStore(), 24 * 60
    start = 20_000 * day
    for minute in (start, start + 1, start + 130, start + 49 * 60, start + 91 * day, start + 5):
        rows = WriteBatch(store)
        add_counts({(minute, "t", "accepted", "r"): 1}, rows)
        store.write(rows)
    view = StoredRows(store)
    buckets = {size: [b for b, _ in counts_between(view, size, 0, 1 << 40)] for size in SIZES}
    assert buckets[MINUTE] == [start + 91 * day]
    assert buckets[TEN_MINUTES] == [(start + 91 * day) // 10]
    assert buckets[HOUR] == [start // 60 + 49, (start + 91 * day) // 60]
