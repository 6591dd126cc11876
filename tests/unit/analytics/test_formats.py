"""The rows of a query in each form: all of them, and no digit lost."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

SELECT = """
SELECT
  9007199254740993 AS big, 1.50::DECIMAL(10, 2) AS price,
  TIMESTAMPTZ '2026-01-01 10:00:00.123+02' AS t,
  {'a': [1, NULL], 'b': 9007199254740993} AS nested, '{"x": 1.0}'::JSON AS text_json,
  'nan'::DOUBLE AS nothing, 0.1::DOUBLE AS tenth, NULL AS missing,
  'a|b' || chr(10) || '"c"' AS text,
  '\\x01'::BLOB AS raw, true AS yes
FROM range(2)
"""
VALUES = {
    "big": "9007199254740993",
    "price": "1.50",
    "t": "2026-01-01T08:00:00.123Z",
    "nested": {"a": [1, None], "b": "9007199254740993"},
    "text_json": '{"x": 1.0}',
    "nothing": "nan",
    "tenth": 0.1,
    "missing": None,
    "text": 'a|b\n"c"',
    "raw": "01",
    "yes": True,
}


@pytest.fixture
def connection() -> Iterator[Any]:
    import duckdb

    with duckdb.connect(":memory:") as opened:
        opened.execute("SET TimeZone='UTC'")
        yield opened


def written(connection: Any, form: str, sql: str = SELECT) -> bytes:
    from streams.analytics.formats import BINARY, FORMATS

    file = io.BytesIO()
    result = connection.sql(sql) if form in BINARY else connection.execute(sql)
    count = FORMATS[form](result, file)
    assert count == len(connection.execute(sql).fetchall())
    return file.getvalue()


def test_json_and_its_lines_keep_every_digit(connection: Any) -> None:
    assert json.loads(written(connection, "json")) == [VALUES, VALUES]
    lines = written(connection, "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == [VALUES, VALUES]
    assert json.loads(written(connection, "json", "SELECT 1 WHERE false")) == []


def test_columns_of_one_name_are_all_kept(connection: Any) -> None:
    assert json.loads(written(connection, "json", "SELECT 1 AS a, 2 AS a")) == [{"a": 1, "a_2": 2}]


def test_csv_has_a_header_and_one_line_for_each_row(connection: Any) -> None:
    header, *rows = csv.reader(io.StringIO(written(connection, "csv").decode()))
    assert header == list(VALUES)
    assert len(rows) == 2
    first = dict(zip(header, rows[0], strict=True))
    assert first["nested"] == '{"a":[1,null],"b":"9007199254740993"}'
    assert (first["missing"], first["text"], first["yes"]) == ("", VALUES["text"], "true")


def test_markdown_has_one_line_for_each_row(connection: Any) -> None:
    lines = written(connection, "markdown").decode().splitlines()
    assert len(lines) == 4
    assert 'a\\|b "c"' in lines[2]


def test_parquet_and_arrow_are_read_by_others(connection: Any) -> None:
    import polars as pl

    sql = "SELECT i, 'x' || i AS name, {'n': i} AS nested FROM range(25000) t(i)"
    for frame in (
        pl.read_parquet(io.BytesIO(written(connection, "parquet", sql))),
        pl.read_ipc_stream(io.BytesIO(written(connection, "arrow", sql))),
    ):
        assert frame["i"].sum() == sum(range(25000))
        assert frame["name"][-1] == "x24999"
        assert frame["nested"][7] == {"n": 7}
