"""Lists over sessions and tasks: events, calls, rejections, tasks, turns, verdicts, escalations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import orjson

from schemas.formats import iso_ms
from schemas.json_mapping.json_form import number
from schemas.rtes.models import NAMES, AgentId, Origin
from streams.protocols.saop.queries.rows import INDEXED_TYPES
from streams.protocols.saop.queries.sessions import BY_TIME, NEW, NO_TASKS
from streams.views.keys import key, number_at_end, texts_in
from streams.views.pages import Entries, page_of, rows_by_index, rows_of, rows_reversed
from streams.views.parse import QueryParams
from streams.views.query_params import (
    CURSOR,
    SESSION_ID,
    TASK_ID,
    Parameter,
    ValueForm,
    limit,
    one_of,
)
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, filters_of, json_of, matches
from topology.saop import (
    RTES_EVENTS,
    RTES_REJECTIONS,
    SAOP_LOG,
    SAOP_TASKS,
    SAOP_VERDICTS,
)

PAGED = (limit(100, 1000, "limit_invalid"), CURSOR)
VERDICTS = ("accepted", "duplicate", "rejected")
DETECTORS = ("confidence", "repetition", "failures")

_ONE_SESSION = SESSION_ID._replace(required=True)
EVENT_PARAMS = (
    _ONE_SESSION,
    Parameter("after_sequence", "events after this one", ValueForm.WHOLE),
    one_of("type", "of this type", tuple(NAMES.values())),
    TASK_ID,
    *PAGED,
)
CALL_PARAMS = (
    _ONE_SESSION,
    Parameter("open", "only those not completed", ValueForm.FLAG, default=False),
    *PAGED,
)
REJECTION_PARAMS = (_ONE_SESSION, *PAGED)
TASK_PARAMS = (
    SESSION_ID,
    TASK_ID,
    Parameter("state", "in this state, as in the task's profile"),
    one_of("origin", "reported by this protocol's processor", get_args(Origin)),
    *PAGED,
)
SESSION_PARAMS = (
    SESSION_ID,
    Parameter("from", "with events not earlier", ValueForm.TIME),
    Parameter("to", "with events earlier", ValueForm.TIME),
    one_of("order", "by their names, or the latest first; by default name", ("name", "latest")),
    *PAGED,
)
MOST_READ = 2500
"""The most sessions that one page reads; where a window leaves few, the next page goes on."""
_ONE_TASK = TASK_ID._replace(required=True)
_AGENT = one_of("agent_id", "of this agent", get_args(AgentId))
TURN_PARAMS = (
    _ONE_TASK,
    Parameter("turn_index", "the one with this index", ValueForm.WHOLE),
    _AGENT,
    Parameter("from_index", "those from this index on", ValueForm.WHOLE),
    *PAGED,
)
VERDICT_PARAMS = (_ONE_TASK, one_of("verdict", "with this outcome", VERDICTS), *PAGED)
ESCALATION_PARAMS = (
    TASK_ID,
    SESSION_ID,
    _AGENT,
    one_of("detector", "by this detector", DETECTORS),
    *PAGED,
)


def events(view: ReadOnlyStore, params: QueryParams) -> Json:
    """List RtesRecords of one session, by sequence."""
    session_id = params.required("session_id")
    past = params.number("after_sequence") or 0
    kind, task_id = params.text("type"), params.text("task_id")

    def item(row: bytes) -> Json | None:
        value = json_of(RTES_EVENTS, row)
        is_match = kind in (None, value["payload"]["type"]) and task_id in (None, value["task_id"])
        return value if is_match else None

    if task_id is not None:
        prefix = key("event of task", session_id, task_id)
    elif kind in INDEXED_TYPES:
        prefix = key("event of type", session_id, kind)
    else:
        prefix = key("event", session_id)
        return page_of(params, prefix, rows_of(view, prefix, item, prefix + key(past + 1)))

    def index(start_after: bytes | None) -> Entries:
        for row_key, _ in rows_of(view, prefix, bytes, prefix + key(past + 1))(start_after):
            yield row_key, key("event", session_id, number_at_end(row_key))

    return page_of(params, prefix, rows_by_index(view, index, item))


def rejections(view: ReadOnlyStore, params: QueryParams) -> Json:
    """List RtesRejections of one session, by offset."""
    prefix = key("rejection", params.required("session_id"))
    return page_of(params, prefix, rows_of(view, prefix, lambda r: json_of(RTES_REJECTIONS, r)))


def calls(view: ReadOnlyStore, params: QueryParams) -> Json:
    """List tool calls of one session, by their first sequence; with `open` those not completed."""
    session_id = params.required("session_id")
    if not params.flag("open"):
        prefix = key("call", session_id)
        return page_of(params, prefix, rows_of(view, prefix, _call))
    prefix = key("open call", session_id)

    def index(start_after: bytes | None) -> Entries:
        for row_key, _ in rows_of(view, prefix, bytes)(start_after):
            yield row_key, key("call", session_id, number_at_end(row_key))

    return page_of(params, prefix, rows_by_index(view, index, _call))


def _call(row: bytes) -> Json:
    call: Json = orjson.loads(row)
    duration = call["duration_ms"]
    return call | {"duration_ms": None if duration is None else number(duration)}


def tasks(view: ReadOnlyStore, params: QueryParams) -> Json:
    """List SaopTasks by session and task."""
    members = filters_of(params, [parameter.name for parameter in TASK_PARAMS[:4]])

    def item(row: bytes) -> Json | None:
        value = json_of(SAOP_TASKS, row)
        return value if matches(value, members) else None

    session = [members["session_id"]] if "session_id" in members else []
    for name, index in (("task_id", "task of"), ("state", "task in")):
        if name in members:
            prefix = key(index, members[name], *session)
            index_rows = rows_of(view, prefix, lambda row: row)
            return page_of(params, prefix, rows_by_index(view, index_rows, item))
    prefix = key("task", *session)
    return page_of(params, prefix, rows_of(view, prefix, item))


def sessions(view: ReadOnlyStore, params: QueryParams) -> Json:
    """List the counts of sessions; those with events in a window, if one is named."""
    session_id = params.text("session_id")
    if session_id is None and params.text("order") == "latest":
        return _latest_sessions(view, params)
    start, end = params.time("from"), params.time("to")
    prefix = key("saop session") if session_id is None else key("saop session", session_id)

    def entries(start_after: bytes | None) -> Iterator[tuple[bytes, Any]]:
        for row_key, row in rows_of(view, prefix, bytes)(start_after):
            counts = {**NEW, **orjson.loads(row)}
            is_listed = _overlaps(counts, start, end)
            yield row_key, _session(view, row_key, counts) if is_listed else None

    return page_of(params, prefix, entries, MOST_READ)


def _latest_sessions(view: ReadOnlyStore, params: QueryParams) -> Json:
    """List sessions, those with the latest event first."""
    start, end = params.time("from"), params.time("to")
    lowest = None if start is None else BY_TIME + key(start)
    index = rows_reversed(view, BY_TIME, bytes, lowest)

    def entries(before_key: bytes | None) -> Iterator[tuple[bytes, Any]]:
        for index_key, _ in index(before_key):
            (session_id,) = texts_in(index_key[len(BY_TIME) + len(key(0)) :])
            row_key = key("saop session", session_id)
            (row,) = view.get_many([row_key])
            counts = {**NEW, **orjson.loads(row or b"{}")}
            is_listed = row is not None and _overlaps(counts, start, end)
            yield index_key, _session(view, row_key, counts) if is_listed else None

    return page_of(params, BY_TIME, entries, MOST_READ)


def _overlaps(counts: Json, start: int | None, end: int | None) -> bool:
    """Return whether a session had events in the window.  start, end: ms, None if open."""
    first, last = counts["first_recorded_at"], counts["last_recorded_at"]
    if start is not None and (last is None or last < start):
        return False
    return end is None or (first is not None and first < end)


def _session(view: ReadOnlyStore, row_key: bytes, row: Json) -> Json:
    """Return a listed session.  row: its counts."""
    session_id = _name_at_end(row_key)
    stored = view.get("saop session tasks", session_id)
    tasks = NO_TASKS if stored is None else orjson.loads(stored)
    return {
        "session_id": session_id,
        "last_sequence": row["last_sequence"],
        "first_recorded_at": _time(row["first_recorded_at"]),
        "last_recorded_at": _time(row["last_recorded_at"]),
        "events_by_type": dict(sorted(row["events_by_type"].items())),
        "tasks_by_state": dict(sorted(tasks["tasks_by_state"].items())),
        "current_task": tasks["active"][0] if len(tasks["active"]) == 1 else None,
        "rejected": row["rejected"],
        "duplicates": row["duplicates"],
    }


def _time(ms: int | None) -> str | None:
    return None if ms is None else iso_ms(ms)


def _name_at_end(row_key: bytes) -> str:
    """Return the session of a key of `saop session`."""
    name = row_key.removeprefix(key("saop session")).removesuffix(b"\0\1")
    return name.replace(b"\0\xff", b"\0").decode()


def turns(view: ReadOnlyStore, params: QueryParams) -> Json:
    """List SaopTurnLogged of one task, by turn_index."""
    prefix = key("saop turn", params.required("task_id"))
    index, first = params.number("turn_index"), params.number("from_index")
    agent_id = params.text("agent_id")
    only = prefix if index is None else prefix + key(index)
    start = None if first is None else prefix + key(first)

    def item(row: bytes) -> Json | None:
        value = json_of(SAOP_LOG, row)
        turn = value["turn"]
        late_enough = first is None or turn["turn_index"] >= first
        return value if late_enough and agent_id in (None, turn["agent_id"]) else None

    return page_of(params, prefix, rows_of(view, only, item, start if index is None else None))


def verdicts(view: ReadOnlyStore, params: QueryParams) -> Json:
    """List SaopVerdicts of one task, by offset."""
    prefix = key("saop verdict", params.required("task_id"))
    verdict = params.text("verdict")

    def item(row: bytes) -> Json | None:
        value = json_of(SAOP_VERDICTS, row)
        return value if verdict in (None, value["verdict"]) else None

    return page_of(params, prefix, rows_of(view, prefix, item))
