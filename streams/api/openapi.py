"""Helpers that build parts of the OpenAPI document, for the protocols and the gateway."""

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
"""The id of a JSON-RPC request; null in the response to one whose id cannot be read."""
APPLIED: Json = {
    prefer.APPLIED: {"description": "The seconds that would be waited, at most.", "schema": TEXT}
}


def ref(name: str) -> Json:
    return {"$ref": f"{BASE}{name}"}


def json_response(schema: Json, description: str, media: str = JSON_TYPE) -> Json:
    return {"description": description, "content": {media: {"schema": schema}}}


def problem_responses(*statuses: int) -> Json:
    """Return problem responses by status, and one for every other status."""
    named = {
        str(status): json_response(ref("Problem"), f"{TITLES[status]}.", PROBLEM_TYPE)
        for status in statuses
    }
    return {**named, "default": json_response(ref("Problem"), "Another problem.", PROBLEM_TYPE)}


def closed_object(members: Json, optional: tuple[str, ...] = ()) -> Json:
    """Return the schema of an object that allows these members only."""
    return {
        "type": "object",
        "properties": members,
        "required": [name for name in members if name not in optional],
        "additionalProperties": False,
    }


def header(name: str, meaning: str, example: str | None = None) -> Json:
    """Return the description of an optional request header."""
    parameter: Json = {
        "name": name,
        "in": "header",
        "required": False,
        "description": meaning,
        "schema": TEXT,
    }
    return parameter if example is None else {**parameter, "example": example}


def trace_header() -> Json:
    return header(TRACEPARENT, "W3C trace context, which the records carry on.")


def wait_headers() -> list[Json]:
    """Return the headers of a JSON-RPC request that may wait for its outcome."""
    wait = "`wait=N` (RFC 7240) asks to wait so many seconds for what comes of a request."
    return [header("Prefer", wait, "wait=10"), trace_header()]
