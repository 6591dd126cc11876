"""The columns of the documented views and macros, as an export without records has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from streams.analytics.columns import RECORD_COLUMNS, ROW_COLUMNS, Columns
from streams.analytics.export import selected
from streams.analytics.views import definitions, table_name
from streams.errors import needs_extra
from topology.declarations import TopicKind

with needs_extra("analytics", "headrace sql"):
    import duckdb
    import pyarrow as pa


def describe(sources: Iterable[str]) -> Mapping[str, list[tuple[str, str]]]:
    """Return the name and the type of each column of views, or of calls of macros."""
    with _open_empty() as connection:
        return {
            source: [
                (str(name), str(kind))
                for name, kind, *_ in connection.execute(
                    f"DESCRIBE SELECT * FROM {source}"
                ).fetchall()
            ]
            for source in sources
        }


def _open_empty() -> duckdb.DuckDBPyConnection:
    """Open a database whose topics have no records."""
    connection = duckdb.connect(":memory:")
    topics = selected(())
    for topic in topics:
        log_columns = ROW_COLUMNS if topic.kind is TopicKind.TABLE else RECORD_COLUMNS
        no_rows = Columns(log_columns, topic.record or "").batch([])
        connection.register("no_rows", pa.Table.from_batches([no_rows]))
        connection.execute(f"CREATE TABLE {table_name(topic.name)} AS SELECT * FROM no_rows")
        connection.unregister("no_rows")
    for statement in definitions(topic.name for topic in topics):
        connection.execute(statement)
    return connection
