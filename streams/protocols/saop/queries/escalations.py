"""The list of escalations, newest first; those of a session include its tasks' earlier ones.

A turn names no session, so an escalation of a turn has none.  The tasks of the session, which its
transitions name, tell it, also when the first of these came after the escalation.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge

from streams.protocols.saop.queries.rows import ESCALATION_FILTERS
from streams.views.keys import key, texts_in
from streams.views.pages import Entries, page_of, rows_by_index, rows_reversed
from streams.views.parse import QueryParams
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, filters_of, json_of, matches
from topology.saop import SAOP_ESCALATIONS

_SESSION = "session_id"


def escalations(view: ReadOnlyStore, params: QueryParams) -> Json:
    """List SaopEscalations, newest first."""
    members = filters_of(params, ESCALATION_FILTERS.values())
    session_id = members.pop(_SESSION, None)

    def item(row: bytes) -> Json | None:
        value = json_of(SAOP_ESCALATIONS, row)
        in_session = session_id is None or value[_SESSION] in (None, session_id)
        return value if in_session and matches(value, members) else None

    if session_id is not None:
        prefix = key("escalation in", session_id)
        index = _Session(view, session_id, prefix, members.get("task_id"))
        return page_of(params, prefix, rows_by_index(view, index.entries, item))
    for name, member in ESCALATION_FILTERS.items():
        if member in members:
            prefix = key("escalation of", name, members[member])
            by_member = rows_reversed(view, prefix, lambda row: row)
            return page_of(params, prefix, rows_by_index(view, by_member, item))
    prefix = key("escalation")
    return page_of(params, prefix, rows_reversed(view, prefix, item))


class _Session:
    """The escalations that name a session, and those of its tasks, by time.

    prefix: of the keys of the list; the time and the place of an escalation follow it.
    """

    def __init__(
        self, view: ReadOnlyStore, session_id: str, prefix: bytes, task_id: str | None
    ) -> None:
        self._view = view
        self._session_id = session_id
        self._prefix = prefix
        self._task_id = task_id

    def entries(self, before: bytes | None) -> Entries:
        """Yield the keys of the list, latest first, each with the key of its escalation."""
        suffix = None if before is None else before[len(self._prefix) :]
        last = None
        for place, row_key in merge(*self._indexes(suffix), reverse=True):
            if place != last:
                yield self._prefix + place, row_key
            last = place

    def _indexes(self, before: bytes | None) -> Iterator[Iterator[tuple[bytes, bytes]]]:
        yield self._places(key("escalation of", "session", self._session_id), before)
        for task_id in self._tasks():
            yield self._places(key("escalation of", "task", task_id), before)

    def _tasks(self) -> Iterator[str]:
        prefix = key("task", self._session_id)
        for row_key, _ in self._view.scan(prefix):
            (task_id,) = texts_in(row_key[len(prefix) :])
            if self._task_id in (None, task_id):
                yield task_id

    def _places(self, prefix: bytes, before: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        start = None if before is None else prefix + before
        for row_key, ref in self._view.scan(prefix, start, reverse=True):
            if start is None or row_key < start:
                yield row_key[len(prefix) :], ref
