"""What a task promises over either log: each record decided once, rows that survive, one owner."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from schemas import decode
from streams.engine.records import Output, TopicPartition, header
from streams.errors import CommitFailed, Fenced
from tests.contract.driver import Driver
from tests.contract.twins import Twin
from tests.toy import FACTS, INPUT, RECORD, ROWS, toy_record
from topology.core import CHANGELOG

OpenTask = Callable[..., Driver]
HOUR_MS = 3_600_000
"""Longer than a test may take: on Kafka, whose clock runs by itself, a timer set so far ahead is
due because of `pass_ms` alone."""


def send(twin: Twin, *idents: str, **data: Any) -> None:
    twin.log.append([toy_record(i, prefix=twin.prefix, **data) for i in idents])


def seen(twin: Twin) -> list[str]:
    return [f"{f['id']}{f.get('n', '')}" for f in twin.facts()]


def test_each_record_leaves_one_fact_over_many_cycles(twin: Twin, task: OpenTask) -> None:
    driver = task(batch=2)
    send(twin, "a", "b", "a", "a", "b")
    driver.drain()
    assert driver.cycles == 3
    assert seen(twin) == ["a1", "b1", "a2", "a3", "b2"]


def test_a_fact_names_its_cause(twin: Twin, task: OpenTask) -> None:
    driver = task()
    send(twin, "a", "b")
    driver.drain()
    causes = [header(r, "headrace-cause") for r in twin.read(FACTS)]
    assert causes == [f"{twin.name(INPUT)}/0/{n}".encode() for n in range(2)]
    rows = twin.read(ROWS)
    assert [header(r, "headrace-cause") for r in rows] == causes
    assert [r.key for r in rows] == [b"a", b"b"]


def test_opened_again_it_goes_on_behind_what_it_decided(twin: Twin, task: OpenTask) -> None:
    with task() as first:
        send(twin, "a", "a")
        first.drain()
    send(twin, "a")
    with task() as second:
        second.drain()
        assert second.cycles == 1
    with task() as third:
        third.drain()
        assert third.cycles == 0
    assert seen(twin) == ["a1", "a2", "a3"]


def test_restored_rows_equal_the_live_ones(twin: Twin, task: OpenTask) -> None:
    with task("live", batch=3) as live:
        send(twin, *(f"k{n}" for n in range(20)), timer=HOUR_MS)
        send(twin, *(f"k{n}" for n in range(0, 20, 2)), answer=1)
        send(twin, "k1", "k1")
        live.drain()
        rows, due = live.rows(), live.task.next_due
    assert len(rows["toy-open"]) == 10
    assert len(rows["timers"]) == 10
    with task("empty") as restored:
        assert restored.task.restored > 0
        assert restored.rows() == rows
        assert restored.task.next_due == due
    with task("live") as reopened:
        assert reopened.task.restored == 0
        assert reopened.rows() == rows


def test_a_killed_store_catches_up_from_the_changelog(
    twin: Twin, task: OpenTask, tmp_path: Path
) -> None:
    with task("live") as live:
        send(twin, "a", "b", timer=HOUR_MS)
        live.drain()
        live.task._state._store.flush()
        shutil.copytree(tmp_path / "live", tmp_path / "killed")
        send(twin, "a", answer=1)
        send(twin, "c")
        live.drain()
        rows = live.rows()
    with task("killed") as killed:
        assert 0 < killed.task.restored < 10
        assert killed.rows() == rows
        send(twin, "a")
        killed.drain()
    assert seen(twin)[-1] == "a3"


def test_the_next_cycle_reads_through_the_commit_in_flight(twin: Twin, task: OpenTask) -> None:
    driver = task(batch=2)
    send(twin, "a", "b", timer=HOUR_MS)
    send(twin, "a", "b", answer=1)
    send(twin, "a", "b", answer=1)
    driver.fetch()
    cycles = [driver.task.next_batch()]
    for _ in range(3):
        flying = cycles[-1]
        assert flying is not None
        driver.task.submit(flying)
        cycles.append(driver.task.next_batch())
        driver.task.commit(flying)
        driver.task.mark_committed()
    assert cycles[-1] is None
    kinds = [(f["id"], f["n"], f["kind"]) for f in twin.facts()]
    assert kinds == [
        *[("a", "1", "seen"), ("b", "1", "seen")],
        *[("a", "2", "answered"), ("b", "2", "answered")],
        *[("a", "3", "late"), ("b", "3", "late")],
    ]
    assert driver.task.next_due is None


def test_of_two_tasks_with_one_id_the_old_one_can_write_nothing(twin: Twin, task: OpenTask) -> None:
    old = task("old")
    send(twin, "a")
    old.drain()
    new = task("new")
    send(twin, "a")
    old.fetch()
    with pytest.raises(Fenced):
        old.step()
    new.drain()
    old.close()
    assert seen(twin) == ["a1", "a2"]
    with task("old") as again:
        again.drain()
        assert again.cycles == 0


def test_a_zombie_with_due_timers_fires_nothing(twin: Twin, task: OpenTask) -> None:
    old = task("old")
    send(twin, "a", timer=HOUR_MS)
    old.drain()
    new = task("new")
    twin.pass_ms(2 * HOUR_MS)
    with pytest.raises(Fenced):
        old.fire()
    new.drain()
    assert [f["kind"] for f in twin.facts()] == ["seen", "fired"]


def test_after_a_failed_commit_it_opens_again_and_nothing_is_doubled(
    twin: Twin, task: OpenTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = task()
    send(twin, "a")
    driver.drain()
    send(twin, "a", "b")
    driver.fetch()

    def fail(outputs: Sequence[Output]) -> None:
        raise CommitFailed("for the test")

    monkeypatch.setattr(driver.task._producer, "commit", fail)
    with pytest.raises(CommitFailed):
        driver.step()
    driver.close()
    with task() as again:
        again.drain()
    assert seen(twin) == ["a1", "a2", "b1"]


def test_a_commit_that_is_in_doubt_but_was_made_is_found_on_the_log(
    twin: Twin, task: OpenTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = task()
    send(twin, "a", "b", timer=HOUR_MS)
    driver.fetch()
    commit = driver.task._producer.commit

    def doubt(outputs: Sequence[Output]) -> dict[TopicPartition, int]:
        commit(outputs)
        raise CommitFailed("for the test: no answer came")

    monkeypatch.setattr(driver.task._producer, "commit", doubt)
    with pytest.raises(CommitFailed):
        driver.step()
    driver.close()
    with task() as again:
        again.drain()
        assert again.cycles == 0
        assert len(again.rows()["timers"]) == 2
    assert seen(twin) == ["a1", "b1"]


def test_an_aborted_first_transaction_is_no_state(twin: Twin, task: OpenTask) -> None:
    changelog = Output(twin.name(CHANGELOG), b"toy-open\0x", b"row", (), 0)
    twin.abort([changelog, Output(twin.name(ROWS), b"x", b"row", (), 0)])
    send(twin, "a")
    with task() as driver:
        driver.drain()
    assert seen(twin) == ["a1"]


def test_resuming_drops_what_was_fetched_and_decides_it_once(twin: Twin, task: OpenTask) -> None:
    driver = task(batch=2)
    send(twin, "a", "b", "c")
    driver.fetch()
    assert driver.task.next_batch() is not None  # decided, never submitted: parked meanwhile
    for tp, offset in driver.task.resume().items():
        driver.reader.seek(tp, offset)
    driver.drain()
    assert seen(twin) == ["a1", "b1", "c1"]


def test_a_list_delivered_twice_is_decided_once(twin: Twin, task: OpenTask) -> None:
    driver = task()
    send(twin, "a", "b")
    tp = twin.tp(INPUT)
    records = twin.read(INPUT)
    driver.task.put(tp, records)
    driver.task.put(tp, records)
    driver.step()
    driver.task.put(tp, records)
    driver.drain()
    assert seen(twin) == ["a1", "b1"]


def test_a_row_deleted_and_made_again_counts_anew(twin: Twin, task: OpenTask) -> None:
    with task() as driver:
        send(twin, "a", timer=HOUR_MS)
        send(twin, "a", answer=1)
        driver.drain()
        assert driver.rows()["toy-open"] == {}
        send(twin, "a", timer=2 * HOUR_MS)
        driver.drain()
        assert list(driver.rows()["toy-open"]) == [b"a"]
    with task("other") as restored:
        assert list(restored.rows()["toy-open"]) == [b"a"]
        assert decode(restored.rows()["toy.rows"][b"a"], RECORD).value["data"] == {"n": "3"}
