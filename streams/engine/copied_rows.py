"""The rows of replicated tables: their keys, and the rows that are made of facts."""

from __future__ import annotations

from schemas import Undecodable, decode
from streams.engine.processor import AvroValue
from streams.engine.records import LogRecord, Record, position
from streams.engine.rows import row_of
from streams.errors import InternalUnreadable
from topology.declarations import Table


def is_client_written(table: Table) -> bool:
    """Check whether clients, not processors, write the table's rows."""
    return table.topic is not None and table.topic.keeps_latest


def decode_key(key: bytes | None) -> str | None:
    """Return the key as text, None if it is not UTF-8; clients may have written it."""
    try:
        return (key or b"").decode()
    except UnicodeDecodeError:
        return None


def fact_row(table: Table, fact: Record) -> tuple[str | None, Record]:
    """Return the key of a fact's row, None if it is none, and the fact with the row's bytes.

    A row begins with the fact's position.
    """
    assert table.fact_key_of is not None
    try:
        key = table.fact_key_of(decode(fact.value, table.record).value)
    except Undecodable:
        return None, fact
    row = b"%s\0%s" % (position(fact).encode(), fact.value or b"")
    return key, LogRecord(fact.topic, fact.partition, fact.offset, fact.timestamp, fact.key, row)


def decode_row(table: Table, key: str, raw: bytes | None) -> AvroValue | None:
    """Decode a row; return None for a missing one, or one that a client wrote and nobody can read.

    Raises InternalUnreadable.
    """
    if raw is not None and table.fact_key_of is not None:
        place, _, fact = raw.partition(b"\0")
        return {**row_of(table, key, fact), "position": place.decode()}
    try:
        return None if raw is None else row_of(table, key, raw)
    except InternalUnreadable:
        if is_client_written(table):
            return None
        raise
