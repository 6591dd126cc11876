"""Writing the row that a refused record has taken the place of: `headrace topics repair`.

The row is what the facts make, for the tables that `headrace verify` folds in full, or absent where
an operator says so.  It is written in a transaction of the task that owns it, with a record of the
repair.  Then the dead letters that needed the row can be redriven.
"""

from __future__ import annotations

import hashlib
import heapq
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from schemas import Undecodable, decode, encode
from streams.engine.headers import CAUSE
from streams.engine.log import Log
from streams.engine.mac_checks import UNSIGNED_BEFORE, MacChecks, Serials
from streams.engine.operator_writes import sign_as_task
from streams.engine.records import Output, Record, TopicPartition, header, position
from streams.engine.rows import store_key
from streams.engine.task import transactional_id
from streams.errors import NegativeAnswer, NotFound
from streams.log.fetching import records_of
from streams.log.reading import records
from streams.protocols.commands import COMMANDS
from streams.replay.fold.fold import CommandGone, Fold, Row, visible_members
from streams.replay.genuine_records import GenuineRecords
from streams.settings.service import ServiceSettings
from topology import tables, topics
from topology.core import AUDIT_REPAIRS, CHANGELOG
from topology.declarations import Table

DERIVED, ABSENT = "derived", "absent"
_FOLDS: Mapping[Table, Fold] = {
    fold.table: fold
    for side in COMMANDS
    for fold in side.folds
    if not fold.unfolded and fold.undetermined is Fold._field_defaults["undetermined"]
}
"""The folds that make whole rows."""


class NotDerivable(NegativeAnswer):
    """An error for a row that does not follow from the facts that are there."""

    default_advice = "With --absent the row is removed, and what needs it begins anew."


class Repair(NamedTuple):
    """A repaired row.  refused: the position of the record that was in its place."""

    topic: str
    partition: int
    key: str
    refused: str
    action: str
    sha256: str | None


class _Row(NamedTuple):
    """The last record of a row's key in one partition, and why it is refused, if it is."""

    partition: int
    record: Record
    reason: str | None


class _Derived(NamedTuple):
    """The row that facts make, None if they make none, and the cause of the last one."""

    value: bytes | None
    cause: bytes


def repair_row(
    log: Log,
    settings: ServiceSettings,
    topic: str,
    key: str,
    *,
    absent: bool = False,
    reason: str | None = None,
    by: str | None = None,
    dry_run: bool = False,
) -> list[Repair]:
    """Repair the row with this key of a table, named by its topic or its own name.

    Returns a repair for each partition with such a refused record; with a dry run nothing is
    written.  Raises NotFound if there is no such table, or no such record; NotDerivable for a table
    whose rows do not follow from facts alone, or a row of which facts are gone.
    """
    table = _find_table(settings, topic)
    fold = None if absent else _FOLDS.get(table)
    if fold is None and not absent:
        raise NotDerivable(f"the rows of {table.name} do not follow from facts alone")
    name = settings.prefix + (table.topic or CHANGELOG).name
    row_key = key.encode() if table.topic else store_key(table.name, key)
    rows = _refused_rows(log, settings, name, row_key, key)
    repairs = []
    for row in rows:
        producer = log.producer(transactional_id(settings, row.partition))
        try:
            if not dry_run:
                producer.open()
            cause = position(row.record).encode()
            derived = _Derived(None, cause)
            if fold is not None:
                derived = _derive(log, settings, fold, row.partition, key) or derived
            repair = _repair_of(name, key, row, derived.value)
            outputs = [
                Output(name, row_key, derived.value, [(CAUSE, derived.cause)], row.partition),
                _audit_record(settings, repair, row, reason, by),
            ]
            if not dry_run:
                producer.commit(sign_as_task(log, settings, row.partition, outputs))
        finally:
            producer.close()
        repairs.append(repair)
    return repairs


