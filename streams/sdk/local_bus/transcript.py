"""An append-only file of what a bus did, in which no byte can change unseen.

One line per entry, RFC 8785 and LF: {seq from 1, at (ms), kind, taskId, correlationId, body, prev,
hash}.  `hash` is the SHA-256 of the line without it, `prev` the hash of the line before (64 zeros
in the first).  So a changed, missing or moved line breaks the chain where it stands.  Lines cut
off the end leave a shorter chain that holds; who has kept the last hash, the head, sees that too.

Source: SAP guide, 6.3.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from schemas import canonical_json, parse_ijson, sha256_hex
from streams.errors import TranscriptBroken

NO_HASH = "0" * 64
KINDS = ("task", "result", "signal", "ack", "inbox", "outcome", "cache", "heuristics")
_MEMBERS = frozenset(
    ("seq", "at", "kind", "taskId", "correlationId", "body", "prev", "hash"),
)

Entry = dict[str, Any]


class Verification(dict[str, Any]):
    """The result of a check of a transcript.

    ok; lines: how many there are; head: the hash of the last good one; firstBad: the number of the
    first bad one, from 1, or None.  A cut tail has no bad line, but is not ok.
    """

    @property
    def ok(self) -> bool:
        return bool(self["ok"])

    @property
    def lines(self) -> int:
        return int(self["lines"])

    @property
    def head(self) -> str:
        return str(self["head"])

    @property
    def firstBad(self) -> int | None:
        number: int | None = self["firstBad"]
        return number


class _End(NamedTuple):
    """The sequence number and the hash of the last line of a chain."""

    seq: int = 0
    head: str = NO_HASH


class Transcript:
    """Open for appending; a file that is not there is made.

    fsync: have each line on the disk before `append` returns.
    path: None keeps nothing; entries are made and chained all the same.
    Raises TranscriptBroken when the file does not verify.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, fsync: bool = False) -> None:
        self._fsync = fsync
        self._file: int | None = None
        self._close: weakref.finalize[..., Transcript] | None = None
        self._end = _End()
        if path is not None:
            self._open(Path(path))

    def _open(self, path: Path) -> None:
        if path.exists():
            verification = self.verify(path)
            if not verification.ok:
                raise TranscriptBroken(
                    f"{path}: line {verification.firstBad} is not as it was written"
                )
            self._end = _End(verification.lines, verification.head)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._close = weakref.finalize(self, os.close, self._file)

    @property
    def head(self) -> str:
        """Return the hash of the last line.

        Store it elsewhere to detect whether the end was cut off.
        """
        return self._end.head

    @property
    def lines(self) -> int:
        return self._end.seq

    def append(
        self, at: int, kind: str, task_id: str | None, correlation_id: str | None, body: Any
    ) -> Entry:
        """Write one entry, at `at` ms, and return it.  body: any JSON value.

        Raises ValueError for an unknown kind, for what is no JSON, and once it is closed.
        """
        if self._close is not None and not self._close.alive:
            raise ValueError("the transcript is closed")
        if kind not in KINDS:
            raise ValueError(f"{kind} is no kind of entry; kinds are {', '.join(KINDS)}")
        entry: Entry = {
            "seq": self._end.seq + 1,
            "at": at,
            "kind": kind,
            "taskId": task_id,
            "correlationId": correlation_id,
            "body": body,
            "prev": self._end.head,
        }
        entry["hash"] = sha256_hex(canonical_json(entry))
        self._write(canonical_json(entry) + b"\n")
        self._end = _End(entry["seq"], entry["hash"])
        return entry

    def _write(self, line: bytes) -> None:
        """Write a line unbuffered, so that it is flushed when this returns."""
        if self._file is None:
            return
        remaining = memoryview(line)
        while remaining:
            remaining = remaining[os.write(self._file, remaining) :]
        if self._fsync:
            os.fsync(self._file)

    @staticmethod
    def verify(path: str | os.PathLike[str], head: str | None = None) -> Verification:
        """Check that every line is as it was written.

        head: the hash of the last line, as stored elsewhere.
        """
        end, lines, first_bad = _End(), 0, None
        for line in _lines(Path(path)):
            lines += 1
            following = _next(line, end) if first_bad is None else None
            if following is None:
                first_bad = first_bad or lines
            else:
                end = following
        ok = first_bad is None and head in (None, end.head)
        return Verification(ok=ok, lines=lines, head=end.head, firstBad=first_bad)

    def close(self) -> None:
        """Close the file; nothing can be appended after that.  Idempotent."""
        if self._close is not None:
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


def _lines(path: Path) -> Iterator[bytes]:
    """Yield each line with the LF that ends it; the last may have none."""
    with path.open("rb") as file:
        yield from file


def _next(line: bytes, end: _End) -> _End | None:
    """Return the end of the chain after a line, None if the line does not continue the chain."""
    if not line.endswith(b"\n"):
        return None
    try:
        entry = parse_ijson(line[:-1])
        if not isinstance(entry, dict) or entry.keys() != _MEMBERS:
            return None
        if canonical_json(entry) != line[:-1]:
            return None
        line_hash = entry.pop("hash")
        good = line_hash == sha256_hex(canonical_json(entry))
    except ValueError:
        return None
    if not good or entry["prev"] != end.head or entry["seq"] != end.seq + 1:
        return None
    return _End(entry["seq"], line_hash)
