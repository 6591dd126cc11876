"""Rows for holding streamed thoughts against the thoughts of logged turns.

| key                                                     | value                            |
|---------------------------------------------------------|----------------------------------|
| audit, task, turn_index, agent                          | nothing: there is a turn or a stream |
| stream, task, turn_index, agent, session                | JSON: chunks, chars, final       |
| chunk, task, turn_index, agent, session, sequence       | nothing                          |
| loose stream, session, turn_index, agent                | JSON, as of a stream: without a task |
| loose chunk, session, turn_index, agent, sequence       | nothing                          |
| streamed in, session, task                              | nothing                          |
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from streams.views.changes import Changes
from streams.views.keys import key

prefix = lru_cache(maxsize=1 << 12)(key)
"""Of rows that come in runs."""


def note_turn(task_id: str, turn_index: int, agent_id: str, rows: Changes) -> None:
    rows[key("audit", task_id, turn_index, agent_id)] = b""


class Chunks:
    """The streams of one batch of chunks, each row read and written once."""

    def __init__(self, rows: Changes) -> None:
        self._rows = rows
        self._open: dict[bytes, dict[str, Any]] = {}

    def note(self, record: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        """record: RtesRecord, payload: its ThoughtStream, as Avro values."""
        session_id, task_id = record["session_id"], record["task_id"]
        turn = (payload["turn_index"], payload["agent_id"])
        where: tuple[str | int, ...]
        if task_id is None:
            where = (session_id, *turn)
            stream, chunk = prefix("loose stream", *where), prefix("loose chunk", *where)
        else:
            where = (task_id, *turn, session_id)
            stream, chunk = prefix("stream", *where), prefix("chunk", *where)
            if stream not in self._open:
                self._rows[key("audit", task_id, *turn)] = b""
                self._rows[key("streamed in", session_id, task_id)] = b""
        row = self._row(stream)
        row["chunks"] += 1
        row["chars"] += len(payload["chunk"])
        row["final"] = row["final"] or payload["is_final"]
        self._rows[chunk + key(record["sequence"])] = b""

    def _row(self, stream: bytes) -> dict[str, Any]:
        row = self._open.get(stream)
        if row is None:
            known = self._rows.read(stream)
            new = {"chunks": 0, "chars": 0, "final": False}
            row = self._open[stream] = new if known is None else orjson.loads(known)
        return row

    def write(self) -> None:
        for stream, row in self._open.items():
            self._rows[stream] = orjson.dumps(row)