def _find_table(settings: ServiceSettings, topic: str) -> Table:
    for table in tables.ALL:
        names = {table.name} if table.topic is None else {table.name, table.topic.name}
        if topic in names or topic in {settings.prefix + name for name in names}:
            return table
    raise NotFound(f"{topic} is no table of headrace", advice="docs/reference/tables.md has all.")


def _refused_rows(
    log: Log, settings: ServiceSettings, name: str, row_key: bytes, key: str
) -> list[_Row]:
    """Return the last records of the key, of the partitions where a record is refused."""
    checks = MacChecks.of(settings, topics.ALL)
    rows: list[_Row] = []
    for partition in range(settings.partitions):
        serials: Serials = {}
        refused: _Row | None = None
        for record in records(log, [TopicPartition(name, partition)]):
            reason = None if checks is None else checks.reasons([record], serials)[0]
            if record.key == row_key and reason != UNSIGNED_BEFORE:
                is_refused = reason is not None or checks is None
                refused = _Row(partition, record, reason) if is_refused else None
        if refused is not None:
            rows.append(refused)
    if not rows:
        raise NotFound(
            f"no record of {key} on {name} is refused after the last genuine one",
            advice="`headrace verify` names what is refused.",
        )
    return rows


def _derive(
    log: Log, settings: ServiceSettings, fold: Fold, partition: int, key: str
) -> _Derived | None:
    """Return the row that the facts of a partition make, None if none speaks of it."""
    genuine = GenuineRecords(MacChecks.of(settings, topics.ALL))
    by_name = {settings.prefix + topic.name: topic for topic in fold.facts}
    streams = [
        _by_time(genuine, log, TopicPartition(name, partition), number)
        for number, name in enumerate(by_name)
    ]
    command = _command_reader(log, settings)
    row: Row | None = None
    cause = b""
    for _, _, _, record in heapq.merge(*streams, key=lambda item: item[:3]):
        topic = by_name[record.topic]
        try:
            fact = decode(record.value, topic.record or "").value
            if fold.row_key(topic, fact) != key:
                continue
            after = fold.step(row, topic, fact, command)
        except Undecodable:
            continue
        except CommandGone as exc:
            raise NotDerivable(f"the command at {exc} is not on the log any more") from exc
        if after is not None:
            row, cause = after, header(record, CAUSE) or b""
    if row is None:
        return None
    return _Derived(encode(fold.table.record, visible_members(row)), cause)


def _by_time(
    genuine: GenuineRecords, log: Log, tp: TopicPartition, number: int
) -> Iterator[tuple[int, int, int, Record]]:
    latest = 0
    for record in genuine.of(records(log, [tp])):
        latest = max(latest, record.timestamp)
        yield latest, number, record.offset, record


def _command_reader(log: Log, settings: ServiceSettings) -> Any:
    """Return a function that reads the value of the command at a position, None if it is gone."""
    read, prefix = records_of(log), settings.prefix

    def command(place: str) -> Mapping[str, Any] | None:
        record = read(place)
        if record is None:
            return None
        topic = topics.BY_NAME[record.topic.removeprefix(prefix)]
        value: Mapping[str, Any] = decode(record.value, topic.record or "").value
        return value

    return command


def _repair_of(name: str, key: str, row: _Row, value: bytes | None) -> Repair:
    sha256 = None if value is None else hashlib.sha256(value).hexdigest()
    action = ABSENT if value is None else DERIVED
    return Repair(name, row.partition, key, position(row.record), action, sha256)


def _audit_record(
    settings: ServiceSettings, repair: Repair, row: _Row, reason: str | None, by: str | None
) -> Output:
    value = {
        "topic": repair.topic,
        "key": (row.record.key or b"").decode(errors="replace"),
        "refused": repair.refused,
        "reason": reason or row.reason or "",
        "action": repair.action,
        "sha256": repair.sha256,
        "by": by,
        "at": time.time_ns() // 1_000_000,
    }
    name = settings.prefix + AUDIT_REPAIRS.name
    body = encode(AUDIT_REPAIRS.record or "", value)
    return Output(name, repair.refused.encode(), body, (), repair.partition)
