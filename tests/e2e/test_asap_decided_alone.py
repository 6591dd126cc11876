"""Workers that are killed amid the tasks of many agents leave what an undisturbed one decides.

Everything is compared with a second run over the same command log, record by record and alone, in
memory: facts, inboxes, edges, what RTES is told, and the live rows.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from schemas import asap, decode, encode, from_json, to_json
from streams.engine.processor import Message
from streams.engine.records import Output, Record
from tests.e2e.asap_stories import Story, mixed
from tests.e2e.environment import Environment, Worker
from tests.e2e.outputs import PARTITIONS, Json, latest
from tests.processes import wait_for
from tests.unit.protocols.asap.processor.support import Bench
from topology.asap import (
    ASAP_ENVELOPES,
    ASAP_ENVELOPES_DLQ,
    ASAP_EVENTS,
    ASAP_INBOX,
    ASAP_LINKS_DLQ,
    ASAP_SNAPSHOTS_TABLE,
    ASAP_TASKS_TABLE,
)
from topology.core import LINEAGE_EDGES, RTES_RAW
from topology.declarations import Table, Topic

pytestmark = pytest.mark.slow

TASKS = 160
KILLS = 4
WRITTEN: tuple[Topic, ...] = (ASAP_EVENTS, ASAP_INBOX, LINEAGE_EDGES, RTES_RAW)
Written = Counter[tuple[str, bytes, str]]


def outputs(environment: Environment, envelopes: Sequence[Json]) -> list[Output]:
    record = str(ASAP_ENVELOPES.record)
    name = environment.name(ASAP_ENVELOPES)
    return [
        Output(name, asap.task_key(each).encode(), encode(record, from_json(record, each)))
        for each in envelopes
    ]


class Run:
    """Two workers; the first is killed again and again in the middle of the work."""

    def __init__(self, environment: Environment, dice: random.Random) -> None:
        self._environment, self._dice = environment, dice
        self._sent = 0
        self._workers = {name: self._start(name) for name in ("first", "second")}

    def _start(self, name: str) -> Worker:
        return self._environment.start(name, BATCH="50")

    def send(self, envelopes: Sequence[Json]) -> None:
        self._environment.send(outputs(self._environment, envelopes))
        self._sent += len(envelopes)

    def kill_amid(self) -> None:
        """After any of the facts to come, if the workers have left any to come."""
        tail = self._environment.tail(ASAP_EVENTS)
        seen = tail.poll()
        tail.until(seen + self._dice.randrange(max(1, self._sent - seen)))
        time.sleep(self._dice.random() / 20)
        name = self._dice.choice(list(self._workers))
        self._workers[name].kill()
        self._workers[name] = self._start(name)

    def settle(self) -> None:
        """Until every record has its fact."""
        tail = self._environment.tail(ASAP_EVENTS)
        wait_for(lambda: tail.poll() >= self._sent, f"{self._sent} facts", 120.0, 0)

    def end(self) -> None:
        for worker in self._workers.values():
            worker.wait_ready()
            worker.end()


def test_every_version_and_every_fact_is_there_once_though_workers_are_killed(
    environment: Environment, dice: random.Random
) -> None:
    run = Run(environment, dice)
    first = [Story(f"t{n}", dice, key=f"key-{n}" if n % 4 == 0 else None) for n in range(TASKS)]
    envelopes = mixed(first, dice)
    size = len(envelopes) // KILLS
    for kill in range(KILLS):
        run.send(envelopes[kill * size : None if kill == KILLS - 1 else (kill + 1) * size])
        run.kill_amid()
    run.settle()
    later = [Story(f"c{n}", dice, parent=f"t{n}") for n in range(TASKS // 4)]
    later += [Story(f"k{n}", dice, key=f"key-{n}") for n in range(0, TASKS, 8)]
    run.send(mixed(later, dice))
    run.kill_amid()
    run.settle()
    run.end()
    assert environment.records(ASAP_ENVELOPES_DLQ) == environment.records(ASAP_LINKS_DLQ) == []
    bench = decided_alone(environment)
    expected = written_by(bench)
    actual = written(environment)
    assert_same(actual - expected, expected - actual)
    for table in (ASAP_TASKS_TABLE, ASAP_SNAPSHOTS_TABLE):
        assert rows(environment, table) == rows_of(bench, table)
    check_versions(bench)


def assert_same(more: Written, less: Written) -> None:
    """Says a few of the records that differ: pytest would compare them all, for minutes."""
    assert not more, sorted(more)[:5]
    assert not less, sorted(less)[:5]


def decided_alone(environment: Environment) -> Bench:
    """The same records, one at a time and in the order of their times."""
    bench = Bench(PARTITIONS)
    records = environment.records(ASAP_ENVELOPES)
    for record in sorted(records, key=lambda r: (r.timestamp, r.partition, r.offset)):
        bench.now = max(bench.now, record.timestamp)
        bench.settle(bench.decide(_message(record)))
    return bench


def _message(record: Record) -> Message:
    read = decode(record.value, str(ASAP_ENVELOPES.record))
    return Message(ASAP_ENVELOPES, record, read.value, read.body, read.current)


def written(environment: Environment) -> Written:
    return Counter(
        (topic.name, record.key or b"", _text(topic, decode(record.value, str(topic.record)).value))
        for topic in WRITTEN
        for record in environment.records(topic)
    )


def written_by(bench: Bench) -> Written:
    return Counter(
        (one.topic.name, one.key.encode(), _text(one.topic, one.value))
        for one in bench.sent
        if one.topic in WRITTEN
    )


def _text(topic: Topic, value: Json) -> str:
    return str(to_json(str(topic.record), value))


def rows(environment: Environment, table: Table) -> dict[str, Any]:
    assert table.topic is not None
    live = latest(environment.records(table.topic))
    return {key.decode(): decode(row, table.record).value for (_, key), row in live.items()}


def rows_of(bench: Bench, table: Table) -> dict[str, Any]:
    return dict(bench.rows(table))


def check_versions(bench: Bench) -> None:
    """No version of a task was given twice, and none was left out."""
    facts = bench.facts()
    modes = {row["task_id"]: row["state_mode"] for row in bench.rows(ASAP_TASKS_TABLE).values()}
    for task_id, mode in modes.items():
        of_task = [fact for fact in facts if fact["task_id"] == task_id and fact["sequence"]]
        assert [fact["sequence"] for fact in of_task] == list(range(1, len(of_task) + 1))
        saved = [fact["snapshot_version"] for fact in of_task if fact["snapshot_version"]]
        if mode == "snapshot":
            assert saved == list(range(1, len(saved) + 1))
        else:
            assert saved == [fact["sequence"] for fact in of_task if fact["snapshot_version"]]
    assert set(modes.values()) == {"snapshot", "event-sourced"}
