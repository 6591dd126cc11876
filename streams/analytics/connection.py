"""A DuckDB database over an export: it reads the export's files, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from streams.analytics.errors import ExportMissing
from streams.analytics.folder import Folder
from streams.analytics.views import definitions, table_name
from streams.errors import needs_extra

with needs_extra("analytics", "headrace sql"):
    import duckdb

MEMORY_MIB = 2048
_LOCKED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",  # last
}


def open_export(path: Path, memory_mib: int = MEMORY_MIB, threads: int | None = None) -> Any:
    """Open an export and return the duckdb.DuckDBPyConnection, with views and macros.

    memory_mib: what its queries may take.  threads: as many as there are cores without it.
    Nothing is spilled to the disk, and nothing but the files of the export can be read.

    Raises ExportMissing, ExportFormat.
    """
    folder = Folder(path)
    manifest = folder.manifest()
    if manifest is None:
        raise ExportMissing(f"there is no export in {path}")
    connection = duckdb.connect(":memory:")
    try:
        _prepare(connection, memory_mib, threads)
        files = {name: _files(folder, name) for name in sorted(manifest["topics"])}
        exported = {name: paths for name, paths in files.items() if paths}
        _set(connection, "allowed_paths", _listed(p for paths in files.values() for p in paths))
        for name, paths in exported.items():
            source = f"read_parquet({_listed(paths)}, hive_partitioning=false)"
            connection.execute(f"CREATE VIEW {table_name(name)} AS SELECT * FROM {source}")
        for statement in definitions(exported):
            connection.execute(statement)
        for option, value in _LOCKED.items():
            _set(connection, option, value)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: Any, memory_mib: int, threads: int | None) -> None:
    _set(connection, "memory_limit", f"'{memory_mib}MiB'")
    _set(connection, "temp_directory", "''")
    _set(connection, "TimeZone", "'UTC'")
    _set(connection, "enable_progress_bar", "false")
    if threads is not None:
        _set(connection, "threads", str(threads))


def _set(connection: Any, option: str, value: str) -> None:
    connection.execute(f"SET {option}={value}")


def _files(folder: Folder, topic: str) -> list[str]:
    """Return the files of a topic, by partition and offset."""
    records = folder.path / "records" / topic
    if records.is_dir():
        partitions = sorted(int(each.name) for each in records.iterdir())
        return [str(path) for n in partitions for path in folder.segments(topic, n)]
    tables = folder.path / "tables" / topic
    return sorted(map(str, tables.glob("[0-9]*.parquet")))


def _listed(paths: Iterable[str]) -> str:
    quoted = (path.replace("'", "''") for path in paths)
    return "[" + ", ".join(f"'{path}'" for path in quoted) + "]"
