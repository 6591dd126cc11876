"""Queries over sessions: events, rejections, tasks."""

from __future__ import annotations

from typing import Any

from schemas import decode, to_json
from streams.views.keys import key
from streams.views.params import Params, page
from streams.views.view import View
from topology.declarations import Topic
from topology.topics import RTES_EVENTS, RTES_REJECTIONS, SAOP_TASKS

Json = dict[str, Any]
EVENT_PARAMS = ("session_id", "after_sequence", "type", "task_id", "limit", "cursor")
REJECTION_PARAMS = ("session_id", "limit", "cursor")
TASK_PARAMS = ("session_id", "task_id", "state", "origin", "limit", "cursor")


def events(view: View, params: Params) -> Json:
    """RtesRecords of one session, by sequence."""
    session_id = params.required("session_id")
    past = params.number("after_sequence", 0)
    start = None if past is None else key("event", session_id, past + 1)
    kind, task_id = params.text("type"), params.text("task_id")

    def item(row: bytes) -> Json | None:
        value = _json(RTES_EVENTS, row)
        fits = kind in (None, value["payload"]["type"]) and task_id in (None, value["task_id"])
        return value if fits else None

    return page(view, key("event", session_id), params, _limit(params), item, start)


def rejections(view: View, params: Params) -> Json:
    """RtesRejections of one session, by offset."""
    prefix = key("rejection", params.required("session_id"))
    return page(view, prefix, params, _limit(params), lambda row: _json(RTES_REJECTIONS, row))


def tasks(view: View, params: Params) -> Json:
    """SaopTasks by session and task."""
    session_id = params.text("session_id")
    prefix = key("task") if session_id is None else key("task", session_id)
    wanted = {name: value for name in TASK_PARAMS[1:4] if (value := params.text(name)) is not None}

    def item(row: bytes) -> Json | None:
        value = _json(SAOP_TASKS, row)
        return value if all(value[name] == text for name, text in wanted.items()) else None

    return page(view, prefix, params, _limit(params), item)


def _limit(params: Params) -> int:
    return params.limit(100, 1000, rule="limit_invalid")


def _json(topic: Topic, row: bytes) -> Json:
    assert topic.record is not None
    return to_json(topic.record, decode(row, topic.record).value)
