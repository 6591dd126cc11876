"""A dry run of a redrive: the verdicts that dead letters would get now.

The state of each task that would decide one is restored into its own directory, beside the global
tables that processors read, and the processor decides the records one after another, each on top of
the rows of those before it.  Nothing is written to the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from schemas import decode
from streams.engine.global_tables import GlobalTables, replicate
from streams.engine.headers import CAUSE
from streams.engine.log import Log
from streams.engine.processor import Processor
from streams.engine.records import LogRecord, Output, TopicPartition
from streams.engine.rows import Bytes, layered
from streams.engine.state import State
from streams.engine.step import Step
from streams.engine.work import Context
from streams.ops.redrive.dead_letters import DeadLetter, RedriveStatus
from streams.ops.topics import plan, refuse_mismatch
from streams.settings import Settings
from topology import topics
from topology.declarations import TopicKind
from topology.keys import partition_of


class Verdict(NamedTuple):
    """The verdict on a record.

    verdict: accepted, duplicate, rejected, held (parked, no verdict yet), decided (the topic's
    records get no verdict), or dead_letter with the code as its rule.
    """

    verdict: str
    rule: str | None = None
    message: str | None = None


def simulate(
    letters: Iterable[DeadLetter],
    log: Log,
    settings: Settings,
    processors: Sequence[Processor],
    folder: Path,
    now_ms: int,
) -> Iterator[tuple[DeadLetter, Verdict | None]]:
    """Yield each dead letter with its verdict; None for one that cannot be sent."""
    trial = Trial(log, settings, processors, folder, now_ms)
    try:
        for dead_letter in letters:
            ready = dead_letter.standing is RedriveStatus.READY
            yield dead_letter, trial.judge(dead_letter) if ready else None
    finally:
        trial.close()


class Trial:
    """The restored states of a dry run.  folder: for states and global tables.

    Raises TopicsMismatch, BrokerUnavailable and the errors of restoring a state.
    """

    def __init__(
        self,
        log: Log,
        settings: Settings,
        processors: Sequence[Processor],
        folder: Path,
        now_ms: int,
    ) -> None:
        refuse_mismatch(plan(log, settings), settings)
        self._log, self._settings, self._folder, self._now = log, settings, folder, now_ms
        self._processors = processors
        self._states: dict[int, State] = {}
        self._rows: dict[int, Bytes] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._copies: GlobalTables | None = None

    def judge(self, dead_letter: DeadLetter) -> Verdict:
        prefix, count = self._settings.prefix, self._settings.partitions
        number = (
            dead_letter.partition
            if dead_letter.key is None
            else partition_of(dead_letter.key, count)
        )
        processor = next(p for p in self._processors if dead_letter.topic in p.declaration.inputs)
        record = self._record(dead_letter, TopicPartition(prefix + dead_letter.topic.name, number))
        state = self._state(number)
        rows = self._rows[number]
        settings = self._settings.as_work()
        context = Context(number, count, prefix, settings, self._open_copies())
        step = Step(processor, context, layered([rows], state.get_many))
        step.records([(dead_letter.topic, record)])
        rows.update(step.effects.rows)
        cause = f"{record.topic}/{number}/{record.offset}".encode()
        return _find_verdict(step.effects.outputs, cause, prefix, dead_letter.topic.kind)

    def _record(self, dead_letter: DeadLetter, tp: TopicPartition) -> LogRecord:
        """Return the record as it would be appended to its topic."""
        offset = self._ends.get(tp) or self._log.high_watermarks([tp])[tp]
        self._ends[tp] = offset + 1
        coordinates = (tp.topic, tp.partition, offset)
        return LogRecord(
            *coordinates, self._now, dead_letter.key, dead_letter.value, dead_letter.headers
        )

    def _state(self, number: int) -> State:
        if number not in self._states:
            tables = [table for p in self._processors for table in p.declaration.tables]
            path = self._folder / str(number)
            state = State(path, self._log, self._settings.prefix, number, tables)
            state.open(self._now)
            self._states[number], self._rows[number] = state, {}
        return self._states[number]

    def _open_copies(self) -> GlobalTables:
        if self._copies is None:
            declarations = [p.declaration for p in self._processors]
            copies = replicate(self._folder / "copies", self._log, self._settings, declarations)
            copies.open()
            self._copies = copies
        return self._copies

    def close(self) -> None:
        for state in self._states.values():
            state.close()
        if self._copies is not None:
            self._copies.close()


def _find_verdict(outputs: Sequence[Output], cause: bytes, prefix: str, kind: TopicKind) -> Verdict:
    """Return the verdict on a record among the outputs that it causes."""
    for output in outputs:
        topic = topics.BY_NAME[output.topic.removeprefix(prefix)]
        headers = dict(output.headers)
        if headers.get(CAUSE) != cause:
            continue
        if topic.kind is TopicKind.DEAD_LETTER:
            code, message = (headers[f"kafka_dlt-exception-{name}"] for name in ("fqcn", "message"))
            return Verdict("dead_letter", code.decode(), message.decode())
        value = _value(topic.record, output) if topic.kind is TopicKind.FACT else {}
        if value.get("verdict") in ("accepted", "duplicate", "rejected"):
            why = value.get("message") or value.get("detail") or value.get("reason")
            return Verdict(value["verdict"], value["rule"], why)
    return Verdict("held" if kind is TopicKind.COMMAND else "decided")


def _value(record: str | None, output: Output) -> dict[str, Any]:
    return decode(output.value or b"", record or "").value
