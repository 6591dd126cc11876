"""A run on the in-memory log, without anything that could go wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.records import Record, TopicPartition
from streams.ops.topics import create_topics
from streams.protocols.commands import all_processors
from streams.settings import Settings
from tests.e2e.outputs import PARTITIONS, Outputs
from topology import topics
from topology.declarations import Topic


class Recorded(Outputs):
    """All processors, and a clock that stands still until it is set."""

    def __init__(self, directory: Path, start_ms: int, **changes: Any) -> None:
        super().__init__("unit.")
        self.now = start_ms
        self.log = MemoryLog(lambda: self.now)
        base = {"prefix": self.prefix, "partitions": PARTITIONS, "batch": 50}
        settings = Settings.load({}, **base, **changes)
        create_topics(self.log, settings)
        self.host = LocalHost(self.log, all_processors, settings, directory)

    def pass_(self, ms: int) -> None:
        """Let the time go on, and each timer fire when it is due."""
        end = self.now + ms
        self.host.run()
        while self.now < end:
            due = self.host.next_due()
            self.now = max(self.now + 1, min(end, due or end))
            self.host.run()

    def records(self, topic: Topic) -> list[Record]:
        numbers = range(topics.partitions_of(topic, PARTITIONS))
        tps = [TopicPartition(self.name(topic), number) for number in numbers]
        ends = self.log.ends(tps)
        records: list[Record] = []
        with self.log.reader(dict.fromkeys(tps, 0)) as reader:
            while any(reader.position(tp) < ends[tp] for tp in tps):
                records += reader.poll(0)
        return sorted(records, key=lambda record: (record.partition, record.offset))
