"""Clients of all protocols and instrumented programs at once, which note what they sent and what
was acknowledged.

Each is a thread of its own with traffic of its own; what each says is the seed's, how they
interleave is not.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from typing import Self

from streams.engine.appender import Appender
from streams.engine.headers import CAUSE
from streams.engine.kafka import KafkaAppender, KafkaLog
from streams.engine.kafka_clients import APPENDER
from streams.engine.records import Output, Record, header, position
from streams.engine.task import group_of
from streams.errors import ProduceUnknown
from tests.e2e import (
    asap_traffic,
    otel_traffic,
    rewind_traffic,
    sap_agents,
    sap_traffic,
    summit_traffic,
    traffic,
)
from tests.e2e.agents import Agents
from tests.e2e.agents import outputs as said_as
from tests.e2e.environment import Environment
from tests.e2e.outputs import PARTITIONS
from tests.processes import wait_for
from topology.summit import SUMMIT_EVENTS

PACKETS, SAID, TASKS, STORIES, RUNS, REWINDS, SPANS = 80, 80, 12, 8, 6, 4, 20
"""Of each burst, by protocol."""
SESSIONS = 6
"""Of agents, at once: each has turns in every burst or two."""
RICH = 4
FAMILIES = 1
AT_ONCE = 30
IMPATIENT = {"delivery.timeout.ms": 2000, "enable.gapless.guarantee": True}
"""So soon a record is in doubt, and with it all that its producer was given after it."""


class NotingLog(KafkaLog):
    """notes: what was sent, by the position that was acknowledged."""

    def __init__(self, environment: Environment, notes: dict[str, Output]) -> None:
        settings = environment.settings
        super().__init__(settings.bootstrap or "", {}, group_of(settings))
        self._notes = notes

    def append(self, outputs: Sequence[Output]) -> list[Record]:
        records = super().append(outputs)
        for output, record in zip(outputs, records, strict=True):
            self._notes[position(record)] = output
        return records


class StubbornLog(NotingLog):
    """Sends what was not acknowledged again, as clients are told to, by a new producer.

    doubts: what was not, each time: it may lie there, at most once for each time.  A producer's
    records in doubt are the last of their partition, so what comes again leaves order as it is.
    """

    def __init__(
        self, environment: Environment, notes: dict[str, Output], doubts: list[Output]
    ) -> None:
        super().__init__(environment, notes)
        self._doubts = doubts
        config = {**self._base, **APPENDER, **IMPATIENT}
        self._appender = Appender(lambda: KafkaAppender(config))
        self.submit = self._appender.submit

    def append(self, outputs: Sequence[Output]) -> list[Record]:
        while True:
            try:
                return super().append(outputs)
            except ProduceUnknown:
                self._doubts.extend(outputs)
                self.close()


class Clients:
    """notes, doubts: of all of them.  doers: agents that work off the inbox of SAP.

    stubborn: what is not acknowledged is sent again; else it raises.
    """

    def __init__(
        self, environment: Environment, dice: random.Random, *, stubborn: bool = False
    ) -> None:
        self._environment, self._dice, self._stubborn = environment, dice, stubborn
        self._stack = ExitStack()
        self._pool = self._stack.enter_context(ThreadPoolExecutor(len(self._sayings())))
        self.notes: dict[str, Output] = {}
        self.doubts: list[Output] = []
        self._packets = iter(traffic.Traffic(self._own(), traffic.SESSIONS // 4))
        self.agents = Agents(self._own())
        self._said = self.agents.messages(SESSIONS)
        self._sap = sap_traffic.Traffic(environment, self._own())
        self._asap = asap_traffic.Traffic(environment, self._own())
        self._summit = summit_traffic.Traffic(environment, self._own())
        sessions = [f"session-{number}" for number in range(1, SESSIONS + 1)]
        self._rewinds = rewind_traffic.Traffic(environment, self._own(), sessions)
        self._otel = otel_traffic.Traffic(environment, self._own())
        self._logs = {name: self._log() for name in self._sayings()}
        self.doers = sap_agents.Agents(
            self._log(), environment, PARTITIONS, dice.randrange(1000), time.monotonic
        )

    def _own(self) -> random.Random:
        return random.Random(self._dice.random())

    def _log(self) -> NotingLog:
        log = (
            StubbornLog(self._environment, self.notes, self.doubts)
            if self._stubborn
            else NotingLog(self._environment, self.notes)
        )
        self._stack.callback(log.close)
        return log

    def __enter__(self) -> Self:
        self._stack.enter_context(self.doers)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self) -> None:
        """Manifests, and for those of Summit their verdicts: callers wait for them."""
        self._logs["asap"].append(self._asap.manifests())
        records = self._logs["summit"].append(self._summit.manifests.first())
        expected = {position(record) for record in records}
        tail = self._environment.tail(SUMMIT_EVENTS)

        def has_verdicts() -> bool:
            tail.poll()
            return expected <= {(header(one, CAUSE) or b"").decode() for one in tail.records}

        wait_for(has_verdicts, "verdicts on manifests", 120)
        self._summit.manifests.noted(records)

    def burst(self, *names: str) -> list[Future[None]]:
        """Of these clients, or of all.  All is acknowledged when the futures are done."""
        sayings = self._sayings()
        return [self._pool.submit(self._say, name, sayings[name]) for name in names or sayings]

    def _say(self, name: str, saying: Callable[[], Iterable[Sequence[Output]]]) -> None:
        log = self._logs[name]
        for batch in saying():
            for start in range(0, len(batch), AT_ONCE):
                log.append(batch[start : start + AT_ONCE])

    def _sayings(self) -> Mapping[str, Callable[[], Iterator[Sequence[Output]]]]:
        """What each client says in a burst: parts, each of which the ones before precede."""
        return {
            "apc": self._say_packets,
            "saop": self._say_turns,
            "rewinds": self._say_rewinds,
            "sap": self._say_tasks,
            "asap": self._say_envelopes,
            "summit": self._say_calls,
            "otel": self._say_spans,
        }

    def _say_packets(self) -> Iterator[Sequence[Output]]:
        made = self._environment
        yield [traffic.output_of(made, sent) for sent in islice(self._packets, PACKETS)]

    def _say_turns(self) -> Iterator[Sequence[Output]]:
        yield list(said_as(self._environment, islice(self._said, SAID)))

    def _say_rewinds(self) -> Iterator[Sequence[Output]]:
        yield from self._rewinds.burst(REWINDS)

    def _say_tasks(self) -> Iterator[Sequence[Output]]:
        yield self._sap.burst(TASKS, int(time.time() * 1000))
        yield self._sap.comments(TASKS // 6)

    def _say_envelopes(self) -> Iterator[Sequence[Output]]:
        stories = self._asap.stories(STORIES, RICH) + self._asap.families(FAMILIES)
        for phase in asap_traffic.in_phases(stories):
            lines = [line for story in phase for line in asap_traffic.lines(story)]
            yield [record for line in lines for record in self._asap.records(line)]

    def _say_calls(self) -> Iterator[Sequence[Output]]:
        for phase in asap_traffic.in_phases(self._summit.stories(RUNS, RICH)):
            records = [record for each in phase for record in self._summit.records(each)]
            yield [*records, *self._summit.manifests.churn()]

    def _say_spans(self) -> Iterator[Sequence[Output]]:
        yield self._otel.burst(SPANS)
