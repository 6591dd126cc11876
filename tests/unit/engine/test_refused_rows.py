"""Tests that of the records of a key that is written once, the first one stands."""

from __future__ import annotations

import logging

import pytest

from streams.engine.records import LogRecord, Record
from streams.engine.refused_rows import RefusedRows, is_written_once, standing_rows
from topology import tables
from topology.sap import SAP_CACHE_TABLE, SAP_TASK_ENVELOPES, SAP_TASK_STATES_TABLE
from topology.summit import SUMMIT_AGENTS_TABLE


def record_of(value: bytes | None) -> LogRecord:
    return LogRecord("sap.cache", 0, 1, 2, b"k", value, ())


def test_the_declared_tables() -> None:
    once = {table.name for table in tables.ALL if table.written_once is not None}
    assert once == {"sap.cache", "sap.heuristics", "sap.task-envelopes", "summit.agents"}
    assert is_written_once(SAP_CACHE_TABLE, b"key/00000001")
    assert is_written_once(SAP_TASK_ENVELOPES, b"task")
    assert not is_written_once(SAP_TASK_STATES_TABLE, b"task")
    assert is_written_once(SUMMIT_AGENTS_TABLE, b"agent/1.0.0")
    assert not is_written_once(SUMMIT_AGENTS_TABLE, b"agent")
    assert not is_written_once(SUMMIT_AGENTS_TABLE, b"\xff")


@pytest.mark.parametrize(
    ("stored", "values", "row", "refused"),
    [
        (None, [b"a"], b"a", []),
        (None, [b"a", b"a"], b"a", []),
        (None, [b"a", b"b", None, b"c"], b"a", [b"b", None, b"c"]),
        (b"a", [b"b"], None, [b"b"]),
        (b"a", [b"a", None], None, [None]),
        (None, [None, b"a"], b"a", [None]),
    ],
)
def test_the_first_record_stands(
    stored: bytes | None,
    values: list[bytes | None],
    row: bytes | None,
    refused: list[bytes | None],
) -> None:
    records = [(b"k", record_of(value)) for value in values]
    rows, others = standing_rows(records, lambda key: True, lambda keys: [stored] * len(keys))
    assert rows.get(b"k") == row
    assert [record.value for record in others] == refused


def test_other_keys_have_their_latest_record() -> None:
    records: list[tuple[bytes, Record]] = [(b"k", record_of(b"a")), (b"k", record_of(None))]
    assert standing_rows(records, lambda key: False, lambda keys: []) == ({b"k": None}, [])


def test_one_warning_per_topic_and_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = 100.0
    refused = RefusedRows(lambda: now)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            refused.count("t", "written_once", "t/0/1")
        refused.count("u", "written_once", "u/0/1")
        now += 61
        refused.count("t", "written_once", "t/0/2")
    assert refused.counts() == {("t", "written_once"): 4, ("u", "written_once"): 1}
    counts = [record.getMessage().split()[0] for record in caplog.records]
    assert counts == ["1", "1", "3"]
