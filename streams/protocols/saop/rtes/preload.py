"""Fetching the rows that a batch will ask for, in one call per table; only a matter of speed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streams.engine.processor import AvroValue, Message, Work
from streams.protocols.saop.rtes.calls import call_key
from streams.protocols.saop.rtes.dedupe import id_key
from streams.protocols.saop.rtes.thoughts import latest_key, stream_key
from topology.core import RTES_RAW
from topology.declarations import Table
from topology.keys import composite
from topology.saop import (
    RTES_CALLS,
    RTES_IDS,
    RTES_SESSIONS,
    RTES_THOUGHTS,
    SAOP_TASKS_TABLE,
    saop_task_key,
)

_Keys = tuple[Table, Callable[[AvroValue, AvroValue], Sequence[str]]]


def _task(event: AvroValue, payload: AvroValue) -> Sequence[str]:
    return (saop_task_key(event["session_id"], payload["task_id"], event["origin"]),)


def _call(event: AvroValue, payload: AvroValue) -> Sequence[str]:
    return (call_key(event["session_id"], event["origin"], payload["call_id"]),)


def _stream(event: AvroValue, payload: AvroValue) -> Sequence[str]:
    session_id = event["session_id"]
    return latest_key(session_id, payload), stream_key(session_id, payload, None)


_BY_PAYLOAD: dict[str, _Keys] = {
    "headrace.rtes.TaskTransition": (SAOP_TASKS_TABLE, _task),
    "headrace.rtes.ToolInvoked": (RTES_CALLS, _call),
    "headrace.rtes.ToolCompleted": (RTES_CALLS, _call),
    "headrace.rtes.ThoughtStream": (RTES_THOUGHTS, _stream),
}


def load(batch: Sequence[Message], work: Work) -> None:
    sessions: list[str] = []
    ids: list[str] = []
    more: dict[Table, list[str]] = {}
    for message in batch:
        event = message.value
        sessions.append(composite(event["session_id"]))
        if message.topic is not RTES_RAW:
            continue
        ids.append(id_key(event["session_id"], event["event_id"]))
        name, payload = event["payload"]
        if name in _BY_PAYLOAD:
            table, keys = _BY_PAYLOAD[name]
            more.setdefault(table, []).extend(keys(event, payload))
    work.rows(RTES_SESSIONS).load(sessions)
    work.rows(RTES_IDS).load(ids)
    for table, keys_of_table in more.items():
        work.rows(table).load(keys_of_table)
