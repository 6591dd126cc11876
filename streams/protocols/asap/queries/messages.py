"""Queries of the messages and artifacts of a task (ASAP guide, 2.6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from schemas.asap import EXT_PARTS, iso_of_ms
from schemas.formats import parse_ms
from streams.protocols.asap.queries.rows import part_key
from streams.protocols.asap.queries.states import check_events_available
from streams.protocols.asap.queries.tasks import require_task
from streams.views.keys import key, text_key
from streams.views.pages import rows_by_index, rows_of
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, json_of
from topology.asap import ASAP_EVENTS


def resolve_parts(view: ReadOnlyStore, task_id: str, items: Sequence[Any]) -> list[Any]:
    """Replace every known id among ids and parts by its Part."""
    ids = [item for item in items if isinstance(item, str)]
    rows = view.get_many([part_key(task_id, part_id) for part_id in ids])
    known = {
        part_id: orjson.loads(row)
        for part_id, row in zip(ids, rows, strict=True)
        if row is not None
    }
    return [known.get(item, item) if isinstance(item, str) else item for item in items]


def messages(view: ReadOnlyStore, id: str) -> Json:
    """Return the messages of a task, in order.  Raises NotFound, Gone."""
    task_id = _task(view, id)
    return {
        "messages": [_message(view, task_id, fact) for fact in _facts(view, "message", task_id)]
    }


def _message(view: ReadOnlyStore, task_id: str, fact: Json) -> Json:
    payload = fact["envelope"]["payload"]
    return {
        "id": payload["message_id"],
        "task_id": task_id,
        "sender": payload["sender"],
        "role": payload["role"],
        "parts": resolve_parts(view, task_id, payload["parts"]),
        "timestamp": fact["envelope"]["timestamp"],
    }


def artifacts(view: ReadOnlyStore, id: str) -> Json:
    """Return the latest form of each artifact of a task, ordered by its first notice.

    Raises NotFound, Gone.
    """
    task_id = _task(view, id)
    latest: dict[str, Json] = {}
    for fact in _facts(view, "artifact", task_id):
        artifact = _artifact(view, task_id, fact)
        latest[artifact["id"]] = artifact
    return {"artifacts": list(latest.values())}


def _artifact(view: ReadOnlyStore, task_id: str, fact: Json) -> Json:
    payload = fact["envelope"]["payload"]
    parts = (fact["envelope"]["extensions"] or {}).get(EXT_PARTS, ())
    return {
        "id": payload["artifact_id"],
        "task_id": task_id,
        "name": payload["name"] or "",
        "parts": resolve_parts(view, task_id, [part["id"] for part in parts]),
        "created_at": iso_of_ms(parse_ms(fact["at"]) or 0),
    }


def _task(view: ReadOnlyStore, id: str) -> str:
    row = require_task(view, id)
    check_events_available(row)
    task_id: str = row["task_id"]
    return task_id


def _facts(view: ReadOnlyStore, what: str, task_id: str) -> Iterator[Json]:
    index = rows_of(view, key(f"asap {what}") + text_key(task_id), lambda row_key: row_key)
    facts = rows_by_index(view, index, lambda row: json_of(ASAP_EVENTS, row))
    return (fact for _, fact in facts(None) if fact is not None)
