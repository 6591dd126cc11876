"""What is too much for one record, on the engine that finds it out: an accepted task goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pytest

from schemas import decode, encode, to_json
from streams.engine.records import Output
from tests.unit.protocols.sap.processor.support import cached
from tests.unit.protocols.sap.queries import stage
from tests.unit.protocols.sap.queries.stage import SapInboxAgent, task_id
from tests.unit.views.bench import Bench
from topology.declarations import Topic
from topology.sap import (
    SAP_INBOX,
    SAP_LOOKUPS,
    SAP_OUTCOMES,
    SAP_RESULTS,
    SAP_TASK_STATES,
    SAP_TASKS,
    SAP_VERDICTS,
    SAP_VERDICTS_DLQ,
)

Json = dict[str, Any]
LIMITS = {"".join(name): 5 for name in islice(product(ascii_lowercase, repeat=2), 256)}
TRACED = {"trace": True, "budget": LIMITS}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, partitions=1)
    yield made
    made.close()


def values(bench: Bench, topic: Topic) -> list[Any]:
    assert topic.record is not None
    return [decode(record.value or b"", topic.record).value for record in bench.records(topic.name)]


def outcome(bench: Bench, number: int) -> Json | None:
    """The last one of a task."""
    outcomes = [to_json("headrace.sap.SapResult", value) for value in values(bench, SAP_OUTCOMES)]
    return next((one for one in reversed(outcomes) if one["taskId"] == task_id(number)), None)


def test_a_hit_for_a_task_of_as_many_limits_as_it_may_have(bench: Bench) -> None:
    bench.send(SAP_TASKS.name, stage.cached(1))
    SapInboxAgent(bench).work()
    bench.send(SAP_TASKS.name, stage.cached(2, telemetry=TRACED))
    last = outcome(bench, 2)
    assert last is not None
    assert (last["status"], last["meta"]["headrace"]["rule"]) == ("SUCCEEDED", "cache_hit")
    assert len(last["constitutionalEvidence"]["policyChecks"]) == 256
    assert len(last["meta"]["headrace"]["steps"]) == 257


def waits(bench: Bench, **more: Any) -> Json:
    """Task 2 waits for the answer of task 1; what the cache is asked."""
    bench.send(SAP_TASKS.name, stage.cached(1), stage.cached(2, **more))
    assert values(bench, SAP_VERDICTS)[-1]["verdict"] == "waiting"
    lookup: Json = values(bench, SAP_LOOKUPS)[-1]
    return lookup


def answer(bench: Bench, lookup: Json, output: str) -> None:
    """A hit with an answer of some size, as no cache of this version gives it."""
    (label,) = {row["constitution"] for row in values(bench, SAP_TASK_STATES)}
    verdict = values(bench, SAP_VERDICTS)[-1] | {
        "verdictId": lookup["lookupId"],
        "verdict": "hit",
        "waitUntil": None,
        "version": 1,
        "ageSec": 0,
        "record": {**cached(lookup), "output_json": json.dumps(output)},
        "checks": [],
        "violations": [],
        "constitution": label,
    }
    raw = encode(SAP_VERDICTS.record or "", verdict)
    bench.log.append([Output(SAP_VERDICTS.name, task_id(2).encode(), raw)])
    bench.host.run()
    assert bench.records(SAP_VERDICTS_DLQ.name) == []


def test_a_hit_that_is_too_much_with_its_steps(bench: Bench) -> None:
    texts = [f"{n:03} {'be kind ' * 490}" for n in range(100)]
    lookup = waits(bench, context__constraints=texts, telemetry={"trace": True})
    room = SAP_OUTCOMES.max_bytes - sum(map(len, texts)) // 2
    answer(bench, lookup, "x" * room)
    last = outcome(bench, 2)
    assert last is not None
    assert (last["status"], len(last["output"])) == ("SUCCEEDED", room)
    assert last["meta"]["headrace"]["omitted"] == {"steps": 101}


def test_a_hit_that_is_too_much_in_any_way(bench: Bench) -> None:
    """The task is given to an agent, as if the cache had nothing."""
    answer(bench, waits(bench), "x" * SAP_OUTCOMES.max_bytes)
    assert outcome(bench, 2) is None
    assert [value["taskId"] for value in values(bench, SAP_INBOX)] == [task_id(1), task_id(2)]
    bench.send(SAP_RESULTS.name, stage.result(stage.cached(2)))
    last = outcome(bench, 2)
    assert last is not None
    assert (last["status"], last["meta"]["headrace"]["rule"]) == ("SUCCEEDED", "agent_status")
