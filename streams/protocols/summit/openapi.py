"""The parts of the OpenAPI document of Summit v1 that are not derived from its routes.

`POST /summit` is not in the route table; every outcome of JSON-RPC has the status 200.
"""

from __future__ import annotations

from schemas.summit.words import METHODS
from streams.access.callers import AccessRule, Role
from streams.api.description import (
    Body,
    DescribeParameter,
    Description,
    PathId,
    envelope,
    read_example,
)
from streams.api.media import JSON_TYPE
from streams.api.openapi import (
    APPLIED,
    ID,
    ID_OR_NULL,
    TEXT,
    VERSION,
    Json,
    closed_object,
    json_response,
    problem_responses,
    ref,
    wait_headers,
)
from streams.summit.rpc import PATH, POSITIONS
from streams.summit.rpc.errors import NAMES
from streams.views.query_params import AFTER
from topology.summit import SUMMIT_EVENTS

_POSITION_HEADERS: Json = {
    POSITIONS: {"description": "Where calls are on the log, with commas between.", "schema": TEXT}
}
_EXAMPLE_CALLS = ("seed", "invoke")


def _paths(describe: DescribeParameter) -> Json:
    return {PATH: {"post": _post_operation(describe)}}


def _components() -> Json:
    reply = {"anyOf": [ref("SummitResult"), ref("SummitRefusal")]}
    return {
        "SummitRequest": _request_schema(),
        "SummitResult": closed_object({"jsonrpc": VERSION, "id": ID, "result": {"type": "object"}}),
        "SummitRefusal": _refusal_schema(),
        "SummitReplies": {"anyOf": [reply, {"type": "array", "items": reply, "minItems": 1}]},
    }


def _post_operation(describe: DescribeParameter) -> Json:
    response = json_response(ref("SummitReplies"), "Every outcome of JSON-RPC.")
    response["headers"] = {**APPLIED, **_POSITION_HEADERS}
    several = {"type": "array", "items": ref("SummitRequest"), "minItems": 1, "maxItems": 100}
    body = {"anyOf": [ref("SummitRequest"), several]}
    return {
        "operationId": "summit_call",
        "summary": "Call agents and tools, cancel runs, ask about both, as JSON-RPC",
        "tags": ["summit"],
        "parameters": [describe(AFTER), *wait_headers()],
        "requestBody": {
            "required": True,
            "content": {JSON_TYPE: {"schema": body, "examples": _examples()}},
        },
        "responses": {
            "200": response,
            "204": {"description": "There were notifications alone.", "headers": _POSITION_HEADERS},
            **problem_responses(400, 408, 413, 415, 422, 504),
        },
    }


def _request_schema() -> Json:
    method = {"type": "string", "enum": list(METHODS)}
    members = {"jsonrpc": VERSION, "id": ID, "method": method, "params": {"type": "object"}}
    return closed_object(members, optional=("id", "params"))


def _refusal_schema() -> Json:
    code = {"type": "integer", "enum": sorted(NAMES)}
    data = {"type": "object", "properties": {"rule": TEXT}, "required": ["rule"]}
    error = closed_object({"code": code, "message": TEXT, "data": data})
    return closed_object({"jsonrpc": VERSION, "id": ID_OR_NULL, "error": error})


def _examples() -> Json:
    """Return calls without `caller`, which a record has and a request does not."""
    calls = {name: read_example(f"summit/calls/{name}") for name in _EXAMPLE_CALLS}
    return {
        name: {"value": {member: call[member] for member in call if member != "caller"}}
        for name, call in calls.items()
    }


_REPLY = envelope("summit/reply", "summit/replies")


def _sent_reply() -> Json:
    """Return the schema of a reply, or of a JSON-RPC response that becomes one."""
    response = {
        "type": "object",
        "properties": {
            "jsonrpc": VERSION,
            "id": ID_OR_NULL,
            "result": {"type": "object"},
            "error": {"type": "object"},
            "runId": TEXT,
            "agentId": TEXT,
        },
        "required": ["jsonrpc", "id"],
        "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
        "additionalProperties": False,
    }
    return {
        "SummitRpcReply": response,
        "summit.sent-reply": {"anyOf": [ref("summit.reply"), ref("SummitRpcReply")]},
    }


def _reply_examples() -> Json:
    """Return replies, and the response of the run of one of them."""
    replies = _REPLY.examples()
    names = ("status", "output", "metrics", "provenance")
    reply = replies["result"]["value"]
    response = {
        "jsonrpc": "2.0",
        "id": 1,
        "runId": reply["runId"],
        "agentId": reply["agentId"],
        "result": {name: reply[name] for name in names if name in reply},
    }
    return {**replies, "json_rpc": {"value": response}}


DESCRIPTION = Description(
    tags={"summit": "Summit v1: agents and their tools, calls, runs, verification."},
    ids={"agentId": PathId("word-stats"), "runId": PathId("run-7f2")},
    records=(SUMMIT_EVENTS,),
    bodies=(
        envelope("summit/manifest", "summit/manifests"),
        envelope("summit/call", "summit/calls"),
        _REPLY,
        Body("summit/sent-reply", _sent_reply, _reply_examples, composed=True),
    ),
    paths=_paths,
    components=_components,
    needs={("POST", PATH): AccessRule((Role.PRODUCER, Role.READER))},
)
