"""JSON Schemas of manifests, calls and replies, for the rules that JSON Schema can express."""

from __future__ import annotations

from typing import Any

from schemas.canonical import MAX_SAFE_INTEGER
from schemas.summit import checker, words

JsonSchema = dict[str, Any]

_ANY: JsonSchema = {}
_OPEN: JsonSchema = {"type": "object"}


def _form_schema(form: str) -> JsonSchema:
    return {"type": "string", "pattern": f"^{form}$"}


_AGENT_ID = _form_schema(checker.AGENT_ID)
_ID = _form_schema(checker.ID)
_TOOL_NAME = _form_schema(checker.TOOL_NAME)
_TOOL_CALL_ID = _form_schema(checker.TOOL_CALL_ID)
_TIME = _form_schema(checker.TIME)
_REQUEST_ID = {
    "anyOf": [
        {"type": "string", "maxLength": 256},
        {"type": "integer", "minimum": -MAX_SAFE_INTEGER, "maximum": MAX_SAFE_INTEGER},
    ]
}


def _text_schema(min_length: int, max_length: int) -> JsonSchema:
    return {"type": "string", "minLength": min_length, "maxLength": max_length}


def _number_schema(low: int, high: int) -> JsonSchema:
    return {"type": "number", "minimum": low, "maximum": high}


def _natural_schema() -> JsonSchema:
    return {"type": "integer", "minimum": 0, "maximum": MAX_SAFE_INTEGER}


def _object_schema(
    required: dict[str, JsonSchema], optional: dict[str, JsonSchema] | None = None, **more: Any
) -> JsonSchema:
    """Return the schema of a closed object, unless `more` overrides that."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def _root_schema() -> JsonSchema:
    return {"type": "object", "properties": {"type": {"const": "object"}}, "required": ["type"]}


_TOOL = _object_schema(
    {"name": _TOOL_NAME, "description": _text_schema(1, 4000)},
    {"arguments": _root_schema(), "inputSchema": _root_schema()},
    anyOf=[{"required": ["arguments"]}, {"required": ["inputSchema"]}],
)
_MANIFEST = _object_schema(
    {
        "apiVersion": {"const": words.API_VERSION},
        "kind": {"const": words.MANIFEST_KIND},
        "metadata": _object_schema(
            {
                "name": _AGENT_ID,
                "version": _form_schema(checker.VERSION),
            },
            {"description": _text_schema(1, 4000)},
            additionalProperties=True,
        ),
        "spec": _object_schema(
            {
                "role": _form_schema(checker.ROLE),
                "capabilities": {
                    "type": "array",
                    "items": {**_form_schema(checker.CAPABILITY), "maxLength": 128},
                    "maxItems": words.MAX_CAPABILITIES,
                    "uniqueItems": True,
                },
                "interface": _object_schema(
                    {"inputSchema": _root_schema(), "outputSchema": _root_schema()}
                ),
            },
            {
                "resources": {
                    "type": "object",
                    "propertyNames": {"pattern": f"^{checker.RESOURCE}$"},
                    "additionalProperties": _text_schema(1, 64),
                    "maxProperties": words.MAX_RESOURCES,
                },
                "tools": {"type": "array", "items": _TOOL, "maxItems": words.MAX_TOOLS},
            },
        ),
    },
    title="SummitManifest",
)

_BUDGET = _object_schema(
    {},
    {
        "usd": _number_schema(0, words.MAX_USD),
        "tokens": _natural_schema(),
        "seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": words.MAX_SECONDS},
    },
)
_CONTEXT = _object_schema(
    {}, {"traceId": _ID, "parentRunId": _ID, "budget": _BUDGET}, additionalProperties=True
)
_TOOL_CALL = _object_schema({"id": _TOOL_CALL_ID, "name": _TOOL_NAME, "arguments": _OPEN})
_PARAMS: dict[str, JsonSchema] = {
    words.INVOKE_METHOD: _object_schema(
        {"agentId": _AGENT_ID, "inputs": _OPEN, "runId": _ID}, {"context": _CONTEXT}
    ),
    words.TOOL_METHOD: _object_schema(
        {"agentId": _AGENT_ID, "runId": _ID, "toolCall": _TOOL_CALL}, {"context": _CONTEXT}
    ),
    words.CANCEL_METHOD: _object_schema(
        {"runId": _ID}, {"agentId": _AGENT_ID, "reason": _text_schema(1, 1000)}
    ),
}


def _call_schema(method: str) -> JsonSchema:
    required = {
        "jsonrpc": {"const": words.JSONRPC},
        "method": {"const": method},
        "params": _PARAMS[method],
    }
    optional = {"caller": _text_schema(1, 200)}
    if method == words.CANCEL_METHOD:
        return _object_schema(required, {"id": _REQUEST_ID, **optional})
    return _object_schema({**required, "id": _REQUEST_ID}, optional)


_CALL = {"title": "SummitCall", "oneOf": [_call_schema(method) for method in words.LOGGED_METHODS]}

_METRICS = _object_schema(
    {"tokens": _natural_schema(), "cost_usd": _number_schema(0, words.MAX_USD)},
    {"latency_ms": _number_schema(0, words.MAX_LATENCY_MS)},
)
_PROVENANCE = _object_schema(
    {"model": _text_schema(1, 200), "timestamp": _TIME}, additionalProperties=True
)
_CHECK = _object_schema({"name": _text_schema(1, 100), "passed": {"type": "boolean"}})
_VERIFICATION = _object_schema(
    {"status": {"enum": list(words.VERIFICATION_STATUSES)}},
    {
        "score": _number_schema(0, 1),
        "checks": {"type": "array", "items": _CHECK, "maxItems": words.MAX_CHECKS},
    },
)
_ERROR = _object_schema(
    {
        "code": {
            "type": "integer",
            "minimum": -(2**31),
            "maximum": 2**31 - 1,
            "not": {
                "minimum": words.RESERVED_CODES.start,
                "maximum": words.RESERVED_CODES.stop - 1,
            },
        },
        "message": _text_schema(1, 2000),
    },
    {"data": _ANY},
)
_HEAD: dict[str, JsonSchema] = {"replyId": _ID, "runId": _ID, "agentId": _AGENT_ID}


def _reply_schema(
    kind: str, required: dict[str, JsonSchema], optional: dict[str, JsonSchema]
) -> JsonSchema:
    return _object_schema({**_HEAD, "kind": {"const": kind}, **required}, optional)


_REPLY = {
    "title": "SummitReply",
    "oneOf": [
        _reply_schema(
            words.PROGRESS,
            {"metrics": _METRICS},
            {"provenance": _PROVENANCE, "message": _text_schema(1, 2000)},
        ),
        _reply_schema(
            words.RESULT,
            {"output": _ANY, "metrics": _METRICS, "provenance": _PROVENANCE},
            {"status": {"const": words.COMPLETED}, "verification": _VERIFICATION},
        ),
        _reply_schema(
            words.ERROR,
            {"error": _ERROR, "metrics": _METRICS, "provenance": _PROVENANCE},
            {"status": {"enum": [words.FAILED, words.BUDGET_EXCEEDED]}},
        ),
        _reply_schema(
            words.VERIFICATION,
            {"provenance": _PROVENANCE, "verification": _VERIFICATION},
            {"metrics": _METRICS},
        ),
    ],
}

SCHEMAS: dict[str, JsonSchema] = {
    name: {"$schema": words.DIALECT, **schema}
    for name, schema in (("manifest", _MANIFEST), ("call", _CALL), ("reply", _REPLY))
}
"""The JSON Schemas by the names of their files."""
