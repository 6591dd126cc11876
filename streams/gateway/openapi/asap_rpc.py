"""`POST /asap`, its metrics and the service's manifest, as the document has them.

The outcomes of JSON-RPC all have the status 200 (asap spec 6.2).
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from schemas.asap import ERROR_MESSAGES
from streams.asap.jsonrpc import MANIFEST_PATH, METHOD, METRICS_PATH, PATH
from streams.engine.headers import TRACEPARENT
from streams.gateway.answer import JSON, PROBLEM
from streams.gateway.openapi import waits
from streams.gateway.openapi.parts import answer
from streams.gateway.openapi.schemas import Json, ref
from streams.problems import TITLES
from streams.routes import prefer

_TEXT: Json = {"type": "string"}
_OR_NULL: Json = {"type": ["string", "null"]}
_VERSION: Json = {"type": "string", "enum": ["2.0"]}
_ID: Json = {"type": ["string", "integer"]}
_EXAMPLE = "task_request.json"


def paths() -> Json:
    return {
        PATH: {"post": _send()},
        METRICS_PATH: {
            "get": _read(
                "get_asap_metrics", "What the ASAP server measures", _TEXT, media="text/plain"
            )
        },
        MANIFEST_PATH: {
            "get": _read("get_asap_manifest", "The service's manifest", ref("asap.manifest"))
        },
    }


def components() -> Json:
    """Schemas by name."""
    return {"AsapCall": _call(), "AsapReply": _reply(), "AsapRefusal": _refusal()}


def _send() -> Json:
    done = answer({"anyOf": [ref("AsapReply"), ref("AsapRefusal")]}, "Every outcome of JSON-RPC.")
    applied = {"description": "The seconds that would be waited, at most.", "schema": _TEXT}
    done["headers"] = {prefer.APPLIED: applied}
    large = {str(n): answer(ref("Problem"), f"{TITLES[n]}.", PROBLEM) for n in (400, 408, 413)}
    wait = "`wait=N` (RFC 7240) asks to wait so many seconds for what comes of a request."
    return {
        "operationId": "asap_send",
        "summary": "Send an envelope as JSON-RPC, and be told what came of it",
        "tags": ["asap"],
        "parameters": [
            waits.header("Prefer", wait, "wait=10"),
            waits.header(TRACEPARENT, "W3C trace context, which the records carry on."),
        ],
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": ref("AsapCall"), "examples": _examples()}},
        },
        "responses": {"200": done, **large, **_other()},
    }


def _read(name: str, summary: str, schema: Json, media: str = JSON) -> Json:
    return {
        "operationId": name,
        "summary": summary,
        "tags": ["asap"],
        "responses": {"200": answer(schema, "The answer.", media), **_other()},
    }


def _other() -> Json:
    return {"default": answer(ref("Problem"), "Another problem.", PROBLEM)}


def _object(members: Json, optional: tuple[str, ...] = ()) -> Json:
    return {
        "type": "object",
        "properties": members,
        "required": [name for name in members if name not in optional],
        "additionalProperties": False,
    }


def _call() -> Json:
    params = {
        "type": "object",
        "properties": {"envelope": ref("asap.envelope"), "idempotency_key": _TEXT},
        "required": ["envelope"],
    }
    method = {"type": "string", "enum": [METHOD]}
    members = {"jsonrpc": _VERSION, "method": method, "params": params, "id": _ID}
    return _object(members, optional=("jsonrpc",))


def _reply() -> Json:
    verdict = {"enum": ["accepted", "duplicate", None]}
    result = _object(
        {
            "envelope": ref("asap.envelope"),
            "verdict": verdict,
            "task_id": _OR_NULL,
            "position": _OR_NULL,
        }
    )
    return _object({"jsonrpc": _VERSION, "result": result, "id": _ID})


def _refusal() -> Json:
    error = _object(
        {
            "code": {"type": "integer", "enum": sorted(ERROR_MESSAGES)},
            "message": {"type": "string", "enum": sorted(ERROR_MESSAGES.values())},
            "data": {"type": "object", "properties": {"error": _TEXT}, "required": ["error"]},
        }
    )
    id = {"type": ["string", "integer", "null"]}
    return _object({"jsonrpc": _VERSION, "error": error, "id": id})


def _examples() -> Json:
    text = files("schemas").joinpath("examples", "asap", _EXAMPLE).read_text("utf-8")
    envelope: Any = json.loads(text)
    call = {"jsonrpc": "2.0", "method": METHOD, "params": {"envelope": envelope}, "id": "req-1"}
    return {"a_task": {"value": call}}
