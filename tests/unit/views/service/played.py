"""Scenarios of all protocols, played once, and their facts counted without the view's code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from schemas import decode
from streams.engine.memory import MemoryLog
from streams.engine.records import Record, TopicPartition, header
from streams.play.scenario import Scenario
from streams.protocols.commands import all_processors, bind_files
from streams.settings import Settings
from streams.view_store.rows import FOLLOWED
from topology.topics import BY_NAME

SCENARIOS = Path(__file__).resolve().parents[4] / "scenarios"
SETTINGS = Settings(partitions=2)
COMMAND_FACTS = {
    "apc.events": "apc",
    "saop.verdicts": "saop",
    "saop.rewind-log": "saop",
    "sap.acks": "sap",
    "asap.events": "asap",
    "summit.events": "summit",
    "otel.events": "otel",
}
"""The topics of verdicts on commands, with their protocol."""


@dataclass(frozen=True)
class Fact:
    topic: str
    record: Record
    value: dict[str, Any]

    @property
    def at(self) -> int:
        at: int = self.value["recorded_at" if self.topic == "rtes.events" else "at"]
        return at

    @property
    def verdict(self) -> str:
        """Return the word under which the fact is counted."""
        if self.topic == "rtes.events":
            return "accepted"
        if self.topic in ("sap.verdicts", "saop.escalations") or self.value.get("phase") == "lapse":
            return "none"
        verdict = self.value["verdict"]
        return verdict if verdict in ("accepted", "duplicate", "rejected") else "none"

    @property
    def rule(self) -> str:
        if self.topic == "sap.verdicts":
            return str(self.value["verdict"])
        if self.topic == "saop.escalations":
            return str(self.value["detector"])
        return str(self.value["rule"])

    @property
    def position(self) -> str:
        return f"{self.record.topic}/{self.record.partition}/{self.record.offset}"

    @property
    def cause(self) -> str:
        return (header(self.record, "headrace-cause") or b"").decode()


@cache
def played(name: str) -> MemoryLog:
    """Return the log after a scenario."""
    bind_files(SETTINGS)
    with TemporaryDirectory() as folder:
        scenario = Scenario(SETTINGS, Path(folder), all_processors)
        for number, text in enumerate((SCENARIOS / name).read_text().splitlines(), 1):
            if text.strip():
                scenario.line(number, text)
        log, now = scenario.log, scenario.now
        scenario.close()
    log.clock = lambda: now
    return log


def records(log: MemoryLog) -> dict[TopicPartition, list[Record]]:
    """Return the records that a view reads, by partition."""
    return {
        tp: list(filter(None, log.slots(tp)))
        for name in FOLLOWED
        for tp in (TopicPartition(name, n) for n in range(log.topics()[name].partitions))
    }


def facts(log: MemoryLog, *topics: str) -> Iterator[Fact]:
    for tp, group in records(log).items():
        for record in group:
            if tp.topic in topics:
                value = decode(record.value, BY_NAME[tp.topic].record or "").value
                yield Fact(tp.topic, record, value)


def counted(log: MemoryLog) -> Counter[tuple[str, str, str]]:
    """Count all facts by topic, verdict and rule."""
    names = (*COMMAND_FACTS, "rtes.events", "rtes.rejections", "sap.verdicts", "saop.escalations")
    return Counter(
        (fact.topic, fact.verdict, fact.rule)
        for fact in facts(log, *names)
        if fact.value.get("origin") is None
    )
