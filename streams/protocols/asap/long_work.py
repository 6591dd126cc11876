"""Tasks of ASAP as work that takes long, and that may ask for input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.asap.constants import ASAP_PROTOCOL_VERSION
from streams.api.long_work import Author, LongWork, Order, Question, WorkState
from streams.api.things import Ids
from streams.protocols.asap.processor.updates import INPUT_REQUIRED
from streams.protocols.asap.queries.rows import event_prefix, task_row_key
from streams.protocols.asap.queries.tasks import require_task, task_of
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, json_of
from topology.asap import ASAP_ENVELOPES, ASAP_EVENTS

_REASON = "the client called it off"
_PROMPT = "The task needs input."


def _read(view: ReadOnlyStore, ids: Ids) -> WorkState | None:
    row = task_of(view, ids["id"])
    if row is None:
        return None
    message = (row["progress"] or {}).get("message")
    return WorkState(
        row["status"],
        row["created_at"],
        row["updated_at"],
        message if isinstance(message, str) else None,
        _question(view, row) if row["status"] == INPUT_REQUIRED else None,
    )


def _question(view: ReadOnlyStore, row: Json) -> Question:
    wish = row["input_request"] or {}
    prompt = wish.get("prompt")
    text = prompt if isinstance(prompt, str) and prompt else _PROMPT
    return Question(str(_sequence_of_question(view, row)), text, wish.get("schema"))


def _sequence_of_question(view: ReadOnlyStore, row: Json) -> int:
    """Return the number of the event by which the task came to wait for input."""
    for _, pointer in view.scan(event_prefix(row["task_id"]), reverse=True):
        (fact,) = view.get_many([pointer])
        event = json_of(ASAP_EVENTS, fact) if fact else {}
        if event and _asks(event):
            return int(event["sequence"])
    return int(row["sequence"])


def _asks(event: Json) -> bool:
    """Return whether an event made the task wait for input, or changed what it asks for."""
    if any(each["to_status"] == INPUT_REQUIRED for each in event["transitions"]):
        return True
    payload = (event["envelope"] or {}).get("payload") or {}
    return event["status"] == INPUT_REQUIRED and payload.get("input_request") is not None


def _cancel(view: ReadOnlyStore, ids: Ids, author: Author) -> Order:
    row = require_task(view, ids["id"])
    payload = {"task_id": row["task_id"], "reason": _REASON}
    return Order(ASAP_ENVELOPES, _envelope(row, "TaskCancel", payload, author))


def _answer(view: ReadOnlyStore, ids: Ids, content: Mapping[str, Any], author: Author) -> Order:
    row = require_task(view, ids["id"])
    payload = {
        "task_id": row["task_id"],
        "message_id": author.id,
        "sender": row["requester"],
        "role": "user",
        "parts": [{"type": "data", "data": dict(content)}],
    }
    return Order(ASAP_ENVELOPES, _envelope(row, "MessageSend", payload, author))


def _envelope(row: Json, payload_type: str, payload: Json, author: Author) -> Json:
    """Return an envelope of the requester; its time is the task's, so that repeats are equal."""
    trace = {} if row["trace_id"] is None else {"trace_id": row["trace_id"]}
    return {
        "id": author.id,
        "asap_version": ASAP_PROTOCOL_VERSION,
        "timestamp": row["updated_at"],
        "sender": row["requester"],
        "recipient": row["worker"],
        "payload_type": payload_type,
        "payload": payload,
        **trace,
    }


LONG_WORK = LongWork(
    letter="a",
    row=lambda ids: task_row_key(ids["id"]),
    read=_read,
    cancelled="cancelled",
    cancel=_cancel,
    answer=_answer,
)
