"""The run on the in-memory log: real processors, one generation after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from schemas import decode, to_json
from streams.demo.fleet_simulation.account import Account
from streams.demo.fleet_simulation.story import Generation, Sent, Story
from streams.engine.local import LocalHost
from streams.engine.log import Reader
from streams.engine.memory import MemoryLog
from streams.engine.records import Record, TopicPartition, position
from streams.ingress.edges import ingress_topic_of
from streams.ops.topics import create_topics
from streams.processing.encode import to_output
from streams.protocols.commands import all_processors
from streams.settings import Settings
from topology.apc import APC_DECISIONS, APC_EVENTS, APC_LINEAGE, APC_PACKETS
from topology.declarations import Topic
from topology.keys import split
from topology.topics import full_name

START_MS = 1_767_225_600_000
GENERATION_MS = 60_000
Json = dict[str, Any]


class FleetStatus(NamedTuple):
    """The total row of a protocol (`apc.lineage`, JSON) after a generation."""

    generation: int
    row: Json


class Run:
    """One story, played generation by generation; use `run`.

    account: of all facts.  standings: by protocol id, one for every generation since its first.
    decays: of (generation, ApcDecision of kind decay).  positions: of what was sent, in order.
    """

    def __init__(self, story: Story, folder: Path, settings: Settings) -> None:
        self.story = story
        self.settings = settings
        self.account = Account()
        self.standings: dict[str, list[FleetStatus]] = {}
        self.decays: list[tuple[int, Json]] = []
        self.arbitrations = 0
        self.positions: list[tuple[str, Sent]] = []
        self.now = START_MS
        self.log = MemoryLog(lambda: self.now)
        create_topics(self.log, settings)
        self._host = LocalHost(self.log, all_processors, settings, folder)
        self._followed = {full_name(t, settings.prefix): t for t in _FOLLOWED}
        self._reader: Reader = self.log.reader(
            {TopicPartition(n, p): 0 for n in self._followed for p in range(settings.partitions)}
        )

    def play(self, generation: Generation) -> None:
        """Send a generation, run every processor until it is idle, and read the results."""
        edge = ingress_topic_of(APC_PACKETS.name)
        begun = self.now
        for sent in generation.sent:
            self.now += 1
            output = to_output(edge, sent.packet, self.now, self.settings)
            (record,) = self.log.append([output])
            self.positions.append((position(record), sent))
        self._host.run()
        self._to(begun + GENERATION_MS)
        rows = self._read(generation.number)
        for protocol_id in {*self.standings, *rows}:
            known = self.standings.setdefault(protocol_id, [])
            row = rows.get(protocol_id) or known[-1].row
            known.append(FleetStatus(generation.number, row))

    def _to(self, target: int) -> None:
        while (due := self._host.next_due()) is not None and due <= target:
            self.now = max(self.now, due)
            self._host.run()
        self.now = max(self.now, target)

    def _read(self, generation: int) -> dict[str, Json]:
        """Read the new facts and return the total rows that changed."""
        rows: dict[str, Json] = {}
        while records := self._reader.poll(0):
            for record in records:
                topic = self._followed[record.topic]
                if topic is APC_LINEAGE:
                    parts = split((record.key or b"").decode())
                    if len(parts) == 1:
                        rows[parts[0]] = _json(topic, record)
                    continue
                value = _json(topic, record)
                if topic is APC_EVENTS:
                    self.account.add(value)
                elif value["kind"] == "decay":
                    self.decays.append((generation, value))
                else:
                    self.arbitrations += 1
        return rows

    def surprises(self) -> list[str]:
        """Return the packets that were decided by another rule than the story expects."""
        lines = []
        for where, sent in self.positions:
            rule = self.account.verdicts[where]["rule"]
            if rule not in sent.rules:
                lines.append(f"{where}: {rule}, not {' or '.join(sorted(sent.rules))}")
        return lines

    def close(self) -> None:
        self._reader.close()
        self._host.close()


_FOLLOWED = (APC_EVENTS, APC_LINEAGE, APC_DECISIONS)


def _json(topic: Topic, record: Record) -> Json:
    name = topic.record or ""
    return to_json(name, decode(record.value, name).value)


@contextmanager
def run(story: Story, folder: Path, settings: Settings | None = None) -> Iterator[Run]:
    """Play the whole story; the log can be read for as long as the context lasts."""
    played = Run(story, folder, settings or Settings())
    try:
        for generation in story.generations:
            played.play(generation)
        yield played
    finally:
        played.close()
