"""Command records of any content, past the edge: one verdict or one dead letter, never a failure.

A dead letter whose code says that the decide step raised is a finding.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from schemas import ShapeError, Unencodable, encode, from_json
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.records import Output, Record, TopicPartition, header
from streams.engine.work import DECIDE_FAILED
from streams.ingress.edges import EDGES
from streams.ops.topics import create_topics
from streams.processing.lines import Unparsed
from streams.protocols.commands import all_processors
from streams.settings import Settings
from tests.fuzz import examples
from tests.fuzz.json_inputs import mutated as mutate
from topology import keys
from topology.declarations import TopicKind
from topology.topics import ALL

__all__ = ["mutate", "run", "seeds"]

MOST = 400
"""Records that one system judges before the next one is made."""


def seeds() -> list[bytes]:
    return examples.seeds()


class System:
    """All processors over a log in memory."""

    def __init__(self) -> None:
        self.now = 1_767_225_600_000
        self.log = MemoryLog(lambda: self.now)
        self.settings = Settings(partitions=1)
        create_topics(self.log, self.settings)
        self._folder = tempfile.TemporaryDirectory()
        self.host = LocalHost(self.log, all_processors, self.settings, Path(self._folder.name))
        self.letters = [t.name for t in ALL if t.kind is TopicKind.DEAD_LETTER]
        self.seen: dict[str, int] = {}
        self.count = 0

    def judge(self, output: Output) -> Record:
        """Its record, once every processor is at rest and nothing has failed."""
        self.count += 1
        self.now += 1 + self.count % 7 * 1000
        (record,) = self.log.append([output])
        self.host.run()
        for name in self.letters:
            slots = self.log.slots(TopicPartition(name, 0))
            for slot in slots[self.seen.get(name, 0) :]:
                if slot is not None:
                    check(name, slot)
            self.seen[name] = len(slots)
        return record

    def close(self) -> None:
        self.host.close()
        self._folder.cleanup()


def check(name: str, letter: Any) -> None:
    code = header(letter, "kafka_dlt-exception-fqcn")
    message = header(letter, "kafka_dlt-exception-message")
    assert code not in (DECIDE_FAILED.encode(), b"timer_failed"), (name, message, letter.value)


SYSTEMS: list[System] = []


def system() -> System:
    if SYSTEMS and SYSTEMS[0].count >= MOST:
        SYSTEMS.pop().close()
    if not SYSTEMS:
        SYSTEMS.append(System())
    return SYSTEMS[0]


def run(data: bytes) -> None:
    if not data:
        return
    name, value = examples.picked(data)
    if isinstance(value, Unparsed):
        return
    topic = EDGES[name].topic
    try:
        body = encode(topic.record or "", from_json(topic.record or "", value))
        key = keys.key_of(topic, value).encode()
    except (ShapeError, Unencodable):
        return
    system().judge(Output(topic.name, key, body))
