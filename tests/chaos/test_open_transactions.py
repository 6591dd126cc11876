"""A deadline counts by the log, also for what lies behind somebody else's open transaction."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from schemas import sap
from streams.engine.metrics import GATE
from streams.engine.records import Record, TopicPartition
from tests.chaos.foreign import OpenTransaction
from tests.e2e.environment import Environment, Worker
from tests.e2e.outputs import PARTITIONS, Json
from tests.e2e.sap_site import Site
from tests.e2e.sap_traffic import plain_task
from tests.unit.protocols.apc.processor.packets import ack, pid, waiting
from topology.apc import APC_EVENTS, APC_PACKETS
from topology.declarations import Topic
from topology.keys import partition_of
from topology.sap import SAP_OUTCOMES, SAP_TASKS, SAP_VERDICTS

TTL_MS = 2500
DEADLINE_S = 4
HIDDEN, FREE = 0, 1
"""The partition with the open transaction, and one without."""
PLACES = (HIDDEN, FREE, HIDDEN, FREE)
"""Of the packets 1 to 4; the first two are answered."""
WAITING = {pid(1): "ARCHIVED", pid(2): "ARCHIVED", pid(3): "EXPIRED", pid(4): "EXPIRED"}
"""What is to become of them."""


@pytest.fixture
def environment(broker: str, tmp_path: Path) -> Iterator[Environment]:
    with Environment(broker, tmp_path) as environment:
        yield environment


def opened(environment: Environment, topic: Topic, *numbers: int, **more: float) -> OpenTransaction:
    bootstrap, name = environment.settings.bootstrap or "", environment.name(topic)
    return OpenTransaction(bootstrap, [TopicPartition(name, n) for n in numbers], **more)


def await_gate(environment: Environment, worker: Worker, topic: Topic, partition: int) -> None:
    """Until the worker says that timers which are due wait for this partition."""
    match = re.search(r"metrics at (http://\S+)", worker.text())
    assert match is not None, worker.text()
    url = match[1]
    labels = f'{{partition="{partition}",topic="{topic.name}"}}'
    figure = re.compile(re.escape(GATE.name + labels) + r" (\S+)")

    def waits() -> bool:
        with urlopen(url, timeout=60) as answer:
            sample = figure.search(answer.read().decode())
        return sample is not None and float(sample[1]) > 0

    environment.until(waits, f"timers wait for {topic.name}/{partition}")


def session_on(partition: int) -> str:
    names = (f"session-{n}" for n in range(1000))
    return next(name for name in names if partition_of(name.encode(), PARTITIONS) == partition)


def states(environment: Environment) -> dict[str, str]:
    """What facts say last of each packet that waits for an answer."""
    facts = environment.values(APC_EVENTS)
    return {fact["packet_id"]: fact["state"] for fact in facts if fact["packet_id"] in WAITING}


@pytest.mark.parametrize(
    "end",
    [
        "abort",
        pytest.param("commit", marks=pytest.mark.slow),
        pytest.param("time out", marks=pytest.mark.slow),
    ],
)
def test_an_answer_behind_an_open_transaction_is_in_time(
    environment: Environment, end: str
) -> None:
    worker = environment.start("only", METRICS="127.0.0.1:0")
    worker.wait_ready(*environment.numbers)
    left = opened(environment, APC_PACKETS, FREE)  # the first of a client takes the broker long
    left.abort()
    environment.verdicts([_waiting(n, place) for n, place in enumerate(PLACES, 1)])
    timeout_s = 20 if end == "time out" else 120
    left = opened(environment, APC_PACKETS, HIDDEN, timeout_s=timeout_s)
    answers = [ack(10 + n, n, "a", session=session_on(PLACES[n - 1])) for n in (1, 2)]
    environment.send([environment.packet(answer) for answer in answers])
    environment.until(lambda: states(environment)[pid(4)] == "EXPIRED", "the control's deadline")
    await_gate(environment, worker, APC_PACKETS, HIDDEN)
    packet_states = states(environment)
    assert packet_states[pid(2)] == "ARCHIVED", "the machine was too slow for the test"
    assert {packet_states[pid(1)], packet_states[pid(3)]} == {"ROUTED"}

    if end != "time out":
        getattr(left, end)()
    environment.until(lambda: states(environment)[pid(3)] == "EXPIRED", "the other deadline")
    environment.drain()
    worker.end()
    assert states(environment) == WAITING


def _waiting(n: int, partition: int) -> Json:
    return waiting(n, session=session_on(partition), to=("a",), ttl_ms=TTL_MS)


@pytest.mark.slow
def test_an_answer_of_the_cache_behind_an_open_transaction_is_in_time(
    environment: Environment,
) -> None:
    site = Site(environment, 1)
    with site.agents:
        worker = site.start("only", METRICS="127.0.0.1:0")
        worker.wait_ready(*environment.numbers)
        _send_task(environment, 1)
        site.drain()
        left = opened(environment, SAP_VERDICTS, *environment.numbers)
        deadline_s = int(time.time()) + DEADLINE_S
        task = _send_task(
            environment, 2, telemetry={"deadline": sap.protocol_time(deadline_s * 1000)}
        )
        await_gate(environment, worker, SAP_VERDICTS, task.partition)
        assert len(_rules(environment)) == 1
        left.abort()
        site.drain()
        worker.end()
    assert _rules(environment) == ["agent_status", "cache_hit"]


def _send_task(environment: Environment, number: int, **more: Any) -> Record:
    task: Json = plain_task(number, 1, int(time.time() * 1000), mode="prefer") | more
    (sent,) = environment.log.append([environment.record(SAP_TASKS, task)])
    return sent


def _rules(environment: Environment) -> list[str]:
    """By which rules tasks have ended."""
    return sorted(one["meta"]["headrace"]["rule"] for one in environment.values(SAP_OUTCOMES))
