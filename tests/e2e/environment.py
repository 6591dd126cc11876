"""headrace as its users run it: topics on a real broker, `headrace` processes, what they leave."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from schemas import decode
from streams.engine.headers import CAUSE
from streams.engine.kafka import KafkaLog
from streams.engine.records import Output, Record, TopicPartition, header, position
from streams.engine.rows import store_key
from streams.engine.task import group_of
from streams.engine.work import timer_of
from streams.ops.topics import create_topics
from streams.settings import Settings
from tests.chaos import workers
from tests.chaos.cluster import Tail
from tests.e2e.outputs import PARTITIONS, Json, Outputs, value_as_json
from tests.processes import PATIENCE_S, ROOT, Process, environ_of, named, wait_for
from topology import topics
from topology.apc import APC_EVENTS, APC_PACKETS, APC_PACKETS_DLQ, APC_TRANSFERS
from topology.core import CHANGELOG, INPUT_POSITIONS, RTES_RAW, TIMERS
from topology.declarations import Topic
from topology.saop import SAOP_CONTROLS, SAOP_REWINDS, SAOP_TASK_SIGNALS, SAOP_TURNS

SOON_MS = 120_000
"""Timers due later than this are left alone when a run is drained."""
_TIMERS = store_key(TIMERS.name, "")
INPUTS = (
    APC_PACKETS, APC_TRANSFERS, RTES_RAW, SAOP_CONTROLS, SAOP_REWINDS, SAOP_TURNS,
    SAOP_TASK_SIGNALS,
)  # fmt: skip


class Worker(workers.Worker):
    """One `headrace worker` process."""

    MODULE = "streams.cli"

    def end(self, patience_s: float = PATIENCE_S) -> None:
        """SIGTERM, and a clean end."""
        self.terminate()
        assert self.exit_code(patience_s) == 0, self.text()[-3000:]


class Environment(Outputs):
    """One prefix on a broker.  directory: for state directories and logs of workers.

    Kills its workers and deletes its topics in the end.
    """

    def __init__(self, bootstrap: str, directory: Path) -> None:
        super().__init__(f"e2e-{uuid.uuid4().hex[:8]}.")
        self.directory = directory
        self.settings = Settings.load(
            {},
            bootstrap=bootstrap,
            prefix=self.prefix,
            partitions=PARTITIONS,
            state_dir=directory / "cli",
        )
        self.numbers = range(PARTITIONS)
        self.log = KafkaLog(bootstrap, {}, group_of(self.settings))
        self._processes: list[Process] = []
        self._tails: dict[str, Tail] = {}
        create_topics(self.log, self.settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            print(f"--- {process.name}\n{process.text()[-4000:]}")  # shown when the test fails
        for tail in self._tails.values():
            tail.close()
        self.log.delete([self.name(topic) for topic in topics.ALL])
        self.log.close()

    def settings_of(self, worker: str) -> Settings:
        return replace(self.settings, state_dir=self.directory / worker)

    def _environ(self, **settings: str) -> dict[str, str]:
        variables = {
            "BOOTSTRAP": self.settings.bootstrap or "",
            "PREFIX": self.prefix,
            "STATE_DIR": str(self.settings.state_dir),
            **settings,
        }
        return named(variables)

    def start(self, name: str, *arguments: str, **settings: str) -> Worker:
        """A worker on the state directory of that name.  settings: e.g. BATCH="50"."""
        log = self.directory / f"{name}-{len(self._processes)}.log"
        worker = Worker(
            name, self.directory / name, log, self._environ(**settings), "worker", *arguments
        )
        self._processes.append(worker)
        return worker

    def process(self, name: str, *arguments: str) -> Process:
        """A `headrace` command that goes on by itself."""
        log = self.directory / f"{name}.log"
        process = Process(name, log, self._environ(), "streams.cli", *arguments)
        self._processes.append(process)
        return process

    def headrace(self, *arguments: str, stdin: str = "") -> str:
        """What a `headrace` command prints.  Fails when it does."""
        ran = subprocess.run(
            [sys.executable, "-m", "streams.cli", *arguments],
            cwd=ROOT,
            env=environ_of(self._environ()),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def verify(self) -> None:
        """`headrace verify` finds nothing."""
        verify = self.process("verify", "verify")
        assert verify.exit_code(3 * PATIENCE_S) == 0, verify.text()[-3000:]

    def query(self, *arguments: str) -> Any:
        return json.loads(self.headrace(*arguments))

    def send(self, outputs: Sequence[Output]) -> list[str]:
        """Positions of the records, in order."""
        return [position(record) for record in self.log.append(outputs)]

    def tail(self, topic: Topic) -> Tail:
        if topic.name not in self._tails:
            partitions = topics.partitions_of(topic, PARTITIONS)
            self._tails[topic.name] = Tail(self.log, self.name(topic), partitions)
        return self._tails[topic.name]

    def records(self, topic: Topic) -> list[Record]:
        """All that is committed by now, by partition in order."""
        records = self.tail(topic).catch_up()
        return sorted(records, key=lambda record: (record.partition, record.offset))

    def values(self, topic: Topic) -> list[Json]:
        return [value_as_json(topic, record) for record in self.records(topic)]

    def await_answers(self, positions: Sequence[str]) -> list[tuple[str, Json]]:
        """For each input position what it was answered with: ("fact", its verdict) or
        ("dead letter", headers).  Waits for them; fails when one has two answers.
        """
        causes = set(positions)
        by_cause: dict[str, tuple[str, Json]] = {}
        seen = {APC_EVENTS: 0, APC_PACKETS_DLQ: 0}

        def look() -> bool:
            for topic in seen:
                tail = self.tail(topic)
                tail.poll()
                for record in tail.records[seen[topic] :]:
                    answer = _answer(topic, record)
                    cause = (header(record, CAUSE) or b"").decode()
                    if answer is not None and cause in causes:
                        assert cause not in by_cause, f"{cause} was answered twice"
                        by_cause[cause] = answer
                seen[topic] = len(tail.records)
            return by_cause.keys() == causes

        wait_for(look, f"{len(causes)} answers", look_s=0)
        return [by_cause[one] for one in positions]

    def verdicts(self, packets: Sequence[Json]) -> list[Json]:
        """Send packets; the facts that answer them."""
        answers = self.await_answers(self.send([self.packet(packet) for packet in packets]))
        assert all(kind == "fact" for kind, _ in answers), answers
        return [fact for _, fact in answers]

    def count(self, topic: Topic) -> int:
        """How many records are committed by now."""
        return len(self.tail(topic).catch_up())

    def changelog(self) -> Mapping[tuple[int, bytes], bytes]:
        """The live rows of internal tables, by partition and key."""
        return self.tail(CHANGELOG).rows()

    def drained(self, inputs: Sequence[Topic] = INPUTS) -> bool:
        """All input is decided, nothing is on its way, and no timer is due soon."""
        rows = self.changelog()
        horizon = time.time() * 1000 + SOON_MS
        for _, key in rows:
            if key.startswith(_TIMERS):
                _, timer = timer_of(key[len(_TIMERS) :].decode(), {})
                if timer.due_ms < horizon:
                    return False
        for topic in inputs:
            tail = self.tail(topic)
            tail.catch_up()
            key = store_key(INPUT_POSITIONS.name, topic.name)
            for partition, offset in tail.next.items():
                row = rows.get((partition, key))
                if row is None or decode(row, INPUT_POSITIONS.record).value["next_offset"] < offset:
                    return False
        return True

    def drain(self, patience_s: float = 150.0, inputs: Sequence[Topic] = INPUTS) -> None:
        wait_for(lambda: self.drained(inputs), "drained", patience_s, 0.2)

    def until(self, condition: Callable[[], object], what: str) -> None:
        wait_for(condition, what, look_s=0.05)

    def ends(self, topic: Topic) -> dict[TopicPartition, int]:
        name = self.name(topic)
        numbers = range(topics.partitions_of(topic, PARTITIONS))
        return self.log.ends([TopicPartition(name, number) for number in numbers])


def _answer(topic: Topic, record: Record) -> tuple[str, Json] | None:
    if topic is APC_PACKETS_DLQ:
        return "dead letter", dict(record.headers)
    fact = value_as_json(topic, record)
    owed = fact["verdict"] in ("accepted", "duplicate", "rejected")
    return ("fact", fact) if owed else None
