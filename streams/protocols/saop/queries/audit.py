"""The comparison of the thoughts that agents streamed with those in their turns.

There is one item for each task, turn and agent that has a logged turn or a stream.  A stream is
compared chunk by chunk, code point by code point, so that only a few chunks are in memory.

Source: SAOP guide, 6.2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import orjson

from schemas import decode
from streams.protocols.saop.queries.lists import PAGED
from streams.views.keys import after, key, number_at_end
from streams.views.pages import Entries, page_of
from streams.views.parse import QueryError, QueryParams
from streams.views.query_params import SESSION_ID, TASK_ID
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json
from topology.saop import RTES_EVENTS, SAOP_LOG, SAOP_TASKS

AUDIT_PARAMS = (TASK_ID, SESSION_ID, *PAGED)
_CHUNKS_AT_ONCE = 32
_LINKED, _LOOSE = 0, 1


class Turn(NamedTuple):
    """A turn of an agent.  task_id: None for a stream without a link."""

    task_id: str | None
    turn_index: int
    agent_id: str


class Stream(NamedTuple):
    """A stream of chunks.

    pieces: the number of chunks.  chunks: the prefix of their keys.  final: its last chunk has
    arrived.
    """

    session_id: str
    pieces: int
    chars: int
    final: bool
    chunks: bytes


class Comparison(NamedTuple):
    """The result of a comparison.

    first_difference: index of the first code point that differs; None when none does."""

    sha256: str
    first_difference: int | None


def thought_audit(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return items by task, turn and agent; for a session, streams without a task come last."""
    task_id, session_id = params.text("task_id"), params.text("session_id")
    if (task_id is None) == (session_id is None):
        raise QueryError("task_id", "one of task_id and session_id must be given")
    if task_id is not None:
        prefix = key("audit", task_id)
        return page_of(params, prefix, lambda start_after: _of_task(view, task_id, start_after))
    session = session_id or ""
    prefix = key("audit of", session)
    return page_of(
        params, prefix, lambda start_after: _of_session(view, session, prefix, start_after)
    )


def _of_task(view: ReadOnlyStore, task_id: str, start_after: bytes | None) -> Entries:
    for row_key, turn in _turns(view, task_id, start_after):
        streams = _streams(view, turn)
        yield row_key, _item(view, turn, streams, _session_of(view, task_id, streams))


def _turns(
    view: ReadOnlyStore, task_id: str, start_after: bytes | None
) -> Iterator[tuple[bytes, Turn]]:
    prefix = key("audit", task_id)
    start = prefix if start_after is None else after(start_after)
    for row_key, _ in view.scan(prefix, start):
        index, agent = row_key[len(prefix) : len(prefix) + 8], row_key[len(prefix) + 8 : -2]
        yield row_key, Turn(task_id, number_at_end(index), agent.decode())


def _session_of(view: ReadOnlyStore, task_id: str, streams: Sequence[Stream]) -> str | None:
    """Return the stream's; of a turn without one that of the task, if only one session has it."""
    if streams:
        return streams[0].session_id if len(streams) == 1 else None
    sessions = set(islice(_sessions_with(view, task_id), 2))
    return sessions.pop() if len(sessions) == 1 else None


def _sessions_with(view: ReadOnlyStore, task_id: str) -> Iterator[str]:
    for _, row_key in view.scan(key("task of", task_id)):
        (row,) = view.get_many([row_key])
        task = decode(row or b"", SAOP_TASKS.record or "").value
        if task["origin"] is None:
            yield task["session_id"]


def _of_session(
    view: ReadOnlyStore, session_id: str, prefix: bytes, start_after: bytes | None
) -> Entries:
    """Yield the items of a session with their keys: linked ones by task, then loose ones."""
    linked = (
        (prefix + key(_LINKED, turn.task_id or "", turn.turn_index, turn.agent_id), turn, item)
        for turn, item in _linked(view, session_id, _task_in(prefix, start_after))
    )
    loose = (
        (prefix + key(_LOOSE, turn.turn_index, turn.agent_id), turn, item)
        for turn, item in _loose(view, session_id)
    )
    for row_key, _, item in chain(linked, loose):
        if start_after is None or row_key > start_after:
            yield row_key, item()


class _Lazy(NamedTuple):
    """An item that is computed when it is called."""

    view: ReadOnlyStore
    turn: Turn
    streams: Sequence[Stream]
    session_id: str | None

    def __call__(self) -> Json:
        return _item(self.view, self.turn, self.streams, self.session_id)


def _task_in(prefix: bytes, start_after: bytes | None) -> bytes:
    """Return the encoded task at which a page of linked items begins; after a loose one, none."""
    row_key = b"" if start_after is None else start_after.removeprefix(prefix)
    head = key(_LINKED)
    if not row_key.startswith(head):
        return b"\xff" if row_key else b""
    return row_key[len(head) : row_key.index(b"\0\1", len(head)) + 2]


def _linked(view: ReadOnlyStore, session_id: str, first: bytes) -> Iterator[tuple[Turn, _Lazy]]:
    for task_id in _tasks_of(view, session_id):
        if key(task_id) < first:
            continue
        for _, turn in _turns(view, task_id, None):
            streams = _streams(view, turn)
            sessions = {stream.session_id for stream in streams}
            if not sessions or session_id in sessions:
                session_shown = None if len(sessions) > 1 else session_id
                yield turn, _Lazy(view, turn, streams, session_shown)


