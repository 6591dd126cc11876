"""A batch that cannot be sent in time is halved until it can be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from streams.engine.batch import BatchLimit
from streams.engine.memory import MemoryLog, MemoryProducer
from streams.engine.records import Output, TopicPartition
from streams.engine.task import Task
from streams.errors import Fenced
from streams.settings import Settings
from tests.toy import FACTS, INPUT, ToyProcessor, toy_record, toy_topics

SENT_IN_TIME = 20_000
"""Bytes of a transaction that the slow link can send before its time-out."""


class SlowProducer(MemoryProducer):
    """A producer whose larger transactions time out: the broker aborts and fences them."""

    def commit(self, outputs: Sequence[Output]) -> dict[TopicPartition, int]:
        if sum(len(output.value or b"") for output in outputs) > SENT_IN_TIME:
            raise Fenced("the transaction has timed out")
        return super().commit(outputs)


class SlowLog(MemoryLog):
    def producer(self, transactional_id: str) -> MemoryProducer:
        return SlowProducer(self, transactional_id)


def decide(log: SlowLog, folder: Path, limit: BatchLimit | None) -> int:
    """Open a task, and decide until it is fenced; return how many facts there are then."""
    task = Task(0, [ToyProcessor()], log, Settings(partitions=1, batch=64), folder, lambda: 0)
    task.batch_limit = limit or task.batch_limit
    task.open()
    if records := log.reader(task.resume()).poll(0):
        task.put(TopicPartition(INPUT.name, 0), records)
    try:
        while cycle := task.next_batch():
            task.submit(cycle)
            task.commit(cycle)
            task.mark_committed()
    except Fenced:
        task.batch_limit.shrink()
    finally:
        task.close()
    return sum(slot is not None for slot in log.slots(TopicPartition(FACTS.name, 0)))


def slow_log() -> SlowLog:
    log = SlowLog(lambda: 0)
    log.create(toy_topics(1))
    log.append([toy_record(f"r{n}", large=5000) for n in range(64)])
    return log


def test_a_batch_that_times_out_is_halved_until_it_is_sent(tmp_path: Path) -> None:
    log, limit = slow_log(), BatchLimit()
    facts = [decide(log, tmp_path, limit) for _ in range(8)]
    assert facts[0] == 0
    assert facts[-1] == 64


def test_without_a_limit_that_outlives_the_task_it_never_is(tmp_path: Path) -> None:
    log = slow_log()
    assert [decide(log, tmp_path, None) for _ in range(8)] == [0] * 8


def test_batches_shrink_to_one_record_and_grow_again() -> None:
    limit = BatchLimit()
    for _ in range(40):
        limit.shrink()
    assert limit.records(100_000) == 1
    for _ in range(16 * 17):
        limit.count_commit()
    assert limit.records(100_000) == 100_000
