"""Keys that are held: a request that waits for another key, and what has come behind it.

The records of a held key stand in a queue.  The request is the first; those behind it are not even
looked at before it is decided.  Each is then judged as if it had just come, with its own position
and its own time.

Source: ASAP spec, 5.2 and 5.3.
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

MOST_BEHIND = 100
"""Records that may wait behind a request."""


class Waiting(NamedTuple):
    """A held record, read again."""

    command: Command
    ctx: DecisionContext


def is_held(ctx: DecisionContext, key: str) -> bool:
    return row_of(key, ctx.work) is not None


def is_draining(key: str, work: ProcessorContext) -> bool:
    """Whether what has waited on a key is being decided, and is not through."""
    row = row_of(key, work)
    return row is not None and row["state"] is None


def row_of(key: str, work: ProcessorContext) -> AvroValue | None:
    """AsapAdmission of a held key."""
    return work.rows(ASAP_ADMISSIONS).get(composite(key))


def hold(command: Command, ctx: DecisionContext, **admission: object) -> None:
    """Let a request wait, as the first of its key's queue.

    admission: the members of AsapAdmission that say what for.  A request that has waited already
    keeps its place.
    """
    row = row_of(command.key, ctx.work)
    if row is None:
        row = {"first": 0, "last": 0}
        _put(command, 0, ctx.work)
    _save(command.key, {**row, **admission}, ctx.work)


def join(command: Command, ctx: DecisionContext) -> Outcome | None:
    """Let a record wait behind what waits on its key; a refusal if too many do."""
    row = row_of(command.key, ctx.work)
    assert row is not None, "the key is held"
    behind = row["last"] - row["first"]
    if behind >= MOST_BEHIND:
        detail = f"{behind} records wait on this key already; send it again when they are decided."
        return verdicts.refuse("held_overflow", detail, fault="service", held=behind)
    row["last"] += 1
    _put(command, row["last"], ctx.work)
    _save(command.key, row, ctx.work)
    return None


def first(key: str, row: AvroValue, work: ProcessorContext) -> Waiting:
    """The record at the head of the queue."""
    held = _head(key, row, work)
    parent = held["traceparent"]
    traceparent = None if parent is None else parent.encode("latin-1")
    at, cause = held["at"], held["cause"]
    work.set_principal(cause, held["principal"])
    command = Command(held["envelope"], key.encode(), at, cause, traceparent, work.settings)
    return Waiting(command, DecisionContext(work, cause, at, traceparent))


def record_of(key: str, row: AvroValue, work: ProcessorContext) -> LogRecord:
    """The same as it lay on the log, as far as it is known."""
    held = _head(key, row, work)
    topic, partition, offset = held["cause"].rsplit("/", 2)
    value = encode(ENVELOPE_RECORD, held["envelope"])
    return LogRecord(topic, int(partition), int(offset), held["at"], key.encode(), value)


def _head(key: str, row: AvroValue, work: ProcessorContext) -> AvroValue:
    held = work.rows(ASAP_HELD).get(_place(key, row["first"]))
    assert held is not None, "every number of the queue has its record"
    return held


def drop_first(key: str, row: AvroValue, work: ProcessorContext) -> AvroValue | None:
    """Take the head out of the queue, which is left without anyone who waits for an answer.

    Returns the row as it is now, None when nothing is held any more.
    """
    work.rows(ASAP_HELD).delete(_place(key, row["first"]))
    if row["first"] == row["last"]:
        work.rows(ASAP_ADMISSIONS).delete(composite(key))
        return None
    rest = {**row, "first": row["first"] + 1, "state": None}
    _save(key, rest, work)
    return rest


def _put(command: Command, number: int, work: ProcessorContext) -> None:
    parent = command.traceparent
    row = {
        "cause": command.cause,
        "at": command.at,
        "traceparent": None if parent is None else parent.decode("latin-1"),
        "envelope": command.value,
        "principal": work.sender(command.cause),
    }
    work.rows(ASAP_HELD).put(_place(command.key, number), row)


def _save(key: str, row: AvroValue, work: ProcessorContext) -> None:
    work.rows(ASAP_ADMISSIONS).put(composite(key), row)


def _place(key: str, number: int) -> str:
    return composite(key, str(number))
