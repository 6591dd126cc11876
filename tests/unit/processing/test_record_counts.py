"""Count the records that one command causes, by topic or table, so that they change knowingly.

Each of them costs a worker about as much as deciding.  When a change lowers a count, lower it here;
one that raises it must be worth it.  Rows of tables that are not public have the table's name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from streams.engine.memory import MemoryLog
from streams.engine.records import Record, TopicPartition
from streams.play.scenario import Scenario
from streams.protocols.commands import all_processors, bind_files
from streams.settings import Settings
from tests.processes import ROOT
from tests.unit.envelopes import idea
from topology.core import CHANGELOG

SAP_CACHE = (ROOT / "scenarios" / "sap-cache.jsonl").read_text(encoding="utf-8").splitlines()
MISS, RESULT, HIT = 1, 2, 3
"""Lines of the scenario: the session is known, and the third is answered by the cache."""

PACKET = {
    "apc-tasks": 1,
    "apc.events": 1,
    "apc.inbox": 1,
    "apc.packet-states": 1,
    "input-positions": 1,
    "lineage.edges": 1,
}
PACKET_WITH_ACK = PACKET | {"timers": 1}
OBSERVED = {"rtes.events": 1, "rtes.raw": 1, "rtes-ids": 1, "rtes-sessions": 1, "saop.tasks": 1}
"""What mirroring one state of a task as an event of RTES causes."""
TASK = OBSERVED | {
    "input-positions": 4,
    "lineage.edges": 1,
    "sap.acks": 1,
    "sap.cache-heads": 1,
    "sap.inbox": 1,
    "sap.lookups": 1,
    "sap.task-envelopes": 1,
    "sap.task-states": 2,
    "sap.verdicts": 1,
    "timers": 2,
}
LEARNED = {
    "sap.learning": 1,
    "sap.learning-best": 1,
    "sap.learning-heads": 1,
    "sap.learning-signals": 1,
    "sap.outcomes": 1,
}
STORED = (
    OBSERVED
    | LEARNED
    | {
        "input-positions": 5,
        "lineage.edges": 2,
        "sap.acks": 1,
        "sap.cache": 1,
        "sap.cache-heads": 1,
        "sap.cache-stores": 1,
        "sap.lookups": 1,
        "sap.member-groups": 1,
        "sap.result-hashes": 1,
        "sap.task-states": 2,
        "sap.verdicts": 1,
        "timers": 1,
        "timers, deleted": 1,
    }
)
CACHED = (
    {name: 2 * count for name, count in OBSERVED.items()}
    | LEARNED
    | {
        "input-positions": 6,
        "lineage.edges": 3,
        "sap.acks": 1,
        "sap.lookups": 1,
        "sap.task-envelopes": 1,
        "sap.task-states": 2,
        "sap.verdicts": 1,
        "timers": 2,
    }
)

SAVED = {
    "input-positions": 2,
    "rtes-sessions": 1,
    "saop.tasks": 1,
    "sap.lookups": 1,
    "sap.task-states": 1,
}
"""What is not written for a task that a copy of the cache answers."""


def name_of(record: Record) -> str:
    """Return the topic of a record, or the table of a row in the shared changelog."""
    name = record.topic
    if name == CHANGELOG.name:
        name = (record.key or b"").split(b"\0")[0].decode()
    return name if record.value is not None else f"{name}, deleted"


def every_record(log: MemoryLog) -> Iterator[Record]:
    for topic in log.topics().values():
        for number in range(topic.partitions):
            yield from filter(None, log.slots(TopicPartition(topic.name, number)))


def count(lines: list[str], **changes: Any) -> list[dict[str, int]]:
    """Return the records that each line of a scenario causes, without the line's own."""
    settings = Settings(partitions=1, **changes)
    bind_files(settings)
    caused: list[dict[str, int]] = []
    with TemporaryDirectory() as folder:
        scenario = Scenario(settings, Path(folder), all_processors)
        before: Counter[str] = Counter()
        for number, line in enumerate(lines, 1):
            for _ in scenario.line(number, line):
                pass
            now = Counter(map(name_of, every_record(scenario.log)))
            caused.append(dict(now - before - Counter({json.loads(line)["topic"]: 1})))
            before = now
        scenario.close()
    return caused


def packet_line(number: int, **changes: Any) -> str:
    return json.dumps({"topic": "apc.packets", "value": idea(number, **changes)})


def test_a_packet_in_a_known_session() -> None:
    plain, first = {"routing__requires_ack": False}, packet_line(0)
    _, without, asks = count([first, packet_line(1, **plain), packet_line(2)])
    assert without == PACKET
    assert asks == PACKET_WITH_ACK


@pytest.fixture(scope="module")
def sap_cache() -> list[dict[str, int]]:
    """Count what the first lines cause; the very first is a task that nothing could answer."""
    return count(SAP_CACHE[: HIT + 1])


def test_a_task_that_an_agent_answers(sap_cache: list[dict[str, int]]) -> None:
    assert sap_cache[MISS] == TASK
    assert sap_cache[RESULT] == STORED
    assert sum(TASK.values()) + sum(STORED.values()) == 49


def test_a_task_that_the_cache_answers(sap_cache: list[dict[str, int]]) -> None:
    assert sap_cache[HIT] == CACHED
    assert sum(CACHED.values()) == 32


def test_a_task_that_a_copy_of_the_cache_answers() -> None:
    caused = count(SAP_CACHE[: HIT + 1], sap_cache_copy=True)
    assert caused[MISS] == TASK
    assert caused[RESULT] == STORED
    assert Counter(caused[HIT]) == Counter(CACHED) - Counter(SAVED)
    assert sum(caused[HIT].values()) == 26
