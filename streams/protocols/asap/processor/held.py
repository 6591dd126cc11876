"""The queues of held keys: a request that waits for another key, and the records behind it.

The request is the head of the queue; the records behind it are not processed before it is decided.
Each is then decided as if it had just arrived, with its own position and time.

Source: ASAP guide, 5.2 and 5.3.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas import encode
from schemas.asap.constants import ENVELOPE_RECORD
from streams.engine.processor import AvroValue, ProcessorContext
from streams.engine.records import LogRecord
from streams.protocols.asap.processor import verdicts
from streams.protocols.asap.processor.command import Command
from streams.protocols.asap.processor.decision import DecisionContext
from streams.protocols.asap.processor.verdicts import Outcome
from topology.asap import ASAP_ADMISSIONS, ASAP_HELD
from topology.keys import composite

MAX_BEHIND = 100
"""The records that may wait behind a request."""


class HeldCommand(NamedTuple):
    """A held record, restored from its row."""

    command: Command
    ctx: DecisionContext


def is_held(ctx: DecisionContext, key: str) -> bool:
    return row_of(key, ctx.work) is not None


def is_draining(key: str, ctx: ProcessorContext) -> bool:
    """Return whether the queue of a key is being decided and is not empty yet."""
    row = row_of(key, ctx)
    return row is not None and row["state"] is None


def row_of(key: str, ctx: ProcessorContext) -> AvroValue | None:
    """Return the AsapAdmission of a held key."""
    return ctx.rows(ASAP_ADMISSIONS).get(composite(key))


def hold(command: Command, ctx: DecisionContext, **admission: object) -> None:
    """Hold a request as the head of its key's queue.

    admission: the members of AsapAdmission that describe the question.  A request that is held
    already keeps its position.
    """
    row = row_of(command.key, ctx.work)
    if row is None:
        row = {"first": 0, "last": 0}
        _put(command, 0, ctx.work)
    _save(command.key, {**row, **admission}, ctx.work)


def enqueue(command: Command, ctx: DecisionContext) -> Outcome | None:
    """Append a record to the queue of its key; return a refusal if the queue is full."""
    row = row_of(command.key, ctx.work)
    assert row is not None, "the key is held"
    behind = row["last"] - row["first"]
    if behind >= MAX_BEHIND:
        detail = f"{behind} records wait on this key already; send it again when they are decided."
        return verdicts.refuse("held_overflow", detail, fault="service", held=behind)
    row["last"] += 1
    _put(command, row["last"], ctx.work)
    _save(command.key, row, ctx.work)
    return None


def restore_head(key: str, row: AvroValue, ctx: ProcessorContext) -> HeldCommand:
    """Return the record at the head of the queue, and restore its principal."""
    head = _head(key, row, ctx)
    parent = head["traceparent"]
    traceparent = None if parent is None else parent.encode("latin-1")
    at, cause = head["at"], head["cause"]
    ctx.set_principal(cause, head["principal"])
    command = Command(head["envelope"], key.encode(), at, cause, traceparent, ctx.settings)
    return HeldCommand(command, DecisionContext(ctx, cause, at, traceparent))


def head_record(key: str, row: AvroValue, ctx: ProcessorContext) -> LogRecord:
    """Return the head of the queue as a record of the log, as far as its row has it."""
    head = _head(key, row, ctx)
    topic, partition, offset = head["cause"].rsplit("/", 2)
    value = encode(ENVELOPE_RECORD, head["envelope"])
    return LogRecord(topic, int(partition), int(offset), head["at"], key.encode(), value)


def _head(key: str, row: AvroValue, ctx: ProcessorContext) -> AvroValue:
    record = ctx.rows(ASAP_HELD).get(_queue_key(key, row["first"]))
    assert record is not None, "every number of the queue has its record"
    return record


def drop_first(key: str, row: AvroValue, ctx: ProcessorContext) -> AvroValue | None:
    """Remove the head of the queue; no record in it waits for an answer then.

    Returns the new row, None when the queue is empty.
    """
    ctx.rows(ASAP_HELD).delete(_queue_key(key, row["first"]))
    if row["first"] == row["last"]:
        ctx.rows(ASAP_ADMISSIONS).delete(composite(key))
        return None
    remaining = {**row, "first": row["first"] + 1, "state": None}
    _save(key, remaining, ctx)
    return remaining


def _put(command: Command, number: int, ctx: ProcessorContext) -> None:
    parent = command.traceparent
    row = {
        "cause": command.cause,
        "at": command.at,
        "traceparent": None if parent is None else parent.decode("latin-1"),
        "envelope": command.value,
        "principal": ctx.sender(command.cause),
    }
    ctx.rows(ASAP_HELD).put(_queue_key(command.key, number), row)


def _save(key: str, row: AvroValue, ctx: ProcessorContext) -> None:
    ctx.rows(ASAP_ADMISSIONS).put(composite(key), row)


def _queue_key(key: str, number: int) -> str:
    return composite(key, str(number))
