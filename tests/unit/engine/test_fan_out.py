"""A cycle's effects are bounded: a record may cause only so much, and a batch is cut short."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas import decode
from streams.engine import step, work
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.records import Output, TopicPartition
from streams.settings import Settings
from tests.toy import FACTS, INPUT, RECORD, ToyProcessor, toy_record, toy_topics

LIMIT = 10_000


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> MemoryLog:
    monkeypatch.setattr(step, "STEP_BYTES", LIMIT)
    monkeypatch.setattr(work, "STEP_BYTES", LIMIT)
    log = MemoryLog(lambda: 1_000)
    log.create(toy_topics(1))
    return log


def run(log: MemoryLog, directory: Path) -> list[dict[str, str]]:
    host = LocalHost(log, lambda: [ToyProcessor()], Settings(partitions=1), directory)
    host.run()
    host.close()
    slots = log.slots(TopicPartition(FACTS.name, 0))
    return [decode(r.value, RECORD).value["data"] for r in slots if r is not None]


def test_a_batch_that_causes_too_much_is_decided_in_several_transactions(
    log: MemoryLog, tmp_path: Path
) -> None:
    log.append([toy_record(f"k{i}", large=4_000) for i in range(20)])
    facts = run(log, tmp_path)
    assert [fact["id"] for fact in facts] == [f"k{i}" for i in range(20)]
    markers = sum(slot is None for slot in log.slots(TopicPartition(FACTS.name, 0)))
    assert 20 * 4_000 / (2 * LIMIT) <= markers < 20


def test_dead_letters_of_what_is_left_over_are_written_once(log: MemoryLog, tmp_path: Path) -> None:
    for i in range(8):
        log.append([toy_record(f"k{i}", large=4_000), Output(INPUT.name, b"x", b"junk %d" % i)])
    facts = run(log, tmp_path)
    assert [fact["id"] for fact in facts] == [f"k{i}" for i in range(8)]
    letters = [r.value for r in log.slots(TopicPartition("toy.in.dlq", 0)) if r is not None]
    assert letters == [b"junk %d" % i for i in range(8)]


def test_one_record_that_causes_too_much_by_itself_is_refused(
    log: MemoryLog, tmp_path: Path
) -> None:
    log.append([toy_record("a"), toy_record("wide", large=2 * LIMIT), toy_record("b")])
    assert [(f["id"], f["kind"]) for f in run(log, tmp_path)] == [
        ("a", "seen"),
        ("wide", "too_large"),
        ("b", "seen"),
    ]
