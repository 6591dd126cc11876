"""Setting aside one record that a task cannot read: `headrace topics set-aside`.

A task stops at such a record, because to skip the output of a processor would lose it for good.
An operator who knows that no processor wrote it sets it aside: a row gets back the value that it
had before, and an input between processors becomes a dead letter.  This is done in a transaction of
the task itself (which fences a worker that still owns it), with a row that names the record.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from schemas import Undecodable, decode, encode
from streams.engine.log import Log
from streams.engine.mac_checks import MacChecks, Serials
from streams.engine.operator_writes import sign_as_task
from streams.engine.records import Output, Record, TopicPartition, position
from streams.engine.rows import store_key
from streams.engine.task import transactional_id
from streams.engine.work import due_ms
from streams.errors import NotFound, UsageError
from streams.log.fetching import read_offsets
from streams.log.reading import records
from streams.settings.service import ServiceSettings
from topology import processors
from topology.core import ACCEPTED_GAPS, CHANGELOG, ENGINE_TABLES, TIMERS
from topology.declarations import Table, Topic


class SetAside(NamedTuple):
    """The record that was set aside, and the offset of the row's value before it, if any is left.

    row: whether it was a row of a table, not an input.
    """

    topic: str
    partition: int
    offset: int
    row: bool
    restored_offset: int | None


def set_aside(
    log: Log, settings: ServiceSettings, topic: str, partition: int, offset: int
) -> SetAside:
    """Let the task of `partition` go on without the record at this position (full topic name).

    Raises NotFound if no record of a processor is there, UsageError if the record can be read.
    """
    row_tables = _tables_of(settings, topic)
    source = None if row_tables else _internal_input(settings, topic)
    tp = TopicPartition(topic, partition)
    record = next(read_offsets(log, tp, [offset]), None)
    if record is None:
        raise NotFound(f"no record is at {topic}/{partition}/{offset}")
    _require_unreadable(record, row_tables, source)
    before = _value_before(log, settings, record) if row_tables else None
    outputs = [_note(log, settings, record)]
    if row_tables:
        value = None if before is None else before.value
        outputs.append(Output(topic, record.key, value, (), partition))
    producer = log.producer(transactional_id(settings, partition))
    producer.open()
    try:
        producer.commit(sign_as_task(log, settings, partition, outputs))
    finally:
        producer.close()
    restored_offset = None if before is None else before.offset
    return SetAside(topic, partition, offset, bool(row_tables), restored_offset)


def _tables_of(settings: ServiceSettings, topic: str) -> Mapping[bytes, Table]:
    """Return the tables with rows on a topic by the start of their keys; none on other topics."""
    tables = [*(table for each in processors.ALL for table in each.tables), *ENGINE_TABLES]
    if topic == settings.prefix + CHANGELOG.name:
        return {store_key(table.name, ""): table for table in tables if table.topic is None}
    public = {settings.prefix + table.topic.name: table for table in tables if table.topic}
    return {b"": public[topic]} if topic in public else {}


def _internal_input(settings: ServiceSettings, topic: str) -> Topic:
    for each in (t for p in processors.ALL for t in p.inputs if t.internal):
        if settings.prefix + each.name == topic:
            return each
    raise NotFound(
        f"processors do not write {topic}, or do not read it",
        advice="A worker that stops at a record names it, with the command.",
    )


def _require_unreadable(
    record: Record, tables: Mapping[bytes, Table], source: Topic | None
) -> None:
    try:
        if source is not None:
            decode(record.value, source.record or "")
        for key_prefix, table in tables.items():
            if record.value is not None and (record.key or b"").startswith(key_prefix):
                decode(record.value, table.record)
                if table is TIMERS:
                    due_ms((record.key or b"").removeprefix(key_prefix))
    except (Undecodable, ValueError):
        return
    raise UsageError(
        f"{position(record)} can be read", advice="Only what stops a task is set aside."
    )


def _value_before(log: Log, settings: ServiceSettings, record: Record) -> Record | None:
    """Return the last record before this one with its key.  Raises UsageError if one follows.

    With a key for MACs only records that a task has written count.
    """
    tables = [*(table for each in processors.ALL for table in each.tables), *ENGINE_TABLES]
    checks = MacChecks.of(settings, {table.topic or CHANGELOG for table in tables})
    serials: Serials = {}
    before = None
    for each in records(log, [TopicPartition(record.topic, record.partition)]):
        if checks is not None and checks.reasons([each], serials) != [None]:
            continue
        if each.key == record.key and each.offset > record.offset:
            raise UsageError(
                f"{position(record)} is not in force: {position(each)} has replaced it",
                advice="Start the worker.",
            )
        if each.key == record.key and each.offset < record.offset:
            before = each
    return before


def _note(log: Log, settings: ServiceSettings, record: Record) -> Output:
    """Return the row that names the record; a task that finds it does not stop at that input."""
    topic_id = log.topic_ids([record.topic])[record.topic]
    row = {
        "topic": record.topic,
        "partition": record.partition,
        "from_offset": record.offset,
        "to_offset": record.offset + 1,
        "former_topic_id": topic_id,
        "topic_id": topic_id,
        "at": time.time_ns() // 1_000_000,
    }
    key = store_key(ACCEPTED_GAPS.name, position(record))
    value = encode(ACCEPTED_GAPS.record, row)
    return Output(settings.prefix + CHANGELOG.name, key, value, (), record.partition)
