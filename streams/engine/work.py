"""One decide step: what a processor wrote, encoded and ready for a transaction."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from schemas import encode
from streams.engine import headers
from streams.engine.copies import CopiedTable, Copies
from streams.engine.letters import letter, told
from streams.engine.principals import Principals, Senders
from streams.engine.processor import AvroValue, Processor, Timer, TooLarge, Work
from streams.engine.records import Headers, Output, Record, position
from streams.engine.rows import Bytes, Cause, GetMany, TableRows, store_key
from streams.errors import HeadraceError, InternalUnreadable
from streams.telemetry.logs import fields
from topology.core import CHANGELOG, RTES_RAW, TIMERS
from topology.declarations import Kind, ProcessorDeclaration, Table, Topic
from topology.keys import composite, split

log = logging.getLogger(__name__)

STEP_BYTES = 64 << 20
"""Most that one step may send.  A record that causes more by itself is refused: a packet of half
a megabyte to twenty thousand recipients would otherwise be ten gigabytes in one transaction."""
NOT_POISON = (HeadraceError, MemoryError)
"""What is no record's fault, when it is raised while one is decided."""
DECIDE_FAILED = "decide_failed"
"""The code of a dead letter whose record made the decide step raise."""
_OVERHEAD = 2048
"""Bytes of a record besides key and value, with room for headers."""


@dataclass(frozen=True, slots=True)
class Context:
    """What does not change while a task lives."""

    partition: int
    partitions: int
    prefix: str
    settings: Mapping[str, Any]
    copies: Copies | None = None
    principals: Principals | None = None


@dataclass(slots=True)
class Effects:
    """What one or more steps cause: rows for the store, records for the log.

    poison: how many of these are dead letters that a processor made itself.
    verdicts: by topic, verdict and rule.  letters: dead letters by input topic and code.
    """

    rows: Bytes = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)
    size: int = 0
    poison: int = 0
    verdicts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    letters: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, other: Effects) -> None:
        self.rows.update(other.rows)
        self.outputs += other.outputs
        self.size += other.size
        self.verdicts.update(other.verdicts)
        self.letters.update(other.letters)


@dataclass(slots=True)
class _Send:
    topic: Topic
    key: str
    value: AvroValue
    id: str
    at: int
    cause: str
    traceparent: bytes | None
    headers: Headers


def timer_key(processor: str, due_ms: int, kind: str, key: str) -> str:
    """Row key of a timer; the order of the keys is the order of firing."""
    return f"{due_ms:015d}/{composite(processor, kind, key)}"


def timer_of(row_key: str, data: Mapping[str, str]) -> tuple[str, Timer]:
    """The processor a timer row belongs to, and the timer."""
    due, rest = row_key.split("/", 1)
    processor, kind, key = split(rest)
    return processor, Timer(int(due), kind, key, data)


def refuse_unknown(names: Iterable[str], processors: Iterable[Processor]) -> None:
    """Timers that nobody fires would be gone for good.  Raises InternalUnreadable."""
    unknown = sorted(set(names) - {processor.declaration.name for processor in processors})
    if unknown:
        said = f"timers are due of processors that this version lacks: {', '.join(unknown)}"
        raise InternalUnreadable(said)


