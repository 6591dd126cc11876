"""Pieces of the document that the endpoints of JSON-RPC share."""

from __future__ import annotations

from streams.api import prefer
from streams.api.problems import TITLES
from streams.engine.headers import TRACEPARENT
from streams.gateway.answer import PROBLEM
from streams.gateway.openapi import waits
from streams.gateway.openapi.parts import answer
from streams.gateway.openapi.schemas import Json, ref

TEXT: Json = {"type": "string"}
VERSION: Json = {"type": "string", "enum": ["2.0"]}
ID: Json = {"type": ["string", "integer"]}
ID_OR_NULL: Json = {"type": ["string", "integer", "null"]}
APPLIED: Json = {
    prefer.APPLIED: {"description": "The seconds that would be waited, at most.", "schema": TEXT}
}


def closed(members: Json, optional: tuple[str, ...] = ()) -> Json:
    """An object with these members alone."""
    return {
        "type": "object",
        "properties": members,
        "required": [name for name in members if name not in optional],
        "additionalProperties": False,
    }


def waiting() -> list[Json]:
    """The headers of a request that may wait."""
    wait = "`wait=N` (RFC 7240) asks to wait so many seconds for what comes of a request."
    return [
        waits.header("Prefer", wait, "wait=10"),
        waits.header(TRACEPARENT, "W3C trace context, which the records carry on."),
    ]


def refusals(*statuses: int) -> Json:
    return {str(n): answer(ref("Problem"), f"{TITLES[n]}.", PROBLEM) for n in statuses}


def other() -> Json:
    return {"default": answer(ref("Problem"), "Another problem.", PROBLEM)}
