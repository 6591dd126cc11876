"""One decide step: the writes of a processor, encoded for a transaction."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas import encode
from streams.engine import headers
from streams.engine.dead_letters import describe_failure, make_dead_letter
from streams.engine.global_tables import GlobalTables, GlobalTableView
from streams.engine.principals import Principals, Senders
from streams.engine.processor import AvroValue, Processor, ProcessorContext, Timer, TooLarge
from streams.engine.records import Headers, Output, Record, position
from streams.engine.refused_rows import ROW_REFUSED, RowRefused
from streams.engine.rows import Bytes, Cause, GetMany, TableRows, store_key
from streams.engine.trace_context import delivery_traceparent
from streams.errors import HeadraceError, InternalUnreadable
from streams.telemetry.logs import fields
from topology.core import CHANGELOG, RTES_RAW, TIMERS
from topology.declarations import ProcessorDeclaration, Table, Topic, TopicKind
from topology.keys import composite, split

log = logging.getLogger(__name__)

STEP_BYTES = 64 << 20
"""The bytes that one step may send.  A record that causes more by itself is refused: a packet of
half a megabyte to twenty thousand recipients would be ten gigabytes in one transaction."""
NOT_POISON = (HeadraceError, MemoryError)
"""Errors that are not the fault of the record being decided."""
DECIDE_FAILED = "decide_failed"
"""The code of dead letters of records that made the decide step raise."""
_OVERHEAD_BYTES = 2048
_DUE_DIGITS = 15
"""Bytes of a record besides key and value, with an allowance for headers."""


@dataclass(frozen=True, slots=True)
class Context:
    """The constants of a task.

    traces_deliveries: inbox records are the parents of what is sent under them.
    """

    partition: int
    partitions: int
    prefix: str
    settings: Mapping[str, Any]
    copies: GlobalTables | None = None
    principals: Principals | None = None
    traces_deliveries: bool = False


@dataclass(slots=True)
class BatchOutput:
    """The output of one or more steps: rows for the store, records for the log.

    poison: how many of these are dead letters that a processor made itself.
    verdicts: counts by topic, verdict and rule.  letters: dead letters by input topic and code.
    """

    rows: Bytes = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)
    size: int = 0
    poison: int = 0
    verdicts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    letters: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, other: BatchOutput) -> None:
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
    """Return the row key of a timer; keys sort in firing order."""
    return f"{due_ms:015d}/{composite(processor, kind, key)}"


def due_ms(row_key: bytes) -> int:
    """Return the due time in the row key of a timer.  Raises ValueError if it is not such a key."""
    due, _, remaining = row_key.partition(b"/")
    if len(due) != _DUE_DIGITS or not due.isdigit() or len(split(remaining.decode())) != 3:
        raise ValueError("the key of a timer has a due time, a processor, a kind and a key")
    return int(due)


def timer_of(row_key: str, data: Mapping[str, str]) -> tuple[str, Timer]:
    """Return the processor that a timer row belongs to, and the timer."""
    due, processor_key = row_key.split("/", 1)
    processor, kind, key = split(processor_key)
    return processor, Timer(int(due), kind, key, data)


def refuse_unknown(names: Iterable[str], processors: Iterable[Processor]) -> None:
    """Raise InternalUnreadable for timers of unknown processors, which would be lost."""
    unknown = sorted(set(names) - {processor.declaration.name for processor in processors})
    if unknown:
        detail = f"timers are due of processors that this version lacks: {', '.join(unknown)}"
        raise InternalUnreadable(detail)


class StepContext:
    """The `ProcessorContext` of one step of one processor."""

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
        self._sent_bytes = 0
        self._parent: StepContext | None = None
        self._dead_letters: list[tuple[Topic, str, Output]] = []

    @property
    def cause(self) -> str:
        return self._cause.position

    @cause.setter
    def cause(self, position: str) -> None:
        self._cause.position = position

    def rows(self, table: Table) -> TableRows:
        rows = self._tables.get(table.name)
        if rows is None:
            below = None if self._parent is None else self._parent.rows(table)
            rows = TableRows(table, self._read, self._cause, below)
            self._tables[table.name] = rows
        return rows

    def sender(self, cause: str) -> str | None:
        return self._senders.proved(cause)

    def set_principal(self, cause: str, principal: str | None) -> None:
        self._senders.vouch(cause, principal)

    def savepoint(self, part: Callable[[ProcessorContext], None]) -> Exception | None:
        assert self._parent is None, "a part has no parts"
        work = StepContext(self._declaration, self._context, self._read, self._senders)
        work._parent = self
        try:
            part(work)
            work.encode()
        except NOT_POISON:
            raise
        except Exception as exc:
            return exc
        self.cause = work.cause
        self._sends += work._sends
        for rows in work._tables.values():
            self.rows(rows.table).changed.update(rows.changed)
        return None

    def send_to_dlq(self, topic: Topic, record: Record, failure: Exception) -> None:
        source = position(record)
        processor, trace = self._declaration.name, headers.trace_context(record)
        extra = fields(position=source, processor=processor, code=DECIDE_FAILED, **trace)
        log.error("poison at %s: %s", source, describe_failure(failure), extra=extra)
        content, prefix = (record.key, record.value), self._context.prefix
        is_refused = isinstance(failure, RowRefused)
        code = ROW_REFUSED if is_refused else DECIDE_FAILED
        message = str(failure) if is_refused else describe_failure(failure)
        dead_letter = make_dead_letter(prefix, topic, record, content, code, message)
        self._dead_letters.append((topic, code, dead_letter))

    def global_table(self, table: Table) -> GlobalTableView:
        copies = self._context.copies
        if copies is None or table not in self._declaration.global_tables:
            raise KeyError(f"{self._declaration.name} does not declare a copy of {table.name}")
        return GlobalTableView(copies, table)

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

    def encode(self) -> BatchOutput:
        """Encode all writes.

        Raises TooLarge, and any error that the codec raises for a wrong value.
        """
        by_topic: dict[str, list[Output]] = {}
        effects = BatchOutput(
            outputs=[output for *_, output in self._dead_letters],
            poison=sum(code == DECIDE_FAILED for _, code, _ in self._dead_letters),
        )
        effects.letters.update((topic.name, code) for topic, code, _ in self._dead_letters)
        for topic, sends in self._sends_by_topic().items():
            by_topic[topic.name] = self._outputs(topic, sends)
            if topic.kind is TopicKind.FACT:
                effects.verdicts.update(map(_verdict_labels, filter(_is_verdict, sends)))
        for rows in self._tables.values():
            self._encode_rows(rows, effects.rows, by_topic)
        effects.size = self._sent_bytes
        for topic in (*self._declaration.outputs, CHANGELOG):
            effects.outputs += by_topic.pop(topic.name, ())
        if by_topic:
            raise KeyError(f"{self._declaration.name} does not declare {sorted(by_topic)}")
        return effects

    def _sends_by_topic(self) -> dict[Topic, list[_Send]]:
        groups: dict[Topic, list[_Send]] = {}
        for send in self._sends:
            groups.setdefault(send.topic, []).append(send)
        return groups

    def _outputs(self, topic: Topic, sends: Sequence[_Send]) -> list[Output]:
        """Encode the records for one topic, with what all of them share computed once."""
        assert topic.record is not None
        name = self._context.prefix + topic.name
        partition = self.partition if topic.same_partition else None
        constant = headers.constant_headers(topic, self._declaration.name)
        senders, outputs = self._senders, []
        read = _is_read_by_processors(topic)
        is_parent = self._context.traces_deliveries and topic.kind is TopicKind.INBOX
        for send in sends:
            value = encode(topic.record, send.value)
            key = send.key.encode()
            self._check_sizes(send, key, value)
            principal = senders.principal_header(send.cause)
            context = send.traceparent
            if is_parent:
                context = delivery_traceparent(context, name, send.id, send.cause)
            heads = headers.output_headers(
                constant, key, send.id, send.at, send.cause, context, principal
            )
            heads += send.headers
            output = Output(name, key, value, heads, partition)
            outputs.append(senders.passed_on(output, send.cause) if read else output)
        return outputs

    def _check_sizes(self, send: _Send, key: bytes, value: bytes) -> None:
        """Raise TooLarge for a record above its topic's limit, or a step above its own.

        The records of a step are counted one by one: a wide fan-out must not be built in full.
        """
        self._sent_bytes += len(value)
        if self._sent_bytes > STEP_BYTES:
            raise TooLarge(send.topic, self._sent_bytes)
        extra = len(key) + len(send.id)  # these are headers as well
        for name, text in send.headers:
            extra += len(name) + len(text)
        _check_size(send.topic, key, value, extra)

    def _encode_rows(
        self, rows: TableRows, store: Bytes, by_topic: dict[str, list[Output]]
    ) -> None:
        table = rows.table
        topic = table.topic or CHANGELOG
        name = self._context.prefix + topic.name
        outputs = by_topic.setdefault(topic.name, [])
        for key, value, cause in rows.encoded():
            row_key = store_key(table.name, key)
            store[row_key] = value
            log_key = key.encode() if table.topic else row_key
            if value is not None:
                _check_size(topic, log_key, value)
            heads = [(headers.CAUSE, cause.encode())] if cause else []
            outputs.append(Output(name, log_key, value, heads, self.partition))


def _is_verdict(send: _Send) -> bool:
    return "rule" in send.value or "verdict" in send.value


def _verdict_labels(send: _Send) -> tuple[str, str, str]:
    """Return topic, verdict and rule, with defaults.

    Facts that exist only for accepted records have no verdict, and a cache's replies have no rule.
    """
    verdict = send.value.get("verdict", "accepted")
    return send.topic.name, verdict or "none", send.value.get("rule", "none")


def _is_read_by_processors(topic: Topic) -> bool:
    """Check whether processors read the topic."""
    return topic.internal or topic is RTES_RAW


def _check_size(topic: Topic, key: bytes, value: bytes, extra: int = 0) -> None:
    size = len(key) + len(value) + extra + _OVERHEAD_BYTES
    if size > topic.max_bytes:
        raise TooLarge(topic, size)
