"""The gate lets one statement through that reads; nothing that passes changes a file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.analytics.errors import SqlAccess, SqlInvalid, SqlMemory, SqlRefused, SqlTimeout
from tests.examples import example_count
from tests.unit.analytics.lake import TOPIC, append, new_log, run

ACCEPTED = (
    "SELECT 1",
    "SELECT 1;",
    "FROM saop_log",
    "VALUES (1), (2)",
    "DESCRIBE saop_log",
    "DESCRIBE SELECT 1 AS x",
    "SUMMARIZE saop_log",
    "SHOW TABLES",
    "SHOW ALL TABLES",
    "WITH x AS (SELECT 1) SELECT * FROM x",
    "WITH RECURSIVE w(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM w WHERE n < 9) SELECT * FROM w",
    "WITH RECURSIVE w(n) USING KEY (n) AS (SELECT 1 UNION SELECT n + 1 FROM w WHERE n < 9) FROM w",
    "SELECT 1 UNION ALL SELECT 2 EXCEPT SELECT 3",
    "SELECT (SELECT count(*) FROM saop_log)",
    "SELECT * FROM saop_log l WHERE EXISTS (SELECT 1 FROM saop_log m WHERE m._offset < l._offset)",
    "SELECT * FROM range(3) a(n), LATERAL (SELECT n + 1)",
    "SELECT task_id, row_number() OVER (ORDER BY _offset) FROM (SELECT turn.metadata.task_id,"
    " _offset FROM saop_log) QUALIFY row_number() OVER () = 1",
    "PIVOT (SELECT 1 AS a, 2 AS b) ON a IN (1) USING sum(b)",
    "SELECT unnest([1, 2, 3])",
    "SELECT * FROM generate_series(1, 3)",
    "SELECT * FROM duckdb_views()",
    "SELECT 'COPY x TO y; DROP TABLE z'",
    "SELECT 1 -- ; DROP TABLE x",
    "SELECT /* COPY */ 1",
    'SELECT 1 AS "insert"',
    "SELECT list_transform([1, 2], lambda x: x + 1)",
    "SELECT COLUMNS(*) FROM saop_log LIMIT 1",
    "SELECT * FROM read_parquet('nothing.parquet')",
)
"""The last one passes the gate, and is then kept from the file."""
WRITES = (
    "COPY (SELECT 1) TO '{file}'",
    "COPY (SELECT 1) TO '{file}' (use_tmp_file false)",
    "EXPORT DATABASE '{folder}'",
    "ATTACH '{folder}/x.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '99GB'",
    "RESET memory_limit",
    "PRAGMA database_list",
    "CALL pragma_version()",
    "CREATE TABLE t AS SELECT 1",
    "CREATE VIEW v AS SELECT 1",
    "CREATE MACRO m() AS 1",
    "DROP VIEW saop_log",
    "INSERT INTO saop_log VALUES (1)",
    "UPDATE saop_log SET _offset = 1",
    "DELETE FROM saop_log",
    "MERGE INTO saop_log USING saop_log s ON true WHEN MATCHED THEN DELETE",
    "ALTER VIEW saop_log RENAME TO other",
    "TRUNCATE saop_log",
    "VACUUM",
    "CHECKPOINT",
    "BEGIN",
    "COMMIT",
    "USE memory",
    "EXPLAIN SELECT 1",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{file}'",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP VIEW saop_log",
    "",
    "-- nothing",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM QUERY('SELECT 1')",
    "SELECT * FROM \"query\"('SELECT 1')",
    "SELECT * FROM query_table('saop_log')",
    "SELECT * FROM json_execute_serialized_sql('x')",
    "SELECT json_execute_serialized_sql('x')",
    "SELECT write_log('x')",
    "SELECT * FROM enable_profiling(save_location = '{file}')",
    "SELECT * FROM enable_logging()",
    "SELECT * FROM arrow_scan(1, 2, 3)",
    "SELECT * FROM pandas_scan(1)",
)
BURIED = (
    "WITH x AS ({0}) SELECT 1",
    "WITH x AS ({0}) SELECT * FROM x",
    "SELECT * FROM ({0})",
    "SELECT ({0})",
    "SELECT 1 WHERE EXISTS ({0})",
    "SELECT * FROM range(1) r, LATERAL ({0})",
    "SELECT 1 UNION ALL ({0})",
    "WITH x AS (WITH y AS ({0}) SELECT 1) SELECT * FROM x",
    "(({0}))",
    "/* {{ */ WITH x AS MATERIALIZED ({0}) FROM x",
)
_FIRST = 22
"""The statements of WRITES that a CTE or a subquery may try to have in it."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log, path = new_log(), tmp_path_factory.mktemp("gate") / "lake"
    for index in range(3):
        append(log, 0, index)
    run(log, path, TOPIC)
    return path


