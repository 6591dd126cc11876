"""The OpenAPI description of the stream."""

from __future__ import annotations

from typing import Any

from streams.gateway.live_tail.events import TYPES
from streams.log.cursors import EARLIEST, LATEST

MEDIA_TYPE = "text/event-stream"
DESCRIPTION = """\
Server-sent events, one for each record of `rtes.events` that fits the filters: `id` is the cursor,
`data` the RtesRecord as JSON. Within a session they come in the order of `sequence`; none is
repeated or left out, also not over a reconnect with `Last-Event-ID`.

The cursor is `session:sequence` (session percent-encoded) with exactly one `session_id`, else
`partition:offset` of every partition, joined by commas. The stream opens with an `id` without
data. Without output for a while there comes a comment, `: heartbeat`, and the cursor again if
records were filtered meanwhile. A client that takes too little gets `event: overflow` with
`data: {"cursor": …}`, and is disconnected; it goes on with that cursor.
"""


def _list_parameter(name: str, meaning: str, item: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "description": f"{meaning} Given several times, any of the values fits.",
        "schema": {"type": "array", "items": {"type": "string", **(item or {})}},
        "style": "form",
        "explode": True,
    }


def _cursor_parameter(name: str, where: str, meaning: str) -> dict[str, Any]:
    return {"name": name, "in": where, "description": meaning, "schema": {"type": "string"}}


PARAMETERS: list[dict[str, Any]] = [
    _list_parameter("session_id", "Only events of this session."),
    _list_parameter("type", "Only events of this type.", {"enum": list(TYPES)}),
    _list_parameter("task_id", "Only events linked to this task."),
    {
        "name": "from",
        "in": "query",
        "description": "Where to begin without a cursor.",
        "schema": {"type": "string", "enum": [EARLIEST, LATEST], "default": LATEST},
    },
    _cursor_parameter("cursor", "query", "The last cursor seen: go on with what comes after it."),
    _cursor_parameter("Last-Event-ID", "header", "The same, as browsers send it; it wins."),
]


def _problem(meaning: str, **members: dict[str, Any]) -> dict[str, Any]:
    properties = {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "rule": {"type": "string"},
        "path": {"type": "string"},
        **members,
    }
    required = ["type", "title", "status", "detail", "rule", *members]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"description": meaning, "content": {"application/problem+json": {"schema": schema}}}


_TEXT = {
    "schema": {"type": "string"},
    "example": 'id: s1:6\n\nid: s1:7\ndata: {"session_id":"s1","sequence":7}\n\n: heartbeat\n\n',
}

RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The stream; it does not end.", "content": {MEDIA_TYPE: _TEXT}},
    400: _problem("`cursor_invalid`: no cursor of the form that the filters ask for."),
    409: _problem("`cursor_ahead`: it lies beyond the end, so the topic was created anew."),
    410: _problem(
        "`cursor_expired`: what comes next is not kept any more.", earliest={"type": "string"}
    ),
    422: _problem("`query_value`: a parameter is unknown, repeated or not allowed."),
    503: _problem("`service_unavailable`: Kafka does not answer, or too many clients follow."),
}
