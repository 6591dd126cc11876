"""A segment: a file of records and their checkpoints, to be verified where there is no broker.

JSON lines: a line with the format, then checkpoints as their topic has them, then records, those of
each partition in log order, with keys, values and headers in base64.  If the name ends in `.gz`,
the file is compressed.  The segment of a transparency log has no checkpoints, and names its topics
in the first line.
"""

from __future__ import annotations

import gzip
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import orjson

from schemas import Problem, Undecodable, Unencodable, decode, encode
from streams.engine.records import LogRecord, Record
from streams.errors import InvalidInput, UsageError
from topology.core import AUDIT_CHECKPOINTS

FORMAT, LOG_FORMAT = "headrace-audit-segment/1", "headrace-audit-segment/2"
MAX_LINE_BYTES = 128 << 20
"""The most bytes of a line, more than any record that processes read takes in base64."""
_NUMBERS = ("partition", "offset", "timestamp")
_CHECKPOINT = AUDIT_CHECKPOINTS.record or ""


class Segment(NamedTuple):
    """The content of a segment.  records: read from the file on iteration, once."""

    checkpoints: list[Mapping[str, Any]]
    records: Iterator[Record]


def write(
    path: Path, checkpoints: Iterable[Mapping[str, Any]], records: Iterable[Record]
) -> tuple[int, int]:
    """Write a segment; return the numbers of its checkpoints and of its records."""
    counts = [0, 0]
    with _open(path, "wb") as file:
        file.write(_json_line({"format": FORMAT}))
        for checkpoint in checkpoints:
            file.write(_json_line({"checkpoint": checkpoint}))
            counts[0] += 1
        for record in records:
            file.write(_json_line({"record": _record_json(record)}))
            counts[1] += 1
    return counts[0], counts[1]


def read(path: Path) -> Segment:
    """Read a segment.  Raises InvalidInput, also while its records are read, and UsageError."""
    lines = _lines(path)
    first = next(lines, None)
    if first != {"format": FORMAT}:
        raise _malformed(path, 1, f"a segment begins with the format {FORMAT}")
    checkpoints: list[Mapping[str, Any]] = []
    first_records: list[dict[str, Any]] = []
    for line in lines:
        if "checkpoint" not in line:
            first_records.append(line)
            break
        checkpoints.append(_parse_checkpoint(path, len(checkpoints) + 2, line["checkpoint"]))
    numbered = enumerate(chain(first_records, lines), len(checkpoints) + 2)
    return Segment(checkpoints, (_parse_record(path, number, line) for number, line in numbered))


def write_records(path: Path, topics: Sequence[str], records: Iterable[Record]) -> int:
    """Write the segment of a transparency log; return the number of its records."""
    count = 0
    with _open(path, "wb") as file:
        file.write(_json_line({"format": LOG_FORMAT, "topics": list(topics)}))
        for record in records:
            file.write(_json_line({"record": _record_json(record)}))
            count += 1
    return count


def read_records(path: Path) -> tuple[Sequence[str] | None, Iterator[Record]]:
    """Read the segment of a transparency log: its topics, and its records.

    The topics are None where the first line names none.  Raises as `read` does.
    """
    lines = _lines(path)
    first = next(lines, None) or {}
    topics = first.get("topics")
    if first.get("format") != LOG_FORMAT or not (topics is None or _is_texts(topics)):
        raise _malformed(path, 1, f"the records of a log begin with the format {LOG_FORMAT}")
    return topics, (_parse_record(path, number, line) for number, line in enumerate(lines, 2))


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def read_record(path: Path) -> Record:
    """Read the record of a file that holds one line `record`.  Raises InvalidInput, UsageError."""
    first = next(_lines(path), None)
    if first is None:
        raise _malformed(path, 1, "this is no record")
    return _parse_record(path, 1, first)


def write_record(path: Path, record: Record) -> None:
    """Write a file that holds one line `record`."""
    with _open(path, "wb") as file:
        file.write(_json_line({"record": _record_json(record)}))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    number = 0
    try:
        with _open(path, "rb") as file:
            for number, text in enumerate(_read_lines(file), 1):
                if len(text) > MAX_LINE_BYTES:
                    raise _malformed(path, number, f"it has more than {MAX_LINE_BYTES} bytes")
                line = orjson.loads(text)
                if not isinstance(line, dict):
                    raise _malformed(path, number, "each line is a JSON object")
                yield line
    except (orjson.JSONDecodeError, EOFError, gzip.BadGzipFile, zlib.error) as exc:
        raise _malformed(path, number + 1, str(exc)) from exc
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror}") from exc


def _read_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield lines, of one that is too long no more than shows that it is."""
    return iter(partial(file.readline, MAX_LINE_BYTES + 1), b"")


def _parse_record(path: Path, number: int, line: Mapping[str, Any]) -> Record:
    try:
        members = line["record"]
        headers = [
            (_require_type(str, name), cast(bytes, _from_base64(value)))
            for name, value in members["headers"]
        ]
        partition, offset, timestamp = (_require_type(int, members[n]) for n in _NUMBERS)
        coordinates = (_require_type(str, members["topic"]), partition, offset, timestamp)
        return LogRecord(
            *coordinates, _from_base64(members["key"]), _from_base64(members["value"]), headers
        )
    except (KeyError, TypeError, ValueError) as exc:
        raise _malformed(path, number, "this is no record") from exc


def _require_type(kind: type[Any], value: Any) -> Any:
    if type(value) is not kind or (kind is int and not -1 <= value < 1 << 63):
        raise TypeError(f"{value!r} is not of {kind}")
    return value


def _parse_checkpoint(path: Path, number: int, value: Any) -> Mapping[str, Any]:
    """Decode a checkpoint; it must have exactly the members of the topic's schema."""
    try:
        checkpoint: Mapping[str, Any] = decode(encode(_CHECKPOINT, value), _CHECKPOINT).value
    except (Unencodable, Undecodable) as exc:
        raise _malformed(path, number, "this is no checkpoint") from exc
    return checkpoint


def _malformed(path: Path, number: int, what: str) -> InvalidInput:
    message = f"{path}, line {number}: {what}"
    return InvalidInput([Problem("segment_invalid", "", message)], advice="Export it again.")


def _record_json(record: Record) -> dict[str, Any]:
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _to_base64(record.key),
        "value": _to_base64(record.value),
        "headers": [[name, _to_base64(value)] for name, value in record.headers or ()],
    }


def _to_base64(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode()


def _from_base64(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text, validate=True)


def _json_line(value: Mapping[str, Any]) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def _open(path: Path, mode: str) -> IO[bytes]:
    if path.name.endswith(".gz"):
        return cast(IO[bytes], gzip.open(path, mode))
    return cast(IO[bytes], path.open(mode))
