"""The pieces of which the OpenAPI document is made; protocols and the gateway use them alike."""

from __future__ import annotations

from typing import Any

from streams.api import prefer
from streams.api.media import JSON_TYPE, PROBLEM_TYPE
from streams.api.problems import TITLES
from streams.engine.headers import TRACEPARENT

Json = dict[str, Any]
BASE = "#/components/schemas/"
TEXT: Json = {"type": "string"}
VERSION: Json = {"type": "string", "enum": ["2.0"]}
ID: Json = {"type": ["string", "integer"]}
ID_OR_NULL: Json = {"type": ["string", "integer", "null"]}
"""Of a request of JSON-RPC, and of an answer to one whose id cannot be read."""
APPLIED: Json = {
    prefer.APPLIED: {"description": "The seconds that would be waited, at most.", "schema": TEXT}
}


def ref(name: str) -> Json:
    return {"$ref": f"{BASE}{name}"}


def answer(schema: Json, description: str, media: str = JSON_TYPE) -> Json:
    return {"description": description, "content": {media: {"schema": schema}}}


def problems(*statuses: int) -> Json:
    """Responses by status, and one for every other."""
    named = {
        str(status): answer(ref("Problem"), f"{TITLES[status]}.", PROBLEM_TYPE)
        for status in statuses
    }
    return {**named, "default": answer(ref("Problem"), "Another problem.", PROBLEM_TYPE)}


def closed(members: Json, optional: tuple[str, ...] = ()) -> Json:
    """An object with these members alone."""
    return {
        "type": "object",
        "properties": members,
        "required": [name for name in members if name not in optional],
        "additionalProperties": False,
    }


def header(name: str, meaning: str, example: str | None = None) -> Json:
    """One that a request may have."""
    found: Json = {
        "name": name,
        "in": "header",
        "required": False,
        "description": meaning,
        "schema": TEXT,
    }
    return found if example is None else {**found, "example": example}


def trace_header() -> Json:
    return header(TRACEPARENT, "W3C trace context, which the records carry on.")


def wait_headers() -> list[Json]:
    """The headers of a request of JSON-RPC that may wait."""
    wait = "`wait=N` (RFC 7240) asks to wait so many seconds for what comes of a request."
    return [header("Prefer", wait, "wait=10"), trace_header()]