class StepWork:
    """The `Work` of one step of one processor."""

    def __init__(
        self,
        declaration: ProcessorDeclaration,
        context: Context,
        read: GetMany,
        senders: Senders | None = None,
    ) -> None:
        self.partition = context.partition
        self.partitions = context.partitions
        self.settings = context.settings
        self._cause = Cause()
        self._declaration = declaration
        self._context = context
        self._read = read
        self._senders = senders or Senders(context.principals)
        self._tables: dict[str, TableRows] = {}
        self._sends: list[_Send] = []
        self._sent = 0
        self._whole: StepWork | None = None
        self._letters: list[tuple[Topic, Output]] = []

    @property
    def cause(self) -> str:
        return self._cause.position

    @cause.setter
    def cause(self, position: str) -> None:
        self._cause.position = position

    def rows(self, table: Table) -> TableRows:
        rows = self._tables.get(table.name)
        if rows is None:
            below = None if self._whole is None else self._whole.rows(table)
            rows = TableRows(table, self._read, self._cause, below)
            self._tables[table.name] = rows
        return rows

    def sender(self, cause: str) -> str | None:
        return self._senders.proved(cause)

    def vouch(self, cause: str, principal: str | None) -> None:
        self._senders.vouch(cause, principal)

    def attempt(self, part: Callable[[Work], None]) -> Exception | None:
        assert self._whole is None, "a part has no parts"
        work = StepWork(self._declaration, self._context, self._read, self._senders)
        work._whole = self
        try:
            part(work)
            work.seal()
        except NOT_POISON:
            raise
        except Exception as exc:
            return exc
        self.cause = work.cause
        self._sends += work._sends
        for rows in work._tables.values():
            self.rows(rows.table).changed.update(rows.changed)
        return None

    def set_aside(self, topic: Topic, record: Record, failure: Exception) -> None:
        at = position(record)
        noted = fields(position=at, processor=self._declaration.name, code=DECIDE_FAILED)
        log.error("poison at %s: %s", at, told(failure), extra=noted)
        kept, prefix = (record.key, record.value), self._context.prefix
        made = letter(prefix, topic, record, kept, DECIDE_FAILED, told(failure))
        self._letters.append((topic, made))

    def copy(self, table: Table) -> CopiedTable:
        copies = self._context.copies
        if copies is None or table not in self._declaration.copies:
            raise KeyError(f"{self._declaration.name} does not declare a copy of {table.name}")
        return CopiedTable(copies, table)

    def send(
        self,
        topic: Topic,
        key: str,
        value: AvroValue,
        *,
        id: str,
        at: int,
        cause: str,
        traceparent: bytes | None = None,
        headers: Headers = (),
    ) -> None:
        self._sends.append(_Send(topic, key, value, id, at, cause, traceparent, headers))

    def set_timer(self, timer: Timer) -> None:
        key = timer_key(self._declaration.name, timer.due_ms, timer.kind, timer.key)
        self.rows(TIMERS).put(key, {"data": dict(timer.data)})

    def delete_timer(self, due_ms: int, kind: str, key: str) -> None:
        self.rows(TIMERS).delete(timer_key(self._declaration.name, due_ms, kind, key))

    def seal(self) -> Effects:
        """Encode everything.  Raises TooLarge, and whatever a wrong value makes the codec raise."""
        by_topic: dict[str, list[Output]] = {}
        self._seal_sends(by_topic)
        effects = Effects(outputs=[made for _, made in self._letters], poison=len(self._letters))
        effects.letters.update((topic.name, DECIDE_FAILED) for topic, _ in self._letters)
        effects.verdicts.update(map(_verdict, filter(_is_verdict, self._sends)))
        for rows in self._tables.values():
            self._seal_rows(rows, effects.rows, by_topic)
        effects.size = self._sent
        for topic in (*self._declaration.outputs, CHANGELOG):
            effects.outputs += by_topic.pop(topic.name, ())
        if by_topic:
            raise KeyError(f"{self._declaration.name} does not declare {sorted(by_topic)}")
        return effects

    def _seal_sends(self, by_topic: dict[str, list[Output]]) -> None:
        grouped: dict[str, list[_Send]] = {}
        for send in self._sends:
            grouped.setdefault(send.topic.name, []).append(send)
        for sends in grouped.values():
            by_topic[sends[0].topic.name] = [self._output(send) for send in sends]

    def _output(self, send: _Send) -> Output:
        topic = send.topic
        assert topic.record is not None
        value = encode(topic.record, send.value)
        self._sent += len(value)
        if self._sent > STEP_BYTES:  # one by one: a wide fan-out must not be built in full
            raise TooLarge(topic, self._sent)
        key = send.key.encode()
        more = sum(len(name) + len(text) for name, text in send.headers)
        _check_size(topic, key, value, len(key) + len(send.id) + more)  # these are headers as well
        heads = headers.outgoing(
            topic,
            self._declaration.name,
            key,
            send.id,
            send.at,
            send.cause,
            send.traceparent,
            self._senders.shown(send.cause),
        )
        partition = self.partition if topic.stays else None
        name = self._context.prefix + topic.name
        output = Output(name, key, value, [*heads, *send.headers], partition)
        return self._senders.passed_on(output, send.cause) if _is_read_on(topic) else output

    def _seal_rows(self, rows: TableRows, store: Bytes, by_topic: dict[str, list[Output]]) -> None:
        table = rows.table
        topic = table.topic or CHANGELOG
        name = self._context.prefix + topic.name
        outputs = by_topic.setdefault(topic.name, [])
        for key, value, cause in rows.encoded():
            place = store_key(table.name, key)
            store[place] = value
            log_key = key.encode() if table.topic else place
            if value is not None:
                _check_size(topic, log_key, value)
            heads = [(headers.CAUSE, cause.encode())] if cause else []
            outputs.append(Output(name, log_key, value, heads, self.partition))


def _is_verdict(send: _Send) -> bool:
    return send.topic.kind is Kind.FACT and ("rule" in send.value or "verdict" in send.value)


def _verdict(send: _Send) -> tuple[str, str, str]:
    """Facts of accepted records alone have no verdict; answers of a cache have no rule."""
    verdict = send.value.get("verdict", "accepted")
    return send.topic.name, verdict or "none", send.value.get("rule", "none")


def _is_read_on(topic: Topic) -> bool:
    """Whether processors read it."""
    return topic.between or topic is RTES_RAW


def _check_size(topic: Topic, key: bytes, value: bytes, more: int = 0) -> None:
    size = len(key) + len(value) + more + _OVERHEAD
    if size > topic.max_bytes:
        raise TooLarge(topic, size)
