"""The trace context of a record is that of all it causes: facts, edges, events, inboxes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.engine.records import LogRecord, TopicPartition, header, position
from streams.play.scenario import Scenario
from streams.protocols.commands import all_processors, bind_files
from streams.settings import Settings
from topology import topics
from topology.declarations import TopicKind

pytestmark = pytest.mark.slow

SCENARIOS = Path(__file__).parents[3] / "scenarios"
SETTINGS = Settings(partitions=1)
CASES = {
    "idea": {"apc.events", "apc.inbox", "lineage.edges"},
    "lineage-graph": {"apc.events", "apc.transfers", "lineage.edges"},
    "five-protocols": {"apc.events", "sap.acks", "asap.events", "summit.events"},
    "sap-tasks": {"sap.acks", "sap.inbox", "sap.outcomes", "rtes.raw", "rtes.events"},
    "sap-single-flight": {"sap.lookups", "sap.verdicts", "sap.inbox", "sap.learning-signals"},
    "sap-lapse": {"sap.verdicts", "sap.inbox"},
    "asap-run": {"asap.events", "asap.inbox", "rtes.raw", "rtes.events", "lineage.edges"},
    "asap-requests": {"asap.links", "asap.events", "asap.inbox"},
    "asap-deadlines": {"asap.events", "asap.inbox"},
    "summit-run": {"summit.events", "summit.inbox", "rtes.raw", "rtes.events"},
    "summit-time": {"summit.events", "summit.inbox"},
    "saop-order": {"saop.verdicts", "saop.log", "lineage.edges"},
    "saop-detectors": {"saop.verdicts", "saop.escalations"},
    "saop-failures": {"rtes.events", "saop.task-signals", "saop.escalations"},
    "rtes-refusals": {"rtes.events", "rtes.rejections"},
    "rtes-rewind-lapse": {"rtes.events", "saop.rewind-log"},
}
"""Scenario → topics that it must reach with the trace of what was sent."""
_NOT_CARRIED = (TopicKind.TABLE, TopicKind.CHANGELOG, TopicKind.DEAD_LETTER, TopicKind.COMMAND)


def traced(number: int, text: str) -> str:
    """The line of a scenario with a trace context of its own, if it sends something."""
    line: dict[str, Any] = json.loads(text)
    if "topic" in line or str(line.get("query", "")).startswith("POST"):
        parent = f"00-{number:032x}-{number:016x}-01"
        line["headers"] = {**(line.get("headers") or {}), "traceparent": parent}
    return json.dumps(line)


def played(name: str, folder: Path) -> dict[str, LogRecord]:
    """Every record of the log by its position."""
    bind_files(SETTINGS)
    scenario = Scenario(SETTINGS, folder, all_processors)
    text = (SCENARIOS / f"{name}.jsonl").read_text(encoding="utf-8")
    try:
        for number, line in enumerate(filter(str.strip, text.split("\n")), 1):
            scenario.line(number, traced(number, line))
        return {position(record): record for record in _all(scenario)}
    finally:
        scenario.close()


def _all(scenario: Scenario) -> Iterator[LogRecord]:
    for info in scenario.log.topics().values():
        for number in range(info.partitions):
            for slot in scenario.log.slots(TopicPartition(info.name, number)):
                if slot is not None:
                    yield slot


@pytest.mark.parametrize("name", CASES)
def test_what_a_record_causes_belongs_to_its_trace(name: str, tmp_path: Path) -> None:
    log, reached = played(name, tmp_path), set()
    for place, record in log.items():
        topic = topics.BY_NAME[record.topic]
        cause = header(record, "headrace-cause")
        if topic.kind in _NOT_CARRIED or cause is None:  # who writes no cause is a client
            continue
        context, caused_by = header(record, "traceparent"), log.get(cause.decode())
        assert context is not None, place
        if caused_by is not None:  # else a timer, which has kept the context of who set it
            assert context == header(caused_by, "traceparent"), place
        reached.add(topic.name)
    assert reached >= CASES[name]