@pytest.fixture
def connection(lake: Path) -> Iterator[Any]:
    from streams.analytics.connection import open_export

    with open_export(lake, memory_mib=128) as opened:
        yield opened


def digests(path: Path) -> dict[str, str]:
    return {
        str(each.relative_to(path.parent)): hashlib.sha256(each.read_bytes()).hexdigest()
        for each in sorted(path.parent.rglob("*"))
        if each.is_file()
    }


def filled(statement: str, lake: Path) -> str:
    (file,) = (lake / "records" / TOPIC / "0").glob("*.parquet")
    return statement.replace("{file}", str(file)).replace("{folder}", str(lake))


def ask(connection: Any, sql: str, timeout_s: float = 60) -> Any:
    from streams.analytics.query import running

    with running(connection, sql, timeout_s) as result:
        return result.fetchall()


@pytest.mark.parametrize("sql", ACCEPTED[:-1])
def test_what_reads_passes_and_changes_nothing(connection: Any, lake: Path, sql: str) -> None:
    before = digests(lake)
    ask(connection, sql)
    assert digests(lake) == before


@pytest.mark.parametrize("sql", WRITES)
def test_what_writes_is_refused(connection: Any, lake: Path, sql: str) -> None:
    before = digests(lake)
    with pytest.raises((SqlRefused, SqlInvalid)) as caught:
        ask(connection, filled(sql, lake))
    if sql.startswith(("COPY", "SELECT", "CREATE", "INSERT", "EXPLAIN")):
        assert caught.type is SqlRefused
    assert digests(lake) == before


ALWAYS_REFUSED = ("COPY", "CREATE", "INSERT", "UPDATE", "DELETE", "MERGE", "DROP", "EXPORT")
wrappings = st.lists(st.sampled_from(BURIED), min_size=1, max_size=3)


@settings(max_examples=example_count(200), deadline=None)
@given(inner=st.sampled_from(WRITES[:_FIRST]), layers=wrappings)
def test_what_writes_is_refused_however_it_is_wrapped(
    lake: Path, inner: str, layers: list[str]
) -> None:
    from streams.analytics.connection import open_export

    sql = filled(inner, lake)
    for layer in layers:
        sql = layer.format(sql)
    before, is_refused = digests(lake), False
    with open_export(lake, memory_mib=128) as connection:
        try:
            ask(connection, sql)
        except (SqlRefused, SqlInvalid):
            is_refused = True
        databases = connection.execute("SELECT count(*) FROM duckdb_databases()").fetchone()
    # `SELECT (ATTACH 'x')` is a literal of a type ATTACH that nobody has.
    assert is_refused or not inner.startswith(ALWAYS_REFUSED)
    assert (digests(lake), databases) == (before, (3,))


def test_table_functions_that_change_or_take_addresses_are_refused() -> None:
    """Recognise those of a later DuckDB by their names."""
    import duckdb

    from streams.analytics.gate import REFUSED_TABLE_FUNCTIONS

    with duckdb.connect() as database:
        rows = database.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'table'"
        ).fetchall()
    words = (
        *("add_", "remove_", "create_", "destroy_", "register", "checkpoint", "truncate"),
        *("enable_", "disable_", "query", "execute", "python_", "pandas_", "arrow_", "seq_"),
    )
    suspect = {name for (name,) in rows if any(word in name for word in words)}
    assert {"query", "enable_profiling", "arrow_scan"} <= suspect
    reading = {"duckdb_live_query_metrics"}
    assert suspect - reading <= REFUSED_TABLE_FUNCTIONS


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM 'https://example.invalid/x.parquet'",
        "SELECT * FROM read_blob('{folder}/headrace.json')",
        "SELECT * FROM read_json('{folder}/headrace.json')",
        ACCEPTED[-1],
    ],
)
def test_a_query_reads_the_exported_files_only(connection: Any, lake: Path, sql: str) -> None:
    with pytest.raises(SqlAccess):
        ask(connection, filled(sql, lake))


def test_a_query_is_bounded_in_memory_and_time(connection: Any) -> None:
    with pytest.raises(SqlMemory):
        ask(connection, "SELECT list(i) FROM range(4000000000) t(i)")
    with pytest.raises(SqlTimeout, match=r"longer than 0\.2 s"):
        ask(connection, "SELECT count(*) FROM range(100000000000) a, range(1000) b", 0.2)
    assert ask(connection, "SELECT 1") == [(1,)]


def test_what_is_no_sql_is_told_with_its_place(connection: Any) -> None:
    with pytest.raises(SqlInvalid, match="nope") as caught:
        ask(connection, "SELECT nope FROM saop_log")
    assert "line 1, column 8" in str(caught.value)
    with pytest.raises(SqlInvalid, match="sql_invalid"):
        ask(connection, "SELEC 1")
