"""The calls that a bridge has begun, in a file that outlives it.

The effect of a foreign tool is outside the log, so no transaction holds it.  A call is written here
and synced before the tool is called; after a crash it is known that it may have been done.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from streams.agents.cursor_file import file_stem
from streams.engine.durable_files import put_in_place, sync
from streams.errors import StateLocked, StoreFailed

KEEP_S = 7 * 86_400
"""How long a call is remembered, in seconds."""
REWRITE_EVERY = 20_000
"""After so many lines the file is written anew, without what is too old."""


def journal_path(agent_id: str, state_dir: Path) -> Path:
    return state_dir / "mcp-bridge" / f"{file_stem(agent_id)}.jsonl"


class CallJournal:
    """The begun calls of one agent, by key, each answered or not.

    One process has it at a time.  now_s: seconds since the epoch.  Raises StateLocked, and
    StoreFailed for a file that is no journal.
    """

    def __init__(self, path: Path, now_s: Callable[[], float] = time.time) -> None:
        self._path, self._now_s = path, now_s
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lines = 0
        self._owner = _owned(path.with_suffix(".lock"))
        try:
            self._calls = _read(path)
            self._file = self._rewrite()
        except BaseException:
            self._owner.close()
            raise

    def is_begun(self, key: str) -> bool:
        """Return whether a call has been begun, answered or not."""
        return key in self._calls

    def is_answered(self, key: str) -> bool:
        return key in self._calls and self._calls[key][1]

    async def begin(self, key: str) -> None:
        """Note a call before it is made; return when that is on the disk."""
        await asyncio.to_thread(self._append, key, False)

    def finish(self, key: str) -> None:
        """Note that a call has its answer on the log.  One that was never begun is left alone."""
        if self.is_begun(key):
            self._append(key, True)

    def close(self) -> None:
        """Let another process have the journal."""
        self._file.close()
        self._owner.close()

    def _append(self, key: str, has_answer: bool) -> None:
        """Write a line; sync it unless it only says that nothing is open any more."""
        with self._lock:
            at_s = self._now_s()
            self._calls[key] = at_s, has_answer
            self._file.write(_line(key, at_s, has_answer))
            self._file.flush()
            if not has_answer:
                os.fdatasync(self._file.fileno())
            self._lines += 1
            if self._lines >= REWRITE_EVERY:
                self._file.close()
                self._file = self._rewrite()

    def _rewrite(self) -> IO[str]:
        """Replace the file by one without old calls; return it open for the next lines."""
        oldest_s = self._now_s() - KEEP_S
        self._calls = {key: call for key, call in self._calls.items() if call[0] >= oldest_s}
        temporary = self._path.with_suffix(".new")
        temporary.write_text("".join(_line(key, *call) for key, call in self._calls.items()))
        put_in_place(temporary, self._path)
        sync(self._path.parent.parent)
        self._lines = 0
        return self._path.open("a")


def _line(key: str, at_s: float, has_answer: bool) -> str:
    return json.dumps({"key": key, "at": round(at_s, 3), "answered": has_answer}) + "\n"


def _read(path: Path) -> dict[str, tuple[float, bool]]:
    """Read a journal; a last line without its end was being written when the process died."""
    calls: dict[str, tuple[float, bool]] = {}
    text = path.read_text() if path.exists() else ""
    try:
        for line in text.split("\n")[:-1]:
            call = json.loads(line)
            calls[call["key"]] = float(call["at"]), bool(call["answered"])
    except (ValueError, TypeError, KeyError) as exc:
        advice = "Move it away: calls that it names may then be made twice."
        raise StoreFailed(f"{path} is no journal of calls: {exc}", advice=advice) from exc
    return calls


def _owned(path: Path) -> IO[str]:
    """Lock a file for as long as this process lives.  Raises StateLocked."""
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        file.close()
        advice = "Stop the other process first: one bridge serves an agent at a time."
        raise StateLocked(f"another process has {path}", advice=advice) from exc
    return file
