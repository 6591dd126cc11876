"""The log as columns: an export of topics into a folder of Parquet files, and SQL over it.

Needs the extra `analytics`.  Nothing of it runs in workers or gateways.

    from streams.analytics import connect

    con = connect("lake")
    frame = con.sql("SELECT * FROM transfers WHERE counted").df()
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

from streams.analytics.errors import SqlRefused

__all__ = ["SqlRefused", "check", "connect"]


def connect(
    path: str | Path | None = None,
    *,
    refresh: bool = True,
    memory_mib: int = 2048,
    threads: int | None = None,
) -> DuckDBPyConnection:
    """Open an export as a DuckDB database, which reads its files and nothing else.

    path: the folder; without it the export under the state directory, which is brought up to date
    first unless `refresh` is false.  memory_mib: what queries may take.  threads: as many as there
    are cores without it.

    Your own queries are run as they are; `check` is for those of others.

    Raises ExtraMissing, ExportMissing, ExportFormat, BrokerUnavailable.
    """
    from streams.analytics.connection import open_export
    from streams.analytics.refreshing import refreshed
    from streams.settings import Settings

    if path is None:
        path = refreshed(Settings.load()) if refresh else Settings.load().state_dir / "analytics"
    connection: DuckDBPyConnection = open_export(Path(path), memory_mib, threads)
    return connection


def check(sql: str) -> None:
    """Check that a text is one statement that only reads.  Raises SqlRefused, SqlInvalid."""
    from streams.analytics.gate import check as check_sql

    check_sql(sql)
