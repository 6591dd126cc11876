"""`headrace sink sqlite` as a process on a real Kafka, killed again and again."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

from schemas import decode
from streams.engine.kafka import KafkaLog
from streams.engine.log import NewTopic
from streams.engine.records import Output, Record, TopicPartition, position
from streams.ingress.edges import ingress_topic_of
from streams.ops.sink.rows import TOPICS
from streams.ops.system import running_system
from streams.processing.encode import to_output
from streams.settings import Settings
from streams.view_store.view import View
from streams.views.parse import parse_position
from tests.processes import environ_of, wait_for
from tests.unit.ops.sink.facts import event, move, partition, pulse, thought, turn
from tests.unit.protocols.saop.queries.stage import move as sent_move
from tests.unit.protocols.saop.queries.stage import pulse as sent_pulse
from tests.unit.protocols.saop.queries.stage import turn as envelope
from topology.saop import RTES_EVENTS, SAOP_LOG
from topology.topics import config_of

pytestmark = pytest.mark.slow

PARTITIONS = 4
TASKS, SESSIONS = 7, 5
RECORDS = 20_000
ROUNDS = 10


class Cluster:
    """The two topics under a prefix of their own; commit() is one transaction."""

    def __init__(self, bootstrap: str) -> None:
        self.prefix = f"sink{uuid.uuid4().hex[:6]}."
        self._bootstrap = bootstrap
        self.log = KafkaLog(bootstrap, {}, f"{self.prefix}sink")
        names = [self.prefix + topic.name for topic in (RTES_EVENTS, SAOP_LOG)]
        self.log.create([NewTopic(name, PARTITIONS, config_of(RTES_EVENTS)) for name in names])
        self.tps = [TopicPartition(name, n) for name in names for n in range(PARTITIONS)]
        self._producer = self.log.producer(f"{self.prefix}writer")
        self._producer.open()

    @property
    def environ(self) -> dict[str, str]:
        return {"HEADRACE_BOOTSTRAP": self._bootstrap, "HEADRACE_PREFIX": self.prefix}

    def commit(self, outputs: list[Output]) -> None:
        placed = [o._replace(partition=partition(o, PARTITIONS)) for o in outputs]
        self._producer.commit(placed)

    def records(self) -> list[Record]:
        return committed(self.log, sorted({tp.topic for tp in self.tps}), PARTITIONS)

    def close(self) -> None:
        self._producer.close()
        self.log.delete(sorted({tp.topic for tp in self.tps}))
        self.log.close()


def committed(log: KafkaLog, topics: Sequence[str], partitions: int) -> list[Record]:
    """Everything that was committed to these topics."""
    tps = [TopicPartition(name, n) for name in topics for n in range(partitions)]
    ends = log.ends(tps)
    records: list[Record] = []
    with log.reader(log.starts(tps)) as reader:
        while any(reader.position(tp) < end for tp, end in ends.items()):
            records += reader.poll(1)
    return records


@pytest.fixture
def cluster(broker: str) -> Iterator[Cluster]:
    cluster = Cluster(broker)
    yield cluster
    cluster.close()


class Told(Protocol):
    @property
    def environ(self) -> dict[str, str]: ...


def start(cluster: Told, db: Path, *args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "streams.cli", "sink", "sqlite", "--db", str(db), *args]
    return subprocess.Popen(
        command, env=environ_of(cluster.environ), stderr=subprocess.PIPE, text=True
    )


def run(cluster: Told, db: Path, *args: str) -> tuple[int, str]:
    process = start(cluster, db, *args)
    _, output = process.communicate(timeout=120)
    return process.returncode, output


class Writer:
    """Records in an order that the random numbers give; each task's turns and each session's
    events count on."""

    def __init__(self, prefix: str, chance: random.Random) -> None:
        self._prefix, self._chance = prefix, chance
        self._turns = dict.fromkeys((f"task-{n}" for n in range(TASKS)), 0)
        self._events = dict.fromkeys((f"s-{n}" for n in range(SESSIONS)), 0)

    def some(self, count: int) -> list[Output]:
        return [self._one() for _ in range(count)]

    def _one(self) -> Output:
        task_id = self._chance.choice(list(self._turns))
        if self._chance.random() < 0.3:
            self._turns[task_id] += self._chance.choice((1, 1, 1, 3))
            return turn(task_id, self._turns[task_id], thought="é" * 50, prefix=self._prefix)
        session_id = self._chance.choice(list(self._events))
        self._events[session_id] += 1
        state = self._chance.choice(["IN_PROGRESS", "FAILED"])
        git_hash = self._chance.choice([None, f"{self._chance.getrandbits(40):010x}"])
        payloads = (pulse("line"), thought(1, "hm"), move(task_id, state, git_hash))
        payload = self._chance.choice(payloads)
        return event(session_id, self._events[session_id], payload, prefix=self._prefix)


def query_rows(db: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True, timeout=30)) as connection:
        return connection.execute(query).fetchall()


def written(db: Path) -> int:
    try:
        count: int = query_rows(db, "SELECT count(*) FROM agent_logs")[0][0]
    except sqlite3.OperationalError:  # there is no file, or no table yet
        return 0
    return count


def has(db: Path, count: int) -> bool:
    return written(db) >= count


def test_every_record_is_there_once_whatever_kills_the_sink(
    cluster: Cluster, tmp_path: Path
) -> None:
    db, seed = tmp_path / "agents.db", random.randrange(2**32)
    chance = random.Random(seed)
    writer = Writer(cluster.prefix, chance)
    for number in range(ROUNDS):
        process = start(cluster, db)
        for _ in range(RECORDS // ROUNDS // 200):
            cluster.commit(writer.some(200))
        produced = (number + 1) * RECORDS // ROUNDS
        target = chance.randint(min(written(db) + 1, produced), produced)
        wait_for(partial(has, db, target), f"{target} of seed {seed}")
        process.send_signal(signal.SIGTERM if number == 5 else signal.SIGKILL)
        _, output = process.communicate(timeout=60)
        assert process.returncode == (0 if number == 5 else -signal.SIGKILL), output
    code, output = run(cluster, db, "--once")
    assert code == 0, output
    check(cluster, db)
    assert run(cluster, db, "--once") == (0, "0 records written\n")


def check(cluster: Cluster, db: Path) -> None:
    records = cluster.records()
    assert len(records) == RECORDS
    query = 'SELECT topic, "partition", "offset" FROM agent_logs'
    places = query_rows(db, query)
    assert sorted(places) == sorted((r.topic, r.partition, r.offset) for r in records)
    turns = query_rows(db, "SELECT task_id, turn_index, envelope_json FROM turns_in_order")
    assert [row[:2] for row in turns] == sorted(row[:2] for row in turns)
    logged = [decode(r.value, "headrace.saop.SaopTurnLogged").value["turn"] for r in _of(records)]
    expected = sorted((turn["metadata"]["task_id"], turn["turn_index"]) for turn in logged)
    assert [row[:2] for row in turns] == expected
    assert all(json.loads(row[2])["turn_index"] == row[1] for row in turns)
    latest = last_transitions(records)
    rows = query_rows(db, "SELECT session_id, id, state, updated_sequence, head_hash FROM tasks")
    assert {row[:2]: row[2:] for row in rows if row[0] is not None} == latest
    assert query_rows(db, "PRAGMA integrity_check") == [("ok",)]


def _of(records: list[Record], name: str = SAOP_LOG.name) -> list[Record]:
    return [record for record in records if record.topic.endswith(name)]


def last_transitions(records: list[Record]) -> dict[tuple[str, str], tuple[Any, ...]]:
    """State, sequence and latest commit of each task, by a fold of the events."""
    tasks: dict[tuple[str, str], tuple[Any, ...]] = {}
    for record in _of(records, RTES_EVENTS.name):
        value = decode(record.value, "headrace.rtes.RtesRecord").value
        kind, payload = value["payload"]
        if kind == "headrace.rtes.TaskTransition":
            which = (value["session_id"], payload["task_id"])
            head = payload["git_hash"] or tasks.get(which, (None, None, None))[2]
            tasks[which] = (payload["to_state"], value["sequence"], head)
    return tasks


def test_a_second_sink_ends_with_1(cluster: Cluster, tmp_path: Path) -> None:
    """Both follow; as soon as one has written, the other finds out."""
    db = tmp_path / "agents.db"
    both = [start(cluster, db), start(cluster, db)]
    writer = Writer(cluster.prefix, random.Random(1))

    def one_ended() -> bool:
        cluster.commit(writer.some(10))
        return any(process.poll() is not None for process in both)

    wait_for(one_ended, "one of two sinks ends")
    for process in both:
        process.send_signal(signal.SIGTERM)
    outputs = [process.communicate(timeout=60)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 1], outputs
    assert sum("another sink writes" in text for text in outputs) == 1
    assert run(cluster, db, "--once")[0] == 0
    assert written(db) == len(cluster.records())


def test_files_of_another_prefix_are_refused(broker: str, cluster: Cluster, tmp_path: Path) -> None:
    db = tmp_path / "agents.db"
    assert run(cluster, db, "--once")[0] == 0
    other = Cluster(broker)
    code, output = run(other, db, "--once")
    other.close()
    assert (code, "prefix" in output) == (1, True)


def test_what_real_workers_write_is_there_once(
    broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turns out of order and duplicates go in; what the worker makes of them is in the file."""
    prefix, db = f"sw{uuid.uuid4().hex[:6]}.", tmp_path / "agents.db"
    monkeypatch.setenv("HEADRACE_PREFIX", prefix)
    monkeypatch.setenv("HEADRACE_PARTITIONS", "2")
    settings = Settings(bootstrap=broker, prefix=prefix, partitions=2, state_dir=tmp_path / "state")
    log = KafkaLog(broker, {}, f"{prefix}sink")
    with (
        running_system(settings, lambda line: None),
        closing(KafkaTarget(log, prefix, broker)) as place,
    ):
        killed = start(place, db)
        sent = commands(random.Random(7))
        outputs = [to_output(ingress_topic_of(topic), value, 0, settings) for topic, value in sent]
        records = log.append(outputs)
        wait_for(partial(has, db, 50), "the sink has begun")
        killed.kill()
        killed.communicate()
        with View(log, tmp_path / "view", prefix) as view:
            for record in {(r.topic, r.partition): r for r in records}.values():
                view.wait(parse_position(position(record)), 60)
        assert run(place, db, "--once")[0] == 0
        facts = place.records()
    turns = query_rows(db, "SELECT task_id, turn_index FROM turns_in_order")
    assert turns == [(f"task-{n}", index) for n in range(3) for index in range(100)]
    assert len(query_rows(db, "SELECT * FROM agent_logs")) == len(facts)
    numbers = query_rows(
        db, "SELECT sequence FROM agent_logs WHERE session_id = 's-0' ORDER BY log_id"
    )
    assert [number for (number,) in numbers] == list(range(1, 302))
    states = query_rows(db, "SELECT session_id, id, state FROM tasks ORDER BY id")
    assert states == [
        ("s-0", "task-0", "IN_PROGRESS"),
        (None, "task-1", None),
        (None, "task-2", None),
    ]


class KafkaTarget(NamedTuple):
    """What the commands are told, and what the facts are."""

    log: KafkaLog
    prefix: str
    bootstrap: str

    @property
    def environ(self) -> dict[str, str]:
        return {"HEADRACE_BOOTSTRAP": self.bootstrap, "HEADRACE_PREFIX": self.prefix}

    def records(self) -> list[Record]:
        return committed(self.log, [self.prefix + topic.name for topic in TOPICS], 2)

    def close(self) -> None:
        names = [name for name in self.log.topics() if name.startswith(self.prefix)]
        self.log.delete(names)
        self.log.close()


def commands(chance: random.Random) -> list[tuple[str, Any]]:
    """Three tasks' turns, no more than ten out of order, and a session's pulses; some twice."""
    turns = [(index + chance.random() * 10, n, index) for n in range(3) for index in range(100)]
    sent = [("saop.turns", envelope(f"task-{n}", index)) for _, n, index in sorted(turns)]
    sent += [("rtes.raw", sent_pulse("s-0", f"line {n}")) for n in range(300)]
    sent.append(("rtes.raw", sent_move("s-0", "task-0", "PENDING", "IN_PROGRESS")))
    return [each for each in sent for _ in range(chance.choice((1, 1, 2)))]
