"""Lists of tasks, the one that changed last first.

A page goes on behind the last task of the one before, by time and id.  So a task that changes
meanwhile moves to the front, and is not shown twice.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Any, NamedTuple

import orjson

from schemas import sha256_hex
from schemas.canonical import MAX_SAFE_INTEGER
from schemas.formats import parse_ms
from schemas.projection import Projection
from schemas.summit.words import INVOKE
from streams.access.callers import Caller
from streams.doors.a2a.errors import A2aError
from streams.doors.a2a.protocol import Json
from streams.doors.a2a.sending import read_history_length
from streams.doors.a2a.tasks import STATES, Selection, read_task
from streams.protocols.summit.queries import runs
from streams.protocols.summit.queries.invoked import Change, counts_of, each_changed
from streams.protocols.summit.queries.rows import RUNS
from streams.views.reads import ReadOnlyStore
from topology.summit import SUMMIT_RUNS

_PAGE, _MAX_PAGE = 50, 100
_CHUNK = 128
_BRIEF = Projection(
    SUMMIT_RUNS.record or "",
    ("runId", "kind", "caller", "traceId", "agentId", "state", "updatedAt"),
)


class Query(NamedTuple):
    """A list of the tasks of one agent.

    caller: who made them, None for all.  states: of their runs, None for all.
    since: ms since the epoch, inclusive; None for all times.
    """

    agent_id: str
    caller: str | None
    context_id: str | None
    states: tuple[str, ...] | None
    since: int | None

    @property
    def digest(self) -> str:
        """Return what tells the tokens of this list from those of others."""
        return sha256_hex(orjson.dumps(self._asdict()))

    def fits(self, run: Any) -> bool:
        """Return whether a run is one of these tasks."""
        return (
            run["kind"] == INVOKE
            and run["agentId"] == self.agent_id
            and self.caller in (None, run["caller"])
            and self.context_id in (None, run["traceId"] or run["runId"])
            and (self.states is None or run["state"] in self.states)
            and (self.since is None or run["updatedAt"] >= self.since)
        )


class Page(NamedTuple):
    """A page that is asked for.  before: the last task of the page before it."""

    query: Query
    size: int
    before: Change | None
    selection: Selection


def read_page(request: Json, agent_id: str, caller: Caller | None) -> Page:
    """Return the page that a client asks for.  Raises A2aError."""
    status, after = request.get("status"), request.get("statusTimestampAfter")
    query = Query(
        agent_id,
        None if caller is None or caller.is_operator else caller.principal,
        request.get("contextId"),
        None if status is None else tuple(s for s, name in STATES.items() if name == status),
        None if after is None else parse_ms(after),
    )
    size: int = request.get("pageSize", _PAGE)
    if not 1 <= size <= _MAX_PAGE:
        raise A2aError("a2a.page_size", f"pageSize is 1 to {_MAX_PAGE}", "/pageSize")
    token = request.get("pageToken")
    before = None if token is None else _parse_token(token, query)
    with_artifacts = bool(request.get("includeArtifacts"))
    selection = Selection(read_history_length(request, 0), with_artifacts=with_artifacts)
    return Page(query, size, before, selection)


def list_tasks(view: ReadOnlyStore, page: Page) -> Json:
    """Return ListTasksResponse, JSON."""
    changes = list(islice(_newest(view, page.query, page.before), page.size + 1))
    page_changes = changes[: page.size]
    rows = [runs.require_row(view, change.run_id) for change in page_changes]
    tasks = [read_task(view, row, page.selection).task for row in rows]
    has_more = len(changes) > page.size
    return {
        "tasks": tasks,
        "nextPageToken": _write_token(page_changes[-1], page.query) if has_more else "",
        "pageSize": len(tasks),
        "totalSize": _count(view, page.query),
    }


def _count(view: ReadOnlyStore, query: Query) -> int:
    """Return how many tasks a list has: by counters, where these tell its tasks apart."""
    if query.context_id is None and query.since is None:
        counts = counts_of(view, query.agent_id, query.caller)
        states = STATES if query.states is None else query.states
        return sum(counts.get(state, 0) for state in states)
    return sum(1 for _ in _newest(view, query))


def _newest(view: ReadOnlyStore, query: Query, before: Change | None = None) -> Iterator[Change]:
    """Yield the changes of a list's tasks, the newest first.

    before: only those further back than this one.
    """
    if query.context_id is not None:
        changes = _of_context(view, query, query.context_id)
        yield from (each for each in changes if before is None or each < before)
        return
    entries = each_changed(view, query.agent_id, query.caller, before)
    if query.since is not None:
        since = query.since
        entries = takewhile(lambda entry: entry[0].at >= since, entries)
    if query.states is None:
        yield from (change for change, _ in entries)
        return
    while chunk := list(islice(entries, _CHUNK)):
        yield from _fitting(view, [row_key for _, row_key in chunk], query)


def _of_context(view: ReadOnlyStore, query: Query, context_id: str) -> list[Change]:
    """Return the changes of a context's tasks, which are few, the newest first.

    The context of a run without a trace is the run's own id.
    """
    keys = [row_key for _, row_key in view.scan(RUNS.filtered("traceId", context_id))]
    keys.append(runs.run_row(context_id))
    return sorted(set(_fitting(view, keys, query)), reverse=True)


def _fitting(view: ReadOnlyStore, keys: list[bytes], query: Query) -> Iterator[Change]:
    for row in view.get_many(keys):
        run = None if row is None else _BRIEF.of(row)
        if run is not None and query.fits(run):
            yield Change(run["updatedAt"], run["runId"])


def _write_token(change: Change, query: Query) -> str:
    text = orjson.dumps([query.digest[:16], *change])
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _parse_token(token: str, query: Query) -> Change:
    """Return the change behind which a page begins.  Raises A2aError."""
    try:
        value = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (binascii.Error, ValueError):
        value = None
    match value:
        case [str(digest), int(at), str(task_id)] if (
            digest == query.digest[:16] and 0 <= at <= MAX_SAFE_INTEGER
        ):
            return Change(at, task_id)
    raise A2aError("a2a.page_token", "pageToken is none that this list has given", "/pageToken")
