"""Tasks of ASAP with snapshots, and workers that are killed: each record is judged once.

Versions and sequences have no gap and no duplicate, each idempotency key stands for one task, and
no key is held in the end.
"""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from schemas.asap import EXT_SNAPSHOT
from streams.engine.records import Output
from streams.engine.rows import store_key
from tests.e2e.environment import Environment, Worker
from tests.e2e.outputs import Json
from tests.processes import wait_for
from topology.asap import (
    ASAP_ADMISSIONS,
    ASAP_ENVELOPES,
    ASAP_ENVELOPES_DLQ,
    ASAP_EVENTS,
    ASAP_HELD,
    ASAP_INBOX,
    ASAP_LINKS,
    ASAP_LINKS_DLQ,
    ASAP_SNAPSHOTS,
)
from topology.core import CHANGELOG

pytestmark = pytest.mark.slow

DEAD_LETTERS = (ASAP_ENVELOPES_DLQ, ASAP_LINKS_DLQ)
WRITTEN = (ASAP_EVENTS, ASAP_INBOX, ASAP_LINKS, ASAP_SNAPSHOTS, CHANGELOG, *DEAD_LETTERS)
TASKS = 500
SAVES = 2
KILLS = 4
PLANNER = "urn:asap:agent:planner"
WORKER = "urn:asap:agent:worker"
REPEATED = 0.1
"""Share of the records that are sent twice."""


class Traffic:
    """What planner and worker say about tasks, in an order that keeps each task's own.

    A tenth of the requests has the idempotency key of another one, a tenth has a parent.
    """

    def __init__(self, environment: Environment, dice: random.Random, tasks: int) -> None:
        self._environment = environment
        self._dice = dice
        self.keys: dict[str, list[str]] = defaultdict(list)
        lines = [self._task(n) for n in range(tasks)]
        self.records: list[Output] = []
        while lines:
            some = lines[-50:]
            del lines[-50:]
            self.records += self._mixed(some)

    def _mixed(self, lines: list[list[Json]]) -> Iterator[Output]:
        queues = [iter(line) for line in lines]
        while queues:
            queue = self._dice.choice(queues)
            value = next(queue, None)
            if value is None:
                queues.remove(queue)
                continue
            record = self._environment.record(ASAP_ENVELOPES, value)
            yield from [record] * (2 if self._dice.random() < REPEATED else 1)

    def _task(self, n: int) -> list[Json]:
        task_id = f"t{n}"
        lot = self._dice.random()
        key = f"k{n // 2}" if lot < 0.1 else None
        if key is not None:
            self.keys[key].append(task_id)
        request = {
            "conversation_id": f"c{n % 97}",
            "parent_task_id": f"t{self._dice.randrange(n + 1)}x" if 0.1 < lot < 0.2 else None,
            "skill_id": "work",
            "input": {"n": n},
            "config": {"timeout_seconds": 86_400, "idempotency_key": key},
        }
        task_request = _envelope(task_id, "TaskRequest", request, PLANNER, WORKER)
        saves = [self._save(task_id, i) for i in range(1, SAVES + 1)]
        return [task_request, *saves, self._response(task_id)]

    def _save(self, task_id: str, i: int) -> Json:
        payload = {"update_type": "progress", "status": "working", "progress": {"percent": i}}
        extensions = {EXT_SNAPSHOT: {"data": {"at": i}, "checkpoint": i == 1}}
        return _said(task_id, f"{task_id}-{i}", "TaskUpdate", payload, extensions)

    def _response(self, task_id: str) -> Json:
        payload = {"status": "completed", "result": {}, "final_state": {"done": task_id}}
        return _said(task_id, f"{task_id}-end", "TaskResponse", {**payload, "metrics": None}, None)


def _said(
    task_id: str, id: str, kind: str, payload: Json, extensions: Json | None
) -> dict[str, Any]:
    body = {"task_id": task_id, **payload}
    if kind == "TaskUpdate":
        body["input_request"] = None
    made = _envelope(id, kind, body, WORKER, PLANNER)
    return {**made, "correlation_id": task_id, "extensions": extensions}


def _envelope(id: str, kind: str, payload: Json, sender: str, recipient: str) -> Json:
    return {
        "id": id,
        "asap_version": "0.1",
        "timestamp": "2026-11-21T10:00:00Z",
        "sender": sender,
        "recipient": recipient,
        "payload_type": kind,
        "payload": payload,
        "correlation_id": None,
        "trace_id": None,
        "extensions": None,
    }


@pytest.fixture
def environment(broker: str, tmp_path: Path) -> Iterator[Environment]:
    with Environment(broker, tmp_path) as environment:
        yield environment


