"""`POST /asap`, its metrics and the service's manifest, as the document has them.

The outcomes of JSON-RPC all have the status 200 (asap spec 6.2).
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from schemas.asap import ERROR_MESSAGES
from streams.asap.jsonrpc import MANIFEST_PATH, METHOD, METRICS_PATH, PATH
from streams.gateway.answer import JSON
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

_OR_NULL: Json = {"type": ["string", "null"]}
_EXAMPLE = "task_request.json"


def paths() -> Json:
    return {
        PATH: {"post": _send()},
        METRICS_PATH: {
            "get": _read(
                "get_asap_metrics", "What the ASAP server measures", TEXT, media="text/plain"
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
    done["headers"] = APPLIED
    return {
        "operationId": "asap_send",
        "summary": "Send an envelope as JSON-RPC, and be told what came of it",
        "tags": ["asap"],
        "parameters": waiting(),
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": ref("AsapCall"), "examples": _examples()}},
        },
        "responses": {"200": done, **refusals(400, 408, 413), **other()},
    }


def _read(name: str, summary: str, schema: Json, media: str = JSON) -> Json:
    return {
        "operationId": name,
        "summary": summary,
        "tags": ["asap"],
        "responses": {"200": answer(schema, "The answer.", media), **other()},
    }


def _call() -> Json:
    params = {
        "type": "object",
        "properties": {"envelope": ref("asap.envelope"), "idempotency_key": TEXT},
        "required": ["envelope"],
    }
    method = {"type": "string", "enum": [METHOD]}
    members = {"jsonrpc": VERSION, "method": method, "params": params, "id": ID}
    return closed(members, optional=("jsonrpc",))


def _reply() -> Json:
    verdict = {"enum": ["accepted", "duplicate", None]}
    result = closed(
        {
            "envelope": ref("asap.envelope"),
            "verdict": verdict,
            "task_id": _OR_NULL,
            "position": _OR_NULL,
        }
    )
    return closed({"jsonrpc": VERSION, "result": result, "id": ID})


def _refusal() -> Json:
    error = closed(
        {
            "code": {"type": "integer", "enum": sorted(ERROR_MESSAGES)},
            "message": {"type": "string", "enum": sorted(ERROR_MESSAGES.values())},
            "data": {"type": "object", "properties": {"error": TEXT}, "required": ["error"]},
        }
    )
    return closed({"jsonrpc": VERSION, "error": error, "id": ID_OR_NULL})


def _examples() -> Json:
    text = files("schemas").joinpath("examples", "asap", _EXAMPLE).read_text("utf-8")
    envelope: Any = json.loads(text)
    call = {"jsonrpc": "2.0", "method": METHOD, "params": {"envelope": envelope}, "id": "req-1"}
    return {"a_task": {"value": call}}
