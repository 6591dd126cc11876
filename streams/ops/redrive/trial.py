"""What would become of dead letters if they were sent back now.

The state of each task that would judge one is restored into a directory of its own, the copies
that processors ask beside it, and the processor judges the records one after another, each on top
of the rows of those before it.  Nothing is written to the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from schemas import decode
from streams.engine.copies import Copies, copied
from streams.engine.headers import CAUSE
from streams.engine.log import Log
from streams.engine.processor import Processor
from streams.engine.records import LogRecord, Output, TopicPartition
from streams.engine.rows import Bytes, layered
from streams.engine.state import State
from streams.engine.step import Step
from streams.engine.work import Context
from streams.ops.redrive.letters import Letter, Standing
from streams.ops.topics import plan, refuse_mismatch
from streams.settings import Settings
from topology import topics
from topology.declarations import Kind
from topology.keys import partition_of


class Verdict(NamedTuple):
    """verdict: accepted, duplicate, rejected, held (no answer yet), decided (of what owes none),
    or dead_letter with the code as its rule."""

    verdict: str
    rule: str | None = None
    message: str | None = None


def tried(
    letters: Iterable[Letter],
    log: Log,
    settings: Settings,
    processors: Sequence[Processor],
    folder: Path,
    now_ms: int,
) -> Iterator[tuple[Letter, Verdict | None]]:
    """Each with its verdict; None for one that cannot be sent."""
    trial = Trial(log, settings, processors, folder, now_ms)
    try:
        for letter in letters:
            ready = letter.standing is Standing.READY
            yield letter, trial.judge(letter) if ready else None
    finally:
        trial.close()


class Trial:
    """folder: for states and copies.

    Raises TopicsMismatch, what restoring raises, BrokerUnavailable and so on.
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
        self._copies: Copies | None = None

    def judge(self, letter: Letter) -> Verdict:
        prefix, count = self._settings.prefix, self._settings.partitions
        number = letter.partition if letter.key is None else partition_of(letter.key, count)
        processor = next(p for p in self._processors if letter.topic in p.declaration.inputs)
        record = self._record(letter, TopicPartition(prefix + letter.topic.name, number))
        state = self._state(number)
        rows = self._rows[number]
        settings = self._settings.as_work()
        context = Context(number, count, prefix, settings, self._copied())
        step = Step(processor, context, layered([rows], state.get_many))
        step.records([(letter.topic, record)])
        rows.update(step.effects.rows)
        cause = f"{record.topic}/{number}/{record.offset}".encode()
        return _answer(step.effects.outputs, cause, prefix, letter.topic.kind)

    def _record(self, letter: Letter, tp: TopicPartition) -> LogRecord:
        """As it would lie on the log."""
        offset = self._ends.get(tp) or self._log.high_watermarks([tp])[tp]
        self._ends[tp] = offset + 1
        place = (tp.topic, tp.partition, offset)
        return LogRecord(*place, self._now, letter.key, letter.value, letter.headers)

    def _state(self, number: int) -> State:
        if number not in self._states:
            tables = [table for p in self._processors for table in p.declaration.tables]
            path = self._folder / str(number)
            state = State(path, self._log, self._settings.prefix, number, tables)
            state.open(self._now)
            self._states[number], self._rows[number] = state, {}
        return self._states[number]

    def _copied(self) -> Copies:
        if self._copies is None:
            settings, tables = self._settings, copied(p.declaration for p in self._processors)
            path = self._folder / "copies"
            copies = Copies(path, self._log, settings.prefix, settings.partitions, tables)
            copies.open()
            self._copies = copies
        return self._copies

    def close(self) -> None:
        for state in self._states.values():
            state.close()
        if self._copies is not None:
            self._copies.close()


def _answer(outputs: Sequence[Output], cause: bytes, prefix: str, kind: Kind) -> Verdict:
    """What the record is answered with, among all that it causes."""
    for output in outputs:
        topic = topics.BY_NAME[output.topic.removeprefix(prefix)]
        headers = dict(output.headers)
        if headers.get(CAUSE) != cause:
            continue
        if topic.kind is Kind.DEAD_LETTER:
            code, told = (headers[f"kafka_dlt-exception-{name}"] for name in ("fqcn", "message"))
            return Verdict("dead_letter", code.decode(), told.decode())
        value = _value(topic.record, output) if topic.kind is Kind.FACT else {}
        if value.get("verdict") in ("accepted", "duplicate", "rejected"):
            why = value.get("message") or value.get("detail") or value.get("reason")
            return Verdict(value["verdict"], value["rule"], why)
    return Verdict("held" if kind is Kind.COMMAND else "decided")


def _value(record: str | None, output: Output) -> dict[str, Any]:
    return decode(output.value or b"", record or "").value
