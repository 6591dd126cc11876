"""A segment: records and their checkpoints in a file, to be checked where there is no broker.

JSON lines: a line that says what it is, then checkpoints as their topic has them, then records,
those of each partition in the order of the log, keys, values and headers in base64.  A name that
ends in `.gz` is compressed.
"""

from __future__ import annotations

import gzip
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import orjson

from schemas import Problem, Undecodable, Unencodable, decode, encode
from streams.engine.records import LogRecord, Record
from streams.errors import InvalidInput, UsageError
from topology.core import AUDIT_CHECKPOINTS

FORMAT = "headrace-audit-segment/1"
_NUMBERS = ("partition", "offset", "timestamp")
_CHECKPOINT = AUDIT_CHECKPOINTS.record or ""


class Segment(NamedTuple):
    """records: read as they are asked for, once."""

    checkpoints: list[Mapping[str, Any]]
    records: Iterator[Record]


def write(
    path: Path, checkpoints: Iterable[Mapping[str, Any]], records: Iterable[Record]
) -> tuple[int, int]:
    """How many checkpoints and records it holds."""
    counts = [0, 0]
    with _open(path, "wb") as file:
        file.write(_line({"format": FORMAT}))
        for checkpoint in checkpoints:
            file.write(_line({"checkpoint": checkpoint}))
            counts[0] += 1
        for record in records:
            file.write(_line({"record": _shown(record)}))
            counts[1] += 1
    return counts[0], counts[1]


def read(path: Path) -> Segment:
    """Raises InvalidInput, also while its records are read, and UsageError."""
    lines = _lines(path)
    first = next(lines, None)
    if first != {"format": FORMAT}:
        raise _malformed(path, 1, f"a segment begins with the format {FORMAT}")
    checkpoints: list[Mapping[str, Any]] = []
    begun: list[dict[str, Any]] = []
    for line in lines:
        if "checkpoint" not in line:
            begun.append(line)
            break
        checkpoints.append(_checkpoint(path, len(checkpoints) + 2, line["checkpoint"]))
    numbered = enumerate(chain(begun, lines), len(checkpoints) + 2)
    return Segment(checkpoints, (_record(path, number, line) for number, line in numbered))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    number = 0
    try:
        with _open(path, "rb") as file:
            for number, text in enumerate(file, 1):
                line = orjson.loads(text)
                if not isinstance(line, dict):
                    raise _malformed(path, number, "each line is a JSON object")
                yield line
    except (orjson.JSONDecodeError, EOFError, gzip.BadGzipFile, zlib.error) as exc:
        raise _malformed(path, number + 1, str(exc)) from exc
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror}") from exc


def _record(path: Path, number: int, line: Mapping[str, Any]) -> Record:
    try:
        told = line["record"]
        headers = [(_is(str, name), cast(bytes, _bytes(value))) for name, value in told["headers"]]
        partition, offset, timestamp = (_is(int, told[n]) for n in _NUMBERS)
        place = (_is(str, told["topic"]), partition, offset, timestamp)
        return LogRecord(*place, _bytes(told["key"]), _bytes(told["value"]), headers)
    except (KeyError, TypeError, ValueError) as exc:
        raise _malformed(path, number, "this is no record") from exc


def _is(kind: type[Any], value: Any) -> Any:
    if type(value) is not kind or (kind is int and not -1 <= value < 1 << 63):
        raise TypeError(f"{value!r} is not of {kind}")
    return value


def _checkpoint(path: Path, number: int, found: Any) -> Mapping[str, Any]:
    """With the members that the topic's schema names, and no others."""
    try:
        same: Mapping[str, Any] = decode(encode(_CHECKPOINT, found), _CHECKPOINT).value
    except (Unencodable, Undecodable) as exc:
        raise _malformed(path, number, "this is no checkpoint") from exc
    return same


def _malformed(path: Path, number: int, what: str) -> InvalidInput:
    message = f"{path}, line {number}: {what}"
    return InvalidInput([Problem("segment_invalid", "", message)], advice="Export it again.")


def _shown(record: Record) -> dict[str, Any]:
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _text(record.key),
        "value": _text(record.value),
        "headers": [[name, _text(value)] for name, value in record.headers or ()],
    }


def _text(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text, validate=True)


def _line(value: Mapping[str, Any]) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def _open(path: Path, mode: str) -> IO[bytes]:
    if path.name.endswith(".gz"):
        return cast(IO[bytes], gzip.open(path, mode))
    return cast(IO[bytes], path.open(mode))
