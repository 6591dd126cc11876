"""Where a task goes on reading, and when it refuses to."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas import decode
from streams.engine.accept_gap import Gap, accept_gap
from streams.engine.task import Task
from streams.errors import InputTruncated, NotFound, PositionsLost, UsageError
from tests.contract.test_task import OpenTask, seen, send
from tests.contract.twins import Twin
from tests.toy import FACTS, INPUT, ROWS, SECOND, ToyProcessor, toy_record
from topology import processors
from topology.core import ACCEPTED_GAPS, CHANGELOG


@pytest.fixture(autouse=True)
def _toy_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The release looks inputs up among the declared processors."""
    monkeypatch.setattr(processors, "ALL", (ToyProcessor(second=True).declaration,))


def gap_rows(twin: Twin) -> list[dict[str, object]]:
    prefix = ACCEPTED_GAPS.name.encode()
    gap_records = [r for r in twin.read(CHANGELOG) if (r.key or b"").startswith(prefix)]
    return [decode(r.value, ACCEPTED_GAPS.record).value for r in gap_records]


def work(twin: Twin, task: OpenTask, *idents: str, second: bool = False) -> None:
    """Send, decide, close."""
    send(twin, *idents)
    with task(second=second) as driver:
        driver.drain()


def test_an_input_added_later_starts_at_its_beginning_and_joins(twin: Twin, task: OpenTask) -> None:
    twin.log.append([toy_record("old", topic=SECOND, prefix=twin.prefix)])
    work(twin, task, "a")
    assert seen(twin) == ["a1"]
    work(twin, task, "a", second=True)
    assert sorted(seen(twin)) == ["a1", "a2", "old1"]
    work(twin, task, "a", second=True)
    assert sorted(seen(twin)) == ["a1", "a2", "a3", "old1"]


def test_an_input_taken_away_keeps_its_place(twin: Twin, task: OpenTask) -> None:
    twin.log.append([toy_record("s", topic=SECOND, prefix=twin.prefix)])
    work(twin, task, "a", second=True)
    work(twin, task, "a")
    twin.log.append([toy_record("s", topic=SECOND, prefix=twin.prefix)])
    work(twin, task, "a", second=True)
    assert sorted(seen(twin)) == ["a1", "a2", "a3", "s1", "s2"]


def test_an_input_created_again_stops_the_task_until_released(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a", "b")
    former = twin.topic_id(INPUT)
    twin.recreate(INPUT)
    send(twin, "c", "d", "e")
    command = f"headrace topics accept-gap {twin.name(INPUT)} 0"
    with pytest.raises(PositionsLost, match=command):
        task()
    with pytest.raises(PositionsLost, match=command):
        task("empty")
    settings = twin.settings()
    assert accept_gap(twin.log, settings, twin.name(INPUT), 0) == Gap(twin.name(INPUT), 0, 2, 2)
    work(twin, task, "a")
    assert seen(twin) == ["a1", "b1", "e1", "a2"]
    (row,) = gap_rows(twin)
    assert (row["from_offset"], row["to_offset"], row["partition"]) == (2, 2, 0)
    assert row["former_topic_id"] == former
    assert row["topic_id"] == twin.topic_id(INPUT)


def test_a_truncated_input_stops_the_task_until_released(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a")
    send(twin, "b", "c", "d")
    twin.truncate(twin.tp(INPUT), 3)
    command = f"headrace topics accept-gap {twin.name(INPUT)} 0"
    with pytest.raises(InputTruncated, match=command):
        task()
    gap = accept_gap(twin.log, twin.settings(), twin.name(INPUT), 0)
    assert gap == Gap(twin.name(INPUT), 0, 1, 3)
    work(twin, task, "a")
    assert seen(twin) == ["a1", "d1", "a2"]
    assert [(r["from_offset"], r["to_offset"]) for r in gap_rows(twin)] == [(1, 3)]


def test_truncating_what_was_decided_is_no_loss(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a", "b")
    twin.truncate(twin.tp(INPUT), 2)
    work(twin, task, "a")
    assert seen(twin) == ["a1", "b1", "a2"]


def test_a_marker_that_expired_with_its_record_is_no_loss(twin: Twin, task: OpenTask) -> None:
    """A topic that processors write ends with a marker; quiet for its retention, all of it goes."""
    producer = twin.log.producer(f"{twin.prefix}upstream")
    producer.open()
    producer.commit([toy_record("a", prefix=twin.prefix)])
    producer.close()
    assert twin.high_watermark(twin.tp(INPUT)) >= 1
    assert [r.key for r in twin.read(INPUT)] == [b"a"]
    work(twin, task)
    (end,) = twin.log.ends([twin.tp(INPUT)]).values()
    assert end == 2
    twin.truncate(twin.tp(INPUT), end)
    work(twin, task, "a")
    assert seen(twin) == ["a1", "a2"]


def test_the_changelog_created_again_stops_the_task(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a")
    twin.recreate(CHANGELOG)
    with pytest.raises(PositionsLost, match="no record of its inputs"):
        task()
    assert seen(twin) == ["a1"]


def test_nothing_is_released_where_nothing_is_missing(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a")
    with pytest.raises(UsageError, match="has no gap"):
        accept_gap(twin.log, twin.settings(), twin.name(INPUT), 0)
    with pytest.raises(NotFound, match="no processor reads"):
        accept_gap(twin.log, twin.settings(), twin.name(FACTS), 0)
    work(twin, task, "a")
    assert seen(twin) == ["a1", "a2"]
    assert gap_rows(twin) == []


def test_a_release_never_makes_another_input_start_again(twin: Twin, task: OpenTask) -> None:
    """With the record of known inputs gone, no one release may stand for the others."""
    twin.log.append([toy_record("s", topic=SECOND, prefix=twin.prefix)])
    work(twin, task, "a", second=True)
    twin.recreate(CHANGELOG)
    with pytest.raises(UsageError):
        accept_gap(twin.log, twin.settings(), twin.name(INPUT), 0)
    with pytest.raises(PositionsLost):
        task(second=True)
    assert len(seen(twin)) == 2


def test_a_release_fences_the_worker_that_has_the_task(twin: Twin, task: OpenTask) -> None:
    driver = task()
    send(twin, "a")
    driver.drain()
    send(twin, "b", "c")
    twin.truncate(twin.tp(INPUT), 2)
    accept_gap(twin.log, twin.settings(), twin.name(INPUT), 0)
    driver.close()
    work(twin, task)
    assert seen(twin) == ["a1", "c1"]


def test_rows_of_a_table_created_again_are_gone_and_positions_stay(
    twin: Twin, task: OpenTask
) -> None:
    work(twin, task, "a", "b")
    twin.recreate(ROWS)
    work(twin, task, "a")
    assert seen(twin) == ["a1", "b1", "a1"]


def test_an_input_that_lost_its_end_stops_the_task(
    twin: Twin, task: OpenTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New records would take offsets that the task has behind it, and be dropped as known."""
    work(twin, task, "a", "b")
    ends = twin.log.ends
    short = {twin.tp(INPUT): 1}
    with monkeypatch.context() as patch:
        patch.setattr(
            twin.log, "ends", lambda tps: {tp: short.get(tp, e) for tp, e in ends(tps).items()}
        )
        with pytest.raises(PositionsLost, match="lost records"):
            task()
    work(twin, task, "a")
    assert seen(twin) == ["a1", "b1", "a2"]


def test_a_task_that_never_opened_closes(twin: Twin, tmp_path: Path) -> None:
    Task(0, [ToyProcessor()], twin.log, twin.settings(), tmp_path, twin.clock).close()
