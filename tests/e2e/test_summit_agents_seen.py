"""What was acknowledged of an agent is known to every later call, in whichever partition it lies.

Two workers share the partitions: the agent's rows are written by one, most calls are judged by the
other, by its own copy (Summit guide, 5).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from schemas import encode, from_json
from streams.engine.records import Output
from tests.e2e.environment import Environment
from tests.e2e.outputs import PARTITIONS, Json, value_as_json
from tests.processes import wait_for
from tests.unit.protocols.summit.processor.support import AGENT, invoke, manifest
from topology.declarations import Topic
from topology.keys import partition_of
from topology.summit import SUMMIT_AGENTS_TABLE, SUMMIT_CALLS, SUMMIT_EVENTS, SUMMIT_MANIFESTS

pytestmark = pytest.mark.slow

ROUNDS = 25


@pytest.fixture
def fleet(broker: str, tmp_path: Path) -> Iterator[Environment]:
    with Environment(broker, tmp_path) as environment:
        yield environment


def record(env: Environment, topic: Topic, key: str, value: Json | None) -> Output:
    assert topic.record is not None
    raw = None if value is None else encode(topic.record, from_json(topic.record, value))
    return Output(env.name(topic), key.encode(), raw)


def verdicts(env: Environment, *outputs: Output) -> list[Json]:
    """Send records; the facts that answer them, as soon as they can be read."""
    positions = env.send(outputs)
    tail = env.tail(SUMMIT_EVENTS)
    by_cause: dict[str, Json] = {}

    def all_there() -> bool:
        begin = len(tail.records)
        tail.poll()
        for one in tail.records[begin:]:
            fact = value_as_json(SUMMIT_EVENTS, one)
            by_cause[fact["cause"]] = fact
        return set(positions) <= set(by_cause)

    wait_for(all_there, f"verdicts on {positions}", look_s=0)
    return [by_cause[position] for position in positions]


def one_per_partition(numbers: Iterator[int]) -> list[str]:
    """Ids of new runs, one in each partition."""
    ids: dict[int, str] = {}
    while len(ids) < PARTITIONS:
        run_id = f"run-{next(numbers)}"
        ids.setdefault(partition_of(run_id.encode(), PARTITIONS), run_id)
    return list(ids.values())


def rounds(env: Environment, numbers: Iterator[int], first: int, last: int) -> None:
    """Register and withdraw, and call from every partition as soon as the verdict is there."""
    known: Json = {}
    for n in range(first, last):
        version, withdrawn = f"1.0.{n}", n % 5 == 4
        value = None if withdrawn else manifest(version=version)
        before = known
        (known,) = verdicts(env, record(env, SUMMIT_MANIFESTS, AGENT, value))
        assert known["verdict"] == "accepted", known
        runs = one_per_partition(numbers)
        calls = [record(env, SUMMIT_CALLS, run, invoke(run)) for run in runs]
        for fact in verdicts(env, *calls):
            if withdrawn:
                assert fact["rule"] == "agent.withdrawn", fact
                assert fact["manifestHash"] == before["manifestHash"]
                assert len(fact["agentsSeen"]) == PARTITIONS
            else:
                assert (fact["rule"], fact["manifestVersion"]) == ("call.accepted", version), fact
                assert fact["manifestHash"] == known["manifestHash"]


def test_a_call_is_judged_by_the_manifest_whose_verdict_was_readable(fleet: Environment) -> None:
    fleet.start("one")
    fleet.start("two")
    rounds(fleet, count(), 0, ROUNDS)
    assert SUMMIT_AGENTS_TABLE.topic is not None
    rows = fleet.records(SUMMIT_AGENTS_TABLE.topic)
    assert [row.key for row in rows].count(AGENT.encode()) == ROUNDS
    assert {row.partition for row in rows} == {partition_of(AGENT.encode(), PARTITIONS)}


def test_it_is_so_too_when_a_worker_is_killed(fleet: Environment) -> None:
    one, two, numbers = fleet.start("one"), fleet.start("two"), count()
    rounds(fleet, numbers, 0, 3)
    fleet.send([record(fleet, SUMMIT_MANIFESTS, AGENT, manifest(version="0.0.1"))])
    one.kill()
    rounds(fleet, numbers, 5, 8)
    fleet.start("one")
    two.kill()
    rounds(fleet, numbers, 10, 13)
