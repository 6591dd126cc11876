"""The forms in which the rows of a query are written."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import orjson

from streams.analytics.values import Json, json_value
from streams.errors import needs_extra

with needs_extra("analytics", "headrace sql"):
    import pyarrow as pa
    import pyarrow.parquet as pq

_BATCH = 10_000
Write = Callable[[Any, BinaryIO], int]
Rows = Iterator[Sequence[Json]]


def names(result: Any) -> list[str]:
    """Return the names of the columns of a running query."""
    return [column[0] for column in result.description or ()]


def rows(result: Any, limit: int | None = None) -> Rows:
    """Yield the rows of a running query, as JSON values.  limit: how many at most."""
    count = 0
    while batch := result.fetchmany(_BATCH if limit is None else min(_BATCH, limit - count)):
        for row in batch:
            yield [json_value(value) for value in row]
        count += len(batch)


def cell(value: Json) -> str:
    """Return a value as the text of a table's cell."""
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def write_jsonl(result: Any, file: BinaryIO) -> int:
    count, columns = 0, _distinct(names(result))
    for row in rows(result):
        file.write(orjson.dumps(dict(zip(columns, row, strict=True))) + b"\n")
        count += 1
    return count


def write_json(result: Any, file: BinaryIO) -> int:
    count, columns = 0, _distinct(names(result))
    file.write(b"[")
    for row in rows(result):
        file.write(b",\n" if count else b"\n")
        file.write(orjson.dumps(dict(zip(columns, row, strict=True))))
        count += 1
    file.write(b"\n]\n" if count else b"]\n")
    return count


def write_csv(result: Any, file: BinaryIO) -> int:
    count, text = 0, io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names(result))
    for row in rows(result):
        writer.writerow([cell(value) for value in row])
        count += 1
        if text.tell() > 1 << 16:
            _flush(text, file)
    _flush(text, file)
    return count


def _flush(text: io.StringIO, file: BinaryIO) -> None:
    file.write(text.getvalue().encode("utf-8", "backslashreplace"))
    text.seek(0)
    text.truncate()


def write_markdown(result: Any, file: BinaryIO) -> int:
    count, columns = 0, names(result)
    for line in (columns, ["---"] * len(columns)):
        file.write(_markdown_line(line))
    for row in rows(result):
        file.write(_markdown_line([cell(value) for value in row]))
        count += 1
    return count


def _markdown_line(cells: Sequence[str]) -> bytes:
    escaped = (
        each.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("\r", " ")
        for each in cells
    )
    return f"| {' | '.join(escaped)} |\n".encode("utf-8", "backslashreplace")


def write_arrow(result: Any, file: BinaryIO) -> int:
    """Write a stream of Arrow's IPC format."""
    reader, count = result.to_arrow_reader(_BATCH), 0
    with pa.ipc.new_stream(file, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def write_parquet(result: Any, file: BinaryIO) -> int:
    reader, count = result.to_arrow_reader(_BATCH), 0
    with pq.ParquetWriter(file, reader.schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _distinct(columns: Sequence[str]) -> list[str]:
    """Return names of columns, a repeated one with a number, so that an object keeps both."""
    seen: dict[str, int] = {}
    made = []
    for name in columns:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return made


FORMATS: Mapping[str, Write] = {
    "csv": write_csv,
    "json": write_json,
    "jsonl": write_jsonl,
    "markdown": write_markdown,
    "parquet": write_parquet,
    "arrow": write_arrow,
}
"""The forms besides `table`.  Each writes all rows and returns how many they were."""
BINARY = frozenset({"parquet", "arrow"})
