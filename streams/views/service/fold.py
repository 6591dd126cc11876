"""The facts of one batch, folded into the rows about the whole service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from streams.engine.records import Record
from streams.views.changes import WriteBatch
from streams.views.service.agents import AgentTally
from streams.views.service.counters import MINUTE_MS, add_counts
from streams.views.service.refusals import LISTED, add_refusal, name_sender
from streams.views.service.verdicts import (
    NONE,
    FactReading,
    Members,
    SenderReading,
    Subject,
    judgement_of,
)


class ServiceFold:
    """The counts of one batch; `write` them last."""

    def __init__(self, rows: WriteBatch) -> None:
        self._rows = rows
        self._counts: Counter[tuple[int, str, str, str]] = Counter()
        self._agents = AgentTally()

    def add(
        self,
        protocol: str,
        topic: str,
        reading: FactReading,
        facts: Iterable[tuple[Record, Members]],
    ) -> None:
        """Count facts of one topic, in log order.  topic: without prefix."""
        rows, counts = self._rows, self._counts
        by_agent = reading.subject is Subject.COMMANDS
        for record, members in facts:
            counted = reading.count(record, members, rows)
            if counted is None:
                continue
            at, verdict, rule, agent = counted
            counts[at // MINUTE_MS, topic, verdict, rule] += 1
            if verdict in LISTED:
                judgement = judgement_of(protocol, topic, reading, record, members, counted)
                add_refusal(judgement, record, rows)
            if by_agent and agent is not None and verdict != NONE:
                self._agents.add(agent, protocol, counted)

    def add_senders(
        self, protocol: str, reading: SenderReading, records: Iterable[tuple[Record, Members]]
    ) -> None:
        """Count the senders of records whose verdicts were counted before."""
        for record, members in records:
            late = reading.find(record, members, self._rows)
            if late is None or late.counted.agent is None:
                continue
            self._agents.add(late.counted.agent, protocol, late.counted)
            if late.counted.verdict in LISTED:
                name_sender(late, self._rows)

    def write(self) -> None:
        """Add the counts to the rows."""
        add_counts(self._counts, self._rows)
        self._agents.write(self._rows)
