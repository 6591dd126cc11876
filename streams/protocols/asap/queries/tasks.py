"""Queries of tasks, conversations and agents.

A task has several ids: its own, its worker's aliases, and those of requests redirected to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from schemas import decode, to_json
from schemas.asap import TaskStatus, iso_of_ms
from streams.errors import NotFound
from streams.protocols.asap.queries.rows import (
    ALIAS,
    CONVERSATIONS_OF,
    STATUS,
    TASKS,
    response_key,
    task_row_key,
)
from streams.views.distinct import distinct_texts
from streams.views.keys import first_text, key, number_at_end, text_key
from streams.views.pages import Entries, page_of, rows_by_index, rows_of, rows_reversed
from streams.views.parse import QueryParams
from streams.views.query_params import CURSOR, Parameter, limit, one_of, window
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, filters_of, json_of, matches
from topology.asap import ASAP_EVENTS, ASAP_MANIFESTS, ASAP_TASKS
from topology.machines.asap_task import MACHINE

PAGED = (limit(100, 1000), CURSOR)
OLDEST, NEWEST = "oldest", "newest"


def paged(name: str, page: Json) -> Json:
    """Return a page of a list with ASAP's member names."""
    return {name: page["items"], "cursor": page["next"]}


TASKS_PARAMS = (
    one_of(STATUS, "in this state", tuple(status.value for status in TaskStatus)),
    Parameter("conversation_id", "of this conversation", example="conv-7f"),
    Parameter("requester", "asked for by this agent", example="urn:asap:agent:planner"),
    Parameter("worker", "for this agent", example="urn:asap:agent:indexer:eu"),
    Parameter("skill_id", "that need this skill", example="index.build"),
    Parameter("parent_task_id", "that are part of this task"),
    *window("created"),
    one_of("order", f"which come first; by default {OLDEST}", (OLDEST, NEWEST)),
    *PAGED,
)
_ROW_MEMBERS = (
    *("requester", "worker", "skill_id", "depth", "sequence", "state_mode"),
    *("event_retention_hours", "events_available", "timeout_at", "idempotency_key", "trace_id"),
    *("aliases", "input_request", "config"),
)
_STATE_MEMBERS = ("error_code", "snapshot_version", "snapshot_mark")


def task(view: ReadOnlyStore, id: str) -> Json:
    """Return a task.  Raises NotFound.

    id: of the task, a worker's alias, or of a request that was redirected to an older task.
    """
    row = require_task(view, id)
    response = row["response"] or _response(view, row["task_id"])
    return {
        **_render(row),
        "response": response,
        **{name: row[name] for name in _STATE_MEMBERS},
    }


def _render(row: Json) -> Json:
    return {"task": entity(row), **{name: row[name] for name in _ROW_MEMBERS}}


def entity(row: Json) -> Json:
    """Return the Task of a row."""
    return {
        "id": row["task_id"],
        "conversation_id": row["conversation_id"],
        "parent_task_id": row["parent_task_id"],
        "status": row["status"],
        "progress": row["progress"],
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
    }


def require_task(view: ReadOnlyStore, id: str) -> Json:
    """Return the AsapTask with that id or alias.  Raises NotFound."""
    row = task_of(view, id)
    if row is None:
        message = f"there is no task {id}: it was looked up as a task's id, as an id that a worker"
        message += " uses for one, and as the id of a request that another task answered"
        raise NotFound(message, "task_not_found")
    return row


def task_of(view: ReadOnlyStore, id: str) -> Json | None:
    """Return the AsapTask, with times in ASAP's form."""
    row = _row(view, id) or _row(view, _redirect_or_alias(view, id))
    return None if row is None else _json(row)


def _row(view: ReadOnlyStore, task_id: str | None) -> bytes | None:
    return None if task_id is None else view.get_many([task_row_key(task_id)])[0]


def _redirect_or_alias(view: ReadOnlyStore, id: str) -> str | None:
    """Return the task that a request was redirected to, or the newest one with this alias."""
    (redirect,) = view.get_many([key("asap redirect") + text_key(id)])
    if redirect is not None:
        return redirect.decode()
    prefix = ALIAS + text_key(id)
    newest = islice(view.scan(prefix, reverse=True), 1)
    return next((task_id_at_end(row_key, prefix) for row_key, _ in newest), None)


def task_id_at_end(row_key: bytes, prefix: bytes) -> str:
    """Return the task's id in a key of prefix, time and id."""
    text = row_key[len(prefix) + len(key(0)) : -len(text_key(""))]
    return text.replace(b"\0\xff", b"\0").decode()


def _json(row: bytes) -> Json:
    record = ASAP_TASKS.record or ""
    value = decode(row, record).value
    times = {name: iso_of_ms(value[name]) for name in ("created_at", "updated_at")}
    return {**to_json(record, value), **times}


