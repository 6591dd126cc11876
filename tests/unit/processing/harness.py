"""Runs one processor without an engine: tables are dicts of encoded rows, time is given.

Rows, inputs and outputs go through the codec, so that what a processor writes is what a reader
would get.  Within one step a row that was put is given back as it is, as the engine does.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from schemas import Undecodable, decode, encode, from_json, to_json
from streams.engine.processor import AvroValue, Made, Message, Processor, ProcessorContext, Timer
from streams.engine.records import Headers, LogRecord, Record
from streams.errors import InternalUnreadable
from topology.declarations import Table, Topic
from topology.keys import key_of, partition_of

START_MS = 1_767_225_600_000
"""2026-01-01T00:00:00.000Z, where the clock starts."""

_KEYED = "(the key that the topology gives)"

TimerKey = tuple[int, str, str]


class Sent(NamedTuple):
    """One record that the processor wrote.  value: the Avro value, read back from its bytes."""

    topic: Topic
    key: str
    value: AvroValue
    id: str
    at: int
    cause: str
    traceparent: bytes | None
    headers: Headers = ()

    @property
    def json(self) -> dict[str, Any]:
        assert self.topic.record is not None
        return to_json(self.topic.record, self.value)


class StepRows:
    """One table within one step."""

    def __init__(self, table: Table, stored: Mapping[str, bytes], work: StepWork) -> None:
        self._work = work
        self.record = table.record
        self.changed: dict[str, AvroValue | None] = {}
        self._stored = stored

    def load(self, keys: Iterable[str]) -> None:
        for key in keys:
            assert isinstance(key, str)

    def get(self, key: str) -> AvroValue | None:
        if key in self.changed:
            return self.changed[key]
        raw = self._stored.get(key)
        try:
            return None if raw is None else decode(raw, self.record).value
        except Undecodable as exc:  # as the tables of the engine do
            raise InternalUnreadable(exc.message) from exc

    def put(self, key: str, row: AvroValue) -> None:
        assert self._work.cause, "a row is changed before its cause is named"
        self.changed[key] = row

    def delete(self, key: str) -> None:
        self.changed[key] = None


class CopiedRows:
    """A copy of a table; `Harness.copied` says what of it has been read, if others own it.

    Of a table of the processor's own it is what earlier steps have left.
    """

    def __init__(self, rows: Mapping[str, AvroValue], indexed: Sequence[int]) -> None:
        self._rows = rows
        self._indexed = indexed

    def get(self, key: str) -> AvroValue | None:
        return copy.deepcopy(self._rows.get(key))

    def index(self, make: Callable[[], Made]) -> Made:
        index = make()
        for key, row in self._rows.items():
            index.update(key, copy.deepcopy(row))
        return index

    def index_positions(self) -> list[int]:
        return list(self._indexed)


class StepWork:
    """The `ProcessorContext` of one step; nothing of it counts before `Harness` has kept it."""

    def __init__(self, harness: Harness, partition: int) -> None:
        self.partition = partition
        self.partitions = harness.partitions
        self.settings: Mapping[str, Any] = harness.settings
        self.cause = ""
        self.tables: dict[str, StepRows] = {}
        self.sends: list[Sent] = []
        self.timers: dict[TimerKey, dict[str, str] | None] = {}
        self._harness = harness

    def rows(self, table: Table) -> StepRows:
        assert table in self._harness.processor.declaration.tables
        if table.name not in self.tables:
            stored = self._harness.tables.setdefault(table.name, {})
            self.tables[table.name] = StepRows(table, stored, self)
        return self.tables[table.name]

    def sender(self, cause: str) -> str | None:
        """Nothing is signed here."""
        return None

    def set_principal(self, cause: str, principal: str | None) -> None:
        assert principal is None

    def savepoint(self, part: Callable[[ProcessorContext], None]) -> Exception | None:
        """Nothing is too large here, and nothing fails."""
        part(self)
        return None

    def send_to_dlq(self, topic: Topic, record: Record, failure: Exception) -> None:
        raise AssertionError("nothing fails here")

    def global_table(self, table: Table) -> CopiedRows:
        assert table in self._harness.processor.declaration.global_tables
        owns_table = table in self._harness.processor.declaration.tables
        rows = self._harness.rows(table) if owns_table else self._harness.copied.get(table.name, {})
        return CopiedRows(rows, self._harness.indexed)

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
        assert topic in self._harness.processor.declaration.outputs
        self.sends.append(Sent(topic, key, value, id, at, cause, traceparent, headers))

    def set_timer(self, timer: Timer) -> None:
        self.timers[timer.due_ms, timer.kind, timer.key] = dict(timer.data)

    def delete_timer(self, due_ms: int, kind: str, key: str) -> None:
        self.timers[due_ms, kind, key] = None


class Harness:
    """One task of one processor, with everything it has written.

    tables: encoded rows by table name.  copied: rows of other processors' tables, as they are.
    indexed: how far copies have been read.
    timers: armed, by (due, kind, key).  sent: all outputs.
    """

    def __init__(
        self,
        processor: Processor,
        settings: Mapping[str, Any] | None = None,
        *,
        partitions: int = 1,
    ) -> None:
        self.processor = processor
        self.settings = dict(settings or {})
        self.partitions = partitions
        self.tables: dict[str, dict[str, bytes]] = {}
        self.copied: dict[str, dict[str, AvroValue]] = {}
        self.indexed = [0] * partitions
        self.timers: dict[TimerKey, dict[str, str]] = {}
        self.sent: list[Sent] = []
        self.now = START_MS
        self._offsets: dict[int, int] = {}

    @property
    def input(self) -> Topic:
        return self.processor.declaration.inputs[0]

    def message(
        self,
        packet: dict[str, Any],
        at: int | None = None,
        *,
        key: str | bytes | None = _KEYED,
        partition: int | None = None,
        headers: Headers = (),
        avro: bool = False,
        topic: Topic | None = None,
    ) -> Message:
        """The next record of an input topic, the first by default.

        `packet` is JSON, or the Avro value if `avro`.  Without `at` its time is 1 ms after the
        latest so far; one given may be earlier.
        """
        topic = topic or self.input
        record = topic.record
        assert record is not None
        raw = encode(record, packet if avro else from_json(record, copy.deepcopy(packet)))
        read = decode(raw, record)
        if key == _KEYED:
            key = key_of(topic, read.value)
        key_bytes = key.encode() if isinstance(key, str) else key
        if partition is None:
            partition = partition_of(key_bytes or b"", self.partitions)
        offset = self._offsets.get(partition, 0)
        self._offsets[partition] = offset + 1
        at = self.now + 1 if at is None else at
        self.now = max(self.now, at)
        log_record = LogRecord(topic.name, partition, offset, at, key_bytes, raw, headers)
        return Message(topic, log_record, read.value, read.body, read.current)

    def decide(self, *messages: Message) -> list[Sent]:
        """One batch; returns what it wrote."""
        partition = messages[0].record.partition if messages else 0
        return self._step(lambda work: self.processor.decide(messages, work), partition)

    def decide_json(self, packet: dict[str, Any], at: int | None = None, **more: Any) -> list[Sent]:
        """One packet, alone in its batch."""
        return self.decide(self.message(packet, at, **more))

    def too_large(self, message: Message, topic: Topic, size: int) -> list[Sent]:
        return self._step(
            lambda work: self.processor.too_large(message, topic, size, work),
            message.record.partition,
        )

    def fire(self, now_ms: int) -> list[Sent]:
        """All timers due at `now_ms` in one step, as after an outage."""
        self.now = max(self.now, now_ms)
        due = sorted(key for key in self.timers if key[0] <= now_ms)
        timers = [Timer(*key, self.timers.pop(key)) for key in due]
        return self._step(lambda work: self.processor.fire(timers, now_ms, work), 0) if due else []

    def advance_to(self, now_ms: int) -> list[Sent]:
        """Let time pass; each timer fires at its own due time."""
        sent: list[Sent] = []
        while self.timers and (due := min(self.timers)[0]) <= now_ms:
            sent += self.fire(max(due, self.now))
        self.now = max(self.now, now_ms)
        return sent

    def row(self, table: Table, key: str) -> AvroValue | None:
        raw = self.tables.get(table.name, {}).get(key)
        return None if raw is None else decode(raw, table.record).value

    def rows(self, table: Table) -> dict[str, AvroValue]:
        stored = self.tables.get(table.name, {})
        return {key: decode(raw, table.record).value for key, raw in stored.items()}

    def of(self, topic: Topic, sent: Sequence[Sent] | None = None) -> list[Sent]:
        """What was written to one topic, ever or of `sent`."""
        return [one for one in (self.sent if sent is None else sent) if one.topic is topic]

    def _step(self, run: Callable[[StepWork], None], partition: int) -> list[Sent]:
        work = StepWork(self, partition)
        run(work)
        sent = [self._read_back(one) for one in work.sends]
        for name, rows in work.tables.items():
            stored = self.tables[name]
            for key, row in rows.changed.items():
                if row is None:
                    stored.pop(key, None)
                else:
                    stored[key] = encode(rows.record, row)
        for timer, data in work.timers.items():
            if data is None:
                self.timers.pop(timer, None)
            else:
                self.timers[timer] = data
        self.sent += sent
        return sent

    def _read_back(self, sent: Sent) -> Sent:
        record = sent.topic.record
        assert record is not None
        return sent._replace(value=decode(encode(record, sent.value), record).value)