def _tasks_of(view: ReadOnlyStore, session_id: str) -> list[str]:
    """Return the session's own tasks, and those that it streamed for, ordered by key."""
    rows = (decode(row, SAOP_TASKS.record or "").value for _, row in _task_rows(view, session_id))
    tasks = {row["task_id"] for row in rows if row["origin"] is None}
    prefix = key("streamed in", session_id)
    for row_key, _ in view.scan(prefix):
        tasks.add(row_key[len(prefix) : -2].replace(b"\0\xff", b"\0").decode())
    return sorted(tasks, key=key)


def _task_rows(view: ReadOnlyStore, session_id: str) -> Iterator[tuple[bytes, bytes]]:
    return view.scan(key("task", session_id))


def _loose(view: ReadOnlyStore, session_id: str) -> Iterator[tuple[Turn, _Lazy]]:
    prefix = key("loose stream", session_id)
    for row_key, row in view.scan(prefix):
        index, agent = row_key[len(prefix) : len(prefix) + 8], row_key[len(prefix) + 8 : -2]
        turn = Turn(None, number_at_end(index), agent.decode())
        chunks = key("loose chunk", session_id, turn.turn_index, turn.agent_id)
        yield turn, _Lazy(view, turn, [_stream(session_id, row, chunks)], session_id)


def _streams(view: ReadOnlyStore, turn: Turn) -> list[Stream]:
    where = (turn.task_id or "", turn.turn_index, turn.agent_id)
    prefix = key("stream", *where)
    streams = []
    for row_key, row in view.scan(prefix):
        session_id = row_key[len(prefix) : -2].replace(b"\0\xff", b"\0").decode()
        streams.append(_stream(session_id, row, key("chunk", *where, session_id)))
    return streams


def _stream(session_id: str, row: bytes, chunks: bytes) -> Stream:
    value = orjson.loads(row)
    return Stream(session_id, value["chunks"], value["chars"], value["final"], chunks)


def _item(
    view: ReadOnlyStore, turn: Turn, streams: Sequence[Stream], session_id: str | None
) -> Json:
    thought = _thought(view, turn)
    compared = _compare(view, streams[0], thought) if len(streams) == 1 else None
    status, reason = _status(turn, streams, thought, compared)
    return {
        "task_id": turn.task_id,
        "session_id": session_id,
        "turn_index": turn.turn_index,
        "agent_id": turn.agent_id,
        "status": status,
        "reason": reason,
        "chunks": sum(stream.pieces for stream in streams),
        "stream_chars": streams[0].chars if len(streams) == 1 else None,
        "thought_chars": None if thought is None else len(thought),
        "stream_sha256": None if compared is None else compared.sha256,
        "thought_sha256": None if thought is None else _sha256(thought),
        "first_difference": None
        if compared is None or status != "mismatch"
        else compared.first_difference,
    }


def _status(
    turn: Turn, streams: Sequence[Stream], thought: str | None, compared: Comparison | None
) -> tuple[str, str | None]:
    if turn.task_id is None:
        return "pending", "no_task"
    if len(streams) > 1:
        return "pending", "several_streams"
    if compared is None:
        return "pending", "no_stream"
    if thought is None:
        return "pending", "no_turn"
    if not streams[0].final:
        return "pending", "not_final"
    return ("match" if compared.first_difference is None else "mismatch"), None


def _thought(view: ReadOnlyStore, turn: Turn) -> str | None:
    """Return the thought of the logged turn, if it is this agent's."""
    row = None if turn.task_id is None else view.get("saop turn", turn.task_id, turn.turn_index)
    if row is None:
        return None
    logged = decode(row, SAOP_LOG.record or "").value["turn"]
    return logged["content"]["thought"] if logged["agent_id"] == turn.agent_id else None


def _compare(view: ReadOnlyStore, stream: Stream, thought: str | None) -> Comparison:
    """Return the stream's hash, and the first difference from the thought."""
    digest, length, difference = hashlib.sha256(), 0, None
    expected = thought or ""
    for chunk in _chunks(view, stream):
        digest.update(chunk.encode())
        if difference is None and not expected.startswith(chunk, length):
            difference = length + _common(chunk, expected, length)
        length += len(chunk)
    if difference is None and length != len(expected):
        difference = length
    return Comparison(digest.hexdigest(), difference)


def _common(chunk: str, expected: str, start: int) -> int:
    """Count the code points that a chunk has in common with the expected text from `start` on."""
    part = expected[start : start + len(chunk)]
    return next((n for n, (a, b) in enumerate(zip(chunk, part, strict=False)) if a != b), len(part))


def _chunks(view: ReadOnlyStore, stream: Stream) -> Iterator[str]:
    """Yield chunks in sequence order."""
    sequences = (number_at_end(row_key) for row_key, _ in view.scan(stream.chunks))
    while page := list(islice(sequences, _CHUNKS_AT_ONCE)):
        rows = view.get_many([key("event", stream.session_id, number) for number in page])
        for row in rows:
            if row is not None:
                yield decode(row, RTES_EVENTS.record or "").value["payload"][1]["chunk"]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