def _response(view: ReadOnlyStore, task_id: str) -> Json | None:
    """Return the response of a task whose row does not contain it."""
    (fact_key,) = view.get_many([response_key(task_id)])
    (fact,) = view.get_many([fact_key]) if fact_key is not None else (None,)
    response: Json | None = None if fact is None else json_of(ASAP_EVENTS, fact)["envelope"]
    return response


def end_of(view: ReadOnlyStore, id: str) -> Json | None:
    """Return the TaskResponse of a task that has ended, or its end without one; None before."""
    row = task_of(view, id)
    if row is None or row["status"] not in MACHINE.terminal:
        return None
    response = row["response"] or _response(view, row["task_id"])
    if response is None:
        return {"task_id": row["task_id"], "status": row["status"]}
    payload: Json = response["payload"]
    return payload


def tasks(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return the tasks by created_at, then id, or in reverse."""
    members = filters_of(params, (*TASKS.fixed, TASKS.state))
    prefix = TASKS.among(members)

    def item(row: bytes) -> Json | None:
        value = _json(row)
        if not matches(value, members):
            return None
        return {**_render(value), **{name: value[name] for name in _STATE_MEMBERS}}

    start, end = params.window(prefix)
    if params.text("order") == NEWEST:
        index = rows_reversed(view, prefix, lambda row: row, start, end)
    else:
        index = rows_of(view, prefix, lambda row: row, start, end)
    return paged("tasks", page_of(params, prefix, rows_by_index(view, index, item)))


def tasks_in(view: ReadOnlyStore, conversation_id: str) -> Iterator[Json]:
    """Yield the AsapTasks of a conversation by created_at, then id."""
    prefix = TASKS.filtered("conversation_id", conversation_id)
    rows = rows_by_index(view, rows_of(view, prefix, lambda row: row), _json)
    return (row for _, row in rows(None) if row is not None)


AGENTS_PARAMS = PAGED


def agents(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return the valid manifests, by URN."""
    prefix = key("asap agent")
    rows = rows_of(view, prefix, _manifest)
    return paged("agents", page_of(params, prefix, rows))


def agent(view: ReadOnlyStore, urn: str) -> Json:
    """Return the manifest of an agent.  Raises NotFound."""
    row = view.get("asap agent", urn)
    if row is None:
        raise NotFound(f"there is no valid manifest of {urn}", "agent_not_found")
    return _manifest(row)


def _manifest(row: bytes) -> Json:
    return json_of(ASAP_MANIFESTS, row)


def conversation(view: ReadOnlyStore, id: str) -> Json:
    """Return a conversation with its tasks by age, and its participants.  Raises NotFound."""
    rows = list(tasks_in(view, id))
    if not rows:
        raise NotFound(f"there is no conversation {id}", "conversation_not_found")
    participants = dict.fromkeys(urn for row in rows for urn in (row["requester"], row["worker"]))
    entity = {
        "id": id,
        "participants": list(participants),
        "created_at": rows[0]["created_at"],
        "metadata": None,
    }
    return {"conversation": entity, "tasks": [row["task_id"] for row in rows]}


CONVERSATIONS_PARAMS = (
    Parameter("participant", "in which this agent asks or works", example="urn:asap:agent:planner"),
    *PAGED,
)
_CONVERSATIONS = TASKS.of + key("conversation_id")


def conversations(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return the conversations by id, each with the number of its tasks."""
    participant = params.text("participant")
    if participant is not None:
        return _conversations_of(view, participant, params)

    def entries(after_key: bytes | None) -> Entries:
        last = None if after_key is None else first_text(after_key.removeprefix(_CONVERSATIONS))
        for id in distinct_texts(view, _CONVERSATIONS, last):
            if id != last:
                yield TASKS.filtered("conversation_id", id), _listed_conversation(view, id)

    return page_of(params, _CONVERSATIONS, entries)


def _conversations_of(view: ReadOnlyStore, participant: str, params: QueryParams) -> Json:
    prefix = CONVERSATIONS_OF + text_key(participant)
    rows = rows_of(view, prefix, lambda row: row)

    def entries(after_key: bytes | None) -> Entries:
        for row_key, _ in rows(after_key):
            yield row_key, _listed_conversation(view, first_text(row_key[len(prefix) :]))

    return page_of(params, prefix, entries)


def _listed_conversation(view: ReadOnlyStore, id: str) -> Json:
    """Return the row of a conversation, read from the keys of its tasks' index alone."""
    prefix = TASKS.filtered("conversation_id", id)
    ends = len(prefix) + len(key(0))
    times = [number_at_end(row_key[:ends]) for row_key, _ in view.scan(prefix)]
    return {
        "id": id,
        "tasks": len(times),
        "created_at": iso_of_ms(times[0]),
        "last_created_at": iso_of_ms(times[-1]),
    }
