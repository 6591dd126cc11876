"""How many dead letters wait: those that were sent back, or are kept no more, do not."""

from __future__ import annotations

from pathlib import Path

from schemas import encode
from streams.engine.memory import MemoryLog
from streams.engine.records import Output, TopicPartition
from streams.log.open_letters import DeadLetters
from tests.unit.views.bench import Bench
from topology.apc import APC_PACKETS_DLQ
from topology.core import AUDIT_REDRIVES
from topology.sap import SAP_TASKS_DLQ

PREFIX = "acme."
NAME = PREFIX + APC_PACKETS_DLQ.name


def letter(topic: str = NAME) -> Output:
    return Output(topic, b"k", b"bytes", (), 0)


def redrive_fact(place: str, **members: str) -> Output:
    """Return the fact that a dead letter of `apc.packets` was sent back.  members: other values."""
    fact = {
        "redrive_id": "r",
        "dead_letter": place,
        "source": "apc.packets/0/0",
        "topic": "apc.packets",
        "value_sha256": "",
        "code": "frame_unknown",
        "operator": "ann",
        "at": 0,
        **members,
    }
    prefix = place[: place.index(APC_PACKETS_DLQ.name)]
    name = prefix + AUDIT_REDRIVES.name
    return Output(name, place.encode(), encode(AUDIT_REDRIVES.record or "", fact), (), 0)


def in_a_transaction(log: MemoryLog, *outputs: Output) -> None:
    producer = log.producer("t")
    producer.open()
    producer.commit(outputs)
    producer.close()


def test_each_is_counted_once_whatever_offsets_say(tmp_path: Path) -> None:
    bench = Bench(tmp_path, prefix=PREFIX)
    counted = DeadLetters(bench.log, PREFIX)
    counted.read_new()
    assert set(counted.counts.values()) == {0}
    for _ in range(3):
        in_a_transaction(bench.log, letter(), letter(PREFIX + SAP_TASKS_DLQ.name))
        counted.read_new()
    place = TopicPartition(NAME, 0)
    assert bench.log.ends([place])[place] > 3, "markers take offsets"
    assert counted.counts[APC_PACKETS_DLQ.name] == counted.counts[SAP_TASKS_DLQ.name] == 3
    bench.close()


def test_what_was_sent_back_does_not_wait(tmp_path: Path) -> None:
    bench = Bench(tmp_path, prefix=PREFIX)
    counted = DeadLetters(bench.log, PREFIX)
    in_a_transaction(bench.log, letter(), letter())
    in_a_transaction(bench.log, redrive_fact(f"{NAME}/0/1"))
    for _ in range(2):
        counted.read_new()
        assert counted.counts[APC_PACKETS_DLQ.name] == 1
    bench.close()


def test_what_retention_has_removed_does_not_wait(tmp_path: Path) -> None:
    bench = Bench(tmp_path, prefix=PREFIX)
    counted = DeadLetters(bench.log, PREFIX)
    in_a_transaction(bench.log, letter(), letter())
    counted.read_new()
    bench.log.truncate(TopicPartition(NAME, 0), 1)
    counted.read_new()
    assert counted.counts[APC_PACKETS_DLQ.name] == 1
    bench.close()
