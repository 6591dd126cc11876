"""`POST /summit` as the document has it; every outcome of JSON-RPC has the status 200."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from schemas.summit.words import METHODS
from streams.gateway.answer import JSON
from streams.gateway.openapi.operation import query_parameter
from streams.gateway.openapi.parts import answer
from streams.gateway.openapi.rpc_parts import (
    APPLIED,
    ID,
    ID_OR_NULL,
    TEXT,
    VERSION,
    closed,
    other,
    refusals,
    waiting,
)
from streams.gateway.openapi.schemas import Json, ref
from streams.summit.rpc import PATH, POSITIONS
from streams.summit.rpc.errors import NAMES
from streams.views.parameters import AFTER

_PLACED: Json = {
    POSITIONS: {"description": "Where calls are on the log, with commas between.", "schema": TEXT}
}
_EXAMPLES = ("seed", "invoke")


def paths(prefix: str) -> Json:
    return {PATH: {"post": _call(prefix)}}


def components() -> Json:
    """Schemas by name."""
    reply = {"anyOf": [ref("SummitResult"), ref("SummitRefusal")]}
    return {
        "SummitRequest": _request(),
        "SummitResult": closed({"jsonrpc": VERSION, "id": ID, "result": {"type": "object"}}),
        "SummitRefusal": _refusal(),
        "SummitReplies": {"anyOf": [reply, {"type": "array", "items": reply, "minItems": 1}]},
    }


def _call(prefix: str) -> Json:
    done = answer(ref("SummitReplies"), "Every outcome of JSON-RPC.")
    done["headers"] = {**APPLIED, **_PLACED}
    several = {"type": "array", "items": ref("SummitRequest"), "minItems": 1, "maxItems": 100}
    body = {"anyOf": [ref("SummitRequest"), several]}
    return {
        "operationId": "summit_call",
        "summary": "Call agents and tools, cancel runs, ask about both, as JSON-RPC",
        "tags": ["summit"],
        "parameters": [query_parameter(AFTER, prefix), *waiting()],
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": body, "examples": _examples()}},
        },
        "responses": {
            "200": done,
            "204": {"description": "There were notifications alone.", "headers": _PLACED},
            **refusals(400, 408, 413, 415, 422, 504),
            **other(),
        },
    }


def _request() -> Json:
    method = {"type": "string", "enum": list(METHODS)}
    members = {"jsonrpc": VERSION, "id": ID, "method": method, "params": {"type": "object"}}
    return closed(members, optional=("id", "params"))


def _refusal() -> Json:
    code = {"type": "integer", "enum": sorted(NAMES)}
    data = {"type": "object", "properties": {"rule": TEXT}, "required": ["rule"]}
    error = closed({"code": code, "message": TEXT, "data": data})
    return closed({"jsonrpc": VERSION, "id": ID_OR_NULL, "error": error})


def _examples() -> Json:
    folder = files("schemas").joinpath("examples", "summit", "calls")
    found: Json = {}
    for name in _EXAMPLES:
        call: Any = json.loads(folder.joinpath(f"{name}.json").read_text("utf-8"))
        call.pop("caller", None)
        found[name] = {"value": call}
    return found