def killed_amid(
    worker: Worker, environment: Environment, records: Sequence[Output], dice: random.Random
) -> Worker:
    """SIGKILL while these records are decided, and a new worker in the same place."""
    tail = environment.tail(ASAP_EVENTS)
    aim = tail.poll() + dice.randrange(1, len(records) // 2)
    environment.send(records)
    tail.until(aim)
    time.sleep(dice.random() / 20)
    worker.kill()
    return environment.start(worker.name, "--static", BATCH="200")


def test_versions_and_sequences_are_without_gap_though_workers_are_killed(
    environment: Environment, dice: random.Random
) -> None:
    traffic = Traffic(environment, dice, TASKS)
    worker = environment.start("first", "--static", BATCH="200")
    worker.wait_ready()
    share = len(traffic.records) // (KILLS + 1)
    for n in range(KILLS):
        part = traffic.records[n * share : (n + 1) * share]
        worker = killed_amid(worker, environment, part, dice)
    environment.send(traffic.records[KILLS * share :])
    tail = environment.tail(ASAP_EVENTS)
    tail.until(len(traffic.records), 300)
    wait_for(lambda: not buffered_keys(environment), "no key is held", look_s=0.2)
    worker.end()
    check(environment, traffic)


def all_visible(environment: Environment) -> bool:
    """Whether everything written can be read: Kafka answers a commit a moment before that."""
    tps = [tp for topic in WRITTEN for tp in environment.ends(topic)]
    return environment.log.ends(tps) == environment.log.high_watermarks(tps)


def buffered_keys(environment: Environment) -> list[bytes]:
    prefixes = tuple(store_key(table.name, "") for table in (ASAP_ADMISSIONS, ASAP_HELD))
    return [key for _, key in environment.changelog() if key.startswith(prefixes)]


def check(environment: Environment, traffic: Traffic) -> None:
    """What workers have left that have ended."""
    wait_for(lambda: all_visible(environment), "all is visible")
    assert buffered_keys(environment) == []
    facts = environment.values(ASAP_EVENTS)
    causes = Counter(fact["cause"] for fact in facts)
    assert len(causes) == len(facts) == len(traffic.records), "one fact per record"
    accepted = [fact for fact in facts if fact["verdict"] == "accepted"]
    by_task: dict[str, list[Json]] = defaultdict(list)
    for fact in accepted:
        by_task[fact["task_id"]].append(fact)
    for facts_of_task in by_task.values():
        assert sorted(fact["sequence"] for fact in facts_of_task) == [
            *range(1, len(facts_of_task) + 1)
        ]
    for topic in DEAD_LETTERS:
        assert environment.records(topic) == []
    check_snapshots(environment, set(by_task))
    check_keys(facts, traffic)
    delivered = Counter(e["id"] for e in environment.values(ASAP_INBOX))
    once = Counter(fact["envelope_id"] for fact in accepted)
    assert once.most_common(1)[0][1] == 1
    again = delivered - once
    resent = {f["task_id"] for f in facts if f["rule"] == "same_idempotency_key"}
    assert once - delivered == Counter()
    assert {id.removesuffix("-end") for id in again} <= resent, "only responses go out again"


def check_snapshots(environment: Environment, tasks: set[str]) -> None:
    rows = environment.values(ASAP_SNAPSHOTS)
    versions: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        versions[row["task_id"]].append(row["version"])
    assert set(versions) == tasks
    expected = [*range(1, SAVES + 2)]
    assert all(sorted(numbers) == expected for numbers in versions.values())


def check_keys(facts: Sequence[Json], traffic: Traffic) -> None:
    """Each key has one task; those that lost it point to its holder."""
    created = {fact["task_id"] for fact in facts if fact["rule"] == "task_created"}
    answers = {f["envelope_id"]: f["task_id"] for f in facts if f["rule"].startswith("same_idem")}
    for ids in traffic.keys.values():
        (holder,) = [id for id in ids if id in created]
        assert all(answers[id] == holder for id in ids if id != holder)


def test_links_go_through_the_log(environment: Environment, dice: random.Random) -> None:
    traffic = Traffic(environment, dice, 200)
    environment.send(traffic.records)
    worker = environment.start("only", "--static")
    environment.tail(ASAP_EVENTS).until(len(traffic.records))
    wait_for(lambda: all_links_answered(environment), "every question is answered", look_s=0.2)
    worker.end()
    check(environment, traffic)
    kinds = Counter(link["kind"] for link in environment.values(ASAP_LINKS))
    assert kinds["claim_ask"] == kinds["claim_answer"] > 0
    assert kinds["depth_ask"] == kinds["depth_answer"] > 0


def all_links_answered(environment: Environment) -> bool:
    """Whether no link is on its way: a record that has waited half a minute has asked again."""
    return all_visible(environment) and environment.drained((ASAP_ENVELOPES, ASAP_LINKS))
