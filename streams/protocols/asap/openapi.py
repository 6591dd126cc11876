"""The parts of the OpenAPI document for ASAP 0.1 beside its routes and responses.

`POST /asap`, its metrics and the service's manifest are not in the route table.  The outcomes of
JSON-RPC all have the status 200 (ASAP guide, 6.2).
"""

from __future__ import annotations

from schemas.asap import ERROR_MESSAGES
from streams.access.callers import OPEN, AccessRule, Role
from streams.api.description import (
    DescribeParameter,
    Description,
    Metrics,
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
from streams.api.problems import Code
from streams.asap import metrics
from streams.asap.faults import ERROR_TYPES
from streams.asap.jsonrpc import MANIFEST_PATH, METHOD, METRICS_PATH, PATH
from streams.asap.on_log.stream import CALL_TIMED_OUT
from streams.asap.server import UNKNOWN
from topology.asap import ASAP_ENVELOPES, ASAP_EVENTS, ASAP_MANIFESTS

_ERROR_TYPES = ", ".join(f"`{name}`" for name in ERROR_TYPES)
_METRICS = Metrics(
    "ASAP",
    f"What an ASAP server exports at `{METRICS_PATH}`, the gateway's among them. A payload type\n"
    f"that nobody handles is `{UNKNOWN}`; `error_type` is one of {_ERROR_TYPES}.",
    metrics.ALL,
)
_OR_NULL: Json = {"type": ["string", "null"]}


def _paths(describe: DescribeParameter) -> Json:
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


def _components() -> Json:
    return {"AsapCall": _call(), "AsapReply": _reply(), "AsapRefusal": _refusal()}


def _send() -> Json:
    done = json_response(
        {"anyOf": [ref("AsapReply"), ref("AsapRefusal")]}, "Every outcome of JSON-RPC."
    )
    done["headers"] = APPLIED
    return {
        "operationId": "asap_send",
        "summary": "Send an envelope as JSON-RPC, and be told what came of it",
        "tags": ["asap"],
        "parameters": wait_headers(),
        "requestBody": {
            "required": True,
            "content": {JSON_TYPE: {"schema": ref("AsapCall"), "examples": _example()}},
        },
        "responses": {"200": done, **problem_responses(400, 408, 413)},
    }


def _read(name: str, summary: str, schema: Json, media: str = JSON_TYPE) -> Json:
    return {
        "operationId": name,
        "summary": summary,
        "tags": ["asap"],
        "responses": {"200": json_response(schema, "The answer.", media), **problem_responses()},
    }


def _call() -> Json:
    params = {
        "type": "object",
        "properties": {"envelope": ref("asap.envelope"), "idempotency_key": TEXT},
        "required": ["envelope"],
    }
    method = {"type": "string", "enum": [METHOD]}
    members = {"jsonrpc": VERSION, "method": method, "params": params, "id": ID}
    return closed_object(members, optional=("jsonrpc",))


def _reply() -> Json:
    verdict = {"enum": ["accepted", "duplicate", None]}
    result = closed_object(
        {
            "envelope": ref("asap.envelope"),
            "verdict": verdict,
            "task_id": _OR_NULL,
            "position": _OR_NULL,
            "filled": {"type": "array", "items": TEXT},
        },
        optional=("filled",),
    )
    return closed_object({"jsonrpc": VERSION, "result": result, "id": ID})


def _refusal() -> Json:
    messages = {*ERROR_MESSAGES.values(), CALL_TIMED_OUT}
    error = closed_object(
        {
            "code": {"type": "integer", "enum": sorted(ERROR_MESSAGES)},
            "message": {"type": "string", "enum": sorted(messages)},
            "data": {"type": "object", "properties": {"error": TEXT}, "required": ["error"]},
        }
    )
    return closed_object({"jsonrpc": VERSION, "error": error, "id": ID_OR_NULL})


def _example() -> Json:
    params = {"envelope": read_example("asap/task_request")}
    return {
        "a_task": {"value": {"jsonrpc": "2.0", "method": METHOD, "params": params, "id": "req-1"}}
    }


DESCRIPTION = Description(
    tags={"asap": "ASAP 0.1: tasks and their states, messages, calls, agents."},
    http_rules=(
        Code(
            "sender_mismatch", 403, "The token's principal is not the sender of the ASAP envelope."
        ),
        Code("task_not_found", 404, "No task of ASAP has that id, alias or redirected request."),
        Code("version_not_found", 404, "The task has no event of that sequence."),
        Code("snapshot_not_found", 404, "The task has no snapshot of that version."),
        Code("call_not_found", 404, "No MCP call has that key."),
        Code("conversation_not_found", 404, "No task belongs to that conversation."),
        Code("agent_not_found", 404, "No valid manifest is in force for that agent."),
        Code("state_mode_conflict", 409, "Only event-sourced tasks have a state at every event."),
        Code("events_expired", 410, "The events of the task were kept for as long as it asked."),
    ),
    ids={
        "id": PathId("01M7YRRRS4RFVVVX9QRHKJ8E9C"),
        "envelope_id": PathId("01M7YRRRS4RFVVVX9QRHKJ8E9C"),
        "key": PathId("call-1"),
        "urn": PathId("urn:asap:agent:indexer:eu"),
        "version": PathId("latest"),
    },
    records=(ASAP_ENVELOPES, ASAP_EVENTS, ASAP_MANIFESTS),
    bodies=(
        envelope("asap/envelope", "asap", file="asap/envelope.schema"),
        envelope("asap/manifest", "asap/manifests", file="asap/entities/manifest.schema"),
    ),
    paths=_paths,
    components=_components,
    needs={
        ("POST", PATH): AccessRule((Role.PRODUCER,), checked_by_endpoint=True),
        ("GET", METRICS_PATH): OPEN,
        ("GET", MANIFEST_PATH): OPEN,
    },
    metrics=_METRICS,
)
