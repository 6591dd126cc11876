"""The processor that all peers run: a headrace processor called with one record at a time.

So a peer decodes, decides and encodes as headrace does and causes the same records; what differs is
the host: how records arrive, where rows are stored, how outputs leave and what happens after a
kill.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from streams.engine.global_tables import GlobalTables, replicate
from streams.engine.kafka import KafkaLog
from streams.engine.processor import Processor
from streams.engine.records import LogRecord, Output
from streams.engine.rows import GetMany
from streams.engine.step import Step
from streams.engine.work import BatchOutput, Context
from streams.protocols.apc.processor import ApcProcessor
from streams.settings import Settings
from tests.toy import ToyProcessor
from topology.declarations import Topic, TopicKind

SESSION_TIMEOUT_S = 10
"""The session timeout, as headrace's: how long the partitions of a killed process wait."""
PROCESSORS = {"apc": ApcProcessor, "counts": ToyProcessor}


class Judge:
    """One processor, and the topics it writes to; table topics are the peer's own changelog."""

    def __init__(self, name: str, settings: Settings, group: str) -> None:
        self._settings = settings
        self._processor: Processor = PROCESSORS[name]()
        declared = self._processor.declaration
        self._topic: Topic = declared.inputs[0]
        self.input = settings.prefix + self._topic.name
        self.outputs = [
            settings.prefix + t.name for t in declared.outputs if t.kind != TopicKind.TABLE
        ]
        self._sent = frozenset(self.outputs)
        self._copies: GlobalTables | None = None
        if declared.global_tables:
            log = KafkaLog(settings.bootstrap or "", settings.security(), group)
            self._copies = replicate(settings.state_dir / "copies", log, settings, [declared])
            self._copies.open()
            self._copies.follow()

    def __call__(self, record: LogRecord, read: GetMany) -> BatchOutput:
        """Return rows to be stored and records to be sent."""
        settings = self._settings
        context = Context(
            record.partition, settings.partitions, settings.prefix, settings.as_work(), self._copies
        )
        step = Step(self._processor, context, read)
        step.records([(self._topic, record)])
        return step.effects

    def sent(self, outputs: Sequence[Output]) -> list[Output]:
        """Return the outputs without changelog records, for which the peer has its own."""
        return [output for output in outputs if output.topic in self._sent]


class Restored:
    """A timer that prints for the benchmark how long the peer took to restore its tables."""

    def __init__(self) -> None:
        self._began = 0.0

    def begun(self) -> None:
        self._began = time.monotonic()

    def done(self) -> None:
        print(json.dumps({"restore_s": time.monotonic() - self._began}), flush=True)
