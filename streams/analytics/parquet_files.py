"""Parquet files whose footers say which offsets they hold.

A file is written beside its place and renamed when it is whole and on the disk, so a reader sees
the former file or the new one.  Importing this module raises ExtraMissing if the extra `analytics`
is not installed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from streams.analytics.columns import Columns
from streams.analytics.errors import ExportFailed, ExportFormat
from streams.engine import durable_files
from streams.errors import needs_extra

with needs_extra("analytics", "headrace export parquet"):
    import pyarrow as pa
    import pyarrow.parquet as pq

FORMAT = 1
GROUP_ROWS = 32_768
"""The most rows of a row group."""
_GROUP_BYTES = 32 << 20
"""The bytes of columns after which a row group is written, so that memory stays bounded."""
_PREFIX = "headrace."


class Footer(NamedTuple):
    """The footer of a file.

    next_offset: the first offset that is not exported, since transaction markers take offsets.
    record, avro_schema: the Avro full name and the schema of the values.
    """

    topic: str
    partition: int
    base_offset: int
    next_offset: int
    record: str
    avro_schema: str


def read_footer(path: Path) -> tuple[Footer, int]:
    """Return the footer of a file and its number of rows.  Raises ExportFormat."""
    try:
        metadata = pq.read_metadata(path)
        texts = {
            name.decode().removeprefix(_PREFIX): value.decode()
            for name, value in (metadata.metadata or {}).items()
        }
        format = int(texts["format"])
        footer = Footer(
            texts["topic"],
            int(texts["partition"]),
            int(texts["base_offset"]),
            int(texts["next_offset"]),
            texts["record"],
            texts["avro_schema"],
        )
    except (pa.ArrowException, OSError, KeyError, ValueError) as exc:
        raise ExportFormat(f"{path} is no file of an export: {type(exc).__name__}") from exc
    if format > FORMAT:
        raise ExportFormat(f"{path} has format {format}, which a later version of headrace wrote")
    return footer, metadata.num_rows


class FileWriter:
    """A writer of one file; batches become row groups."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self._columns = columns
        self._pending: list[Any] = []
        self._rows = self._bytes = 0
        self._writer = pq.ParquetWriter(
            path,
            columns.schema,
            compression="zstd",
            write_statistics=columns.with_statistics,
            write_page_index=True,
        )

    def add(self, batch: Any) -> None:
        """Add rows of the columns' schema, at most GROUP_ROWS."""
        if self._rows + batch.num_rows > GROUP_ROWS or self._bytes > _GROUP_BYTES:
            self._write_group()
        self._pending.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes

    def copy(self, path: Path) -> None:
        """Add the rows of a file; members that it does not have are null."""
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=GROUP_ROWS // 8):
                self.add(self._adapted(batch))

    def _adapted(self, batch: Any) -> Any:
        schema = self._columns.schema
        if batch.schema.equals(schema):
            return batch
        return pa.RecordBatch.from_arrays(
            [_adapted(batch, field) for field in schema], schema=schema
        )

    def _write_group(self) -> None:
        if self._rows:
            table = pa.Table.from_batches(self._pending, self._columns.schema)
            self._writer.write_table(table, row_group_size=GROUP_ROWS)
        self._pending, self._rows, self._bytes = [], 0, 0

    def finish(self, footer: Footer) -> None:
        self._write_group()
        members = {"format": FORMAT, **footer._asdict()}
        self._writer.add_key_value_metadata(
            {_PREFIX + name: str(value) for name, value in members.items()}
        )
        self._writer.close()

    def abandon(self) -> None:
        self._writer.close()


def _adapted(batch: Any, field: Any) -> Any:
    """Return the column of a field; members that the file does not have are null."""
    if batch.schema.get_field_index(field.name) < 0:
        return pa.nulls(batch.num_rows, field.type)
    column = batch.column(field.name)
    return column if column.type.equals(field.type) else pa.array(column.to_pylist(), field.type)


@contextmanager
def replaced(path: Path, columns: Columns) -> Iterator[FileWriter]:
    """Write a file, and put it in the place of the former one when the block has finished it.

    Raises ExportFailed when the disk is full, or refuses it otherwise.
    """
    temporary = _temporary(path)
    try:
        make_private(path.parent)
        writer = FileWriter(temporary, columns)
        try:
            yield writer
        except BaseException:
            with suppress(OSError):
                writer.abandon()
            raise
        put_in_place(temporary, path)
    except OSError as exc:
        raise ExportFailed(f"{path} cannot be written: {exc.strerror or exc}") from exc


def write_json(path: Path, value: Any) -> None:
    """Write JSON in the place of a former file."""
    temporary = _temporary(path)
    temporary.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    put_in_place(temporary, path)


def put_in_place(temporary: Path, path: Path) -> None:
    """Put a whole file in the place of the former one, for its owner alone."""
    temporary.chmod(0o600)
    durable_files.put_in_place(temporary, path)


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner alone."""
    if not folder.exists():
        make_private(folder.parent)
        folder.mkdir(mode=0o700)


def remove_unfinished(folder: Path) -> None:
    """Remove what killed exports have left."""
    for path in folder.rglob(".*.tmp"):
        path.unlink()


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")
