"""The sessions that packets belong to, with how many packets each has.

| key                                | value                                |
|------------------------------------|--------------------------------------|
| apc session, session_id            | JSON: `SessionCounts`                |
| apc sessions, last_at, session_id  | nothing                              |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, Self

import orjson

from schemas.formats import iso_ms
from schemas.projection import Projection
from streams.views.changes import WriteBatch
from streams.views.keys import key, text_key, texts_in
from streams.views.pages import Entries, page_of
from streams.views.parse import QueryParams
from streams.views.query_params import CURSOR, limit
from streams.views.reads import ReadOnlyStore
from topology.apc import APC_COORDINATION

Json = dict[str, Any]
_SESSION, _BY_TIME = key("apc session"), key("apc sessions")
_TIME_BYTES = len(key(0))
_CHUNK = 128
_STATE = Projection(APC_COORDINATION.record or "", ("state",))
SESSION_LIST_PARAMS = (limit(100, 1000), CURSOR)


class SessionCounts(NamedTuple):
    """The packets of a session.

    packets: those that lists of packets show.  rejected: those of them that were rejected.
    last_at: when something was decided last; ms since the epoch.
    """

    packets: int = 0
    rejected: int = 0
    last_at: int = 0

    @classmethod
    def load(cls, row: bytes | None) -> Self:
        return cls() if row is None else cls(*orjson.loads(row))


def count_sessions(facts: Iterable[Mapping[str, Any]], rows: WriteBatch) -> None:
    """Add the verdicts of a batch to the counts of their sessions, one row for each session."""
    added: dict[str, SessionCounts] = {}
    for fact in facts:
        session_id, verdict = fact["session_id"], fact["verdict"]
        if fact["packet_id"] is None:
            continue
        is_listed = fact["packet"] is not None and verdict in ("accepted", "rejected")
        packets, rejected, last_at = added.get(session_id, SessionCounts())
        added[session_id] = SessionCounts(
            packets + is_listed,
            rejected + (is_listed and verdict == "rejected"),
            max(last_at, fact["at"]),
        )
    rows.load(_SESSION + text_key(session_id) for session_id in added)
    for session_id, counts in added.items():
        _write(session_id, counts, rows)


def _write(session_id: str, added: SessionCounts, rows: WriteBatch) -> None:
    name = text_key(session_id)
    before = SessionCounts.load(rows.read(_SESSION + name))
    after = SessionCounts(
        before.packets + added.packets,
        before.rejected + added.rejected,
        max(before.last_at, added.last_at),
    )
    rows[_SESSION + name] = orjson.dumps(tuple(after))
    if before.last_at != after.last_at:
        if before.last_at:
            rows[_BY_TIME + key(before.last_at) + name] = None
        rows[_BY_TIME + key(after.last_at) + name] = b""


def sessions(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return the sessions, the latest first."""

    def entries(before_key: bytes | None) -> Entries:
        keys = (k for k, _ in view.scan(_BY_TIME, before_key, reverse=True) if k != before_key)
        while chunk := list(islice(keys, _CHUNK)):
            yield from zip(chunk, _session_rows(view, chunk), strict=True)

    return page_of(params, _BY_TIME, entries)


def _session_rows(view: ReadOnlyStore, index_keys: Iterable[bytes]) -> Iterator[Json]:
    names = [index_key[len(_BY_TIME) + _TIME_BYTES :] for index_key in index_keys]
    counts = view.get_many([_SESSION + name for name in names])
    states = view.get_many([key("coordination") + name for name in names])
    for name, row, state in zip(names, counts, states, strict=True):
        session = SessionCounts.load(row)
        yield {
            "session_id": texts_in(name)[0],
            "packets": session.packets,
            "rejected": session.rejected,
            "state": None if state is None else _STATE.of(state)["state"],
            "last_at": iso_ms(session.last_at),
        }
