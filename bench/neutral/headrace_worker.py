"""The neutral workload on headrace's engine: python -m bench.neutral.headrace_worker [fact].

The outcome is a record between processors, which has one header; with `fact` it is a fact, with all
of its CloudEvents headers.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bench.neutral.step import decide, new_row
from bench.neutral.workload import CHANGES, IDS, OUTCOMES, source
from schemas.catalogue import CATALOGUE, SchemaEntry
from streams.engine.log import NewTopic
from streams.engine.processor import Message, ProcessorContext, Timer
from streams.engine.records import header, position
from streams.engine.worker import run_worker
from streams.settings import Settings
from topology.core import CHANGELOG
from topology.declarations import ProcessorDeclaration, Table, Topic, TopicKind
from topology.topics import config_of, dead_letters_of

NAMES = {"change": "bench.neutral.Change", "outcome": "bench.neutral.Outcome"}
TICKET = "bench.neutral.Ticket"
INPUT = Topic(CHANGES, TopicKind.COMMAND, NAMES["change"], "ticket", "changes of tickets")
ROWS = Topic("neutral.tickets", TopicKind.TABLE, TICKET, "ticket", "the row of each ticket")
TABLE = Table("neutral.tickets", TICKET, "ticket", "the row of each ticket", topic=ROWS)


def outcomes(kind: TopicKind) -> Topic:
    return Topic(OUTCOMES, kind, NAMES["outcome"], "ticket", "the decision on each change")


class Tickets:
    """The processor.  kind: of the topic of outcomes."""

    def __init__(self, kind: TopicKind) -> None:
        self._outcomes = outcomes(kind)
        self.declaration = ProcessorDeclaration(
            "tickets", "for benchmarks", (INPUT,), (self._outcomes, ROWS), (TABLE,)
        )

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        rows = ctx.rows(TABLE)
        rows.load([message.value["ticket"] for message in batch])
        for message in batch:
            record, ticket = message.record, message.value["ticket"]
            ctx.cause = cause = position(record)
            row = rows.get(ticket) or new_row()
            outcome = decide(message.value, row)
            rows.put(ticket, row)
            ctx.send(
                self._outcomes,
                ticket,
                outcome,
                id=f"{cause}/outcome",
                at=record.timestamp,
                cause=cause,
                traceparent=header(record, "traceparent"),
            )

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        """Fire nothing: no timer is set."""

    def too_large(self, message: Message, topic: Topic, size: int, ctx: ProcessorContext) -> None:
        raise AssertionError("no outcome is large")

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def topics(partitions: int, prefix: str) -> list[NewTopic]:
    """Return what the workload needs on any system, and headrace's own."""
    declared = [INPUT, outcomes(TopicKind.INTERNAL), ROWS, CHANGELOG]
    some = [NewTopic(prefix + t.name, partitions, config_of(t)) for t in declared]
    dead = dead_letters_of(INPUT)
    return [*some, NewTopic(prefix + dead.name, 1, config_of(dead))]


def add_schemas() -> None:
    """Add the schemas of the workload to this process's catalogue, in memory only."""
    for name, id in IDS.items():
        document = source(name)
        entry = SchemaEntry(id, f"{document['namespace']}.{document['name']}", 1, document)
        CATALOGUE._by_id[id] = CATALOGUE._latest[entry.record] = entry


def main(arguments: list[str]) -> None:
    logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname)s %(name)s %(message)s")
    kind = TopicKind.FACT if "fact" in arguments else TopicKind.INTERNAL
    add_schemas()
    run_worker(Settings.load(), lambda: [Tickets(kind)])


if __name__ == "__main__":
    main(sys.argv[1:])
