"""Records of scenarios, and their spans."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from streams.doors.otlp.exporter.spans import ExportedSpan, is_exported, spans_of
from streams.engine.records import Record, TopicPartition
from streams.play.scenario import open_scenario
from streams.settings import Settings
from topology.topics import BY_NAME

SCENARIOS = Path(__file__).resolve().parents[5] / "scenarios"


def meaning(rule: str, protocol: str) -> str:
    return f"{rule} of {protocol}"


def records_of(lines: Iterable[str], prefix: str = "") -> list[Record]:
    """Return all records of exported topics after these lines of a scenario, by partition."""
    settings = Settings(partitions=2, prefix=prefix)
    with open_scenario(settings) as scenario:
        for number, line in enumerate(lines, 1):
            scenario.line(number, line)
        slots = [
            slot
            for info in scenario.log.topics().values()
            if is_exported(BY_NAME[info.name.removeprefix(prefix)])
            for number in range(info.partitions)
            for slot in scenario.log.slots(TopicPartition(info.name, number))
        ]
    return [slot for slot in slots if slot is not None]


def export(records: Iterable[Record], prefix: str = "") -> list[ExportedSpan]:
    return [
        span
        for record in records
        for span in spans_of(record, BY_NAME[record.topic.removeprefix(prefix)], prefix, meaning)
    ]


@cache
def played(name: str) -> list[ExportedSpan]:
    """Return the spans of a file of `scenarios`."""
    return export(records_of((SCENARIOS / f"{name}.jsonl").read_text().splitlines()))
