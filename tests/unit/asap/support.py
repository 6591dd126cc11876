"""An agent, envelopes for it, and a way to post to its server without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
from fastapi import FastAPI

from schemas.asap import AuthScheme, Capability, Endpoint, Envelope, Manifest, generate_id

AGENT = "urn:asap:agent:indexer:eu"
PLANNER = "urn:asap:agent:planner"
BASE = "http://agent.test"
Json = dict[str, Any]

PAYLOADS: Mapping[str, Json] = {
    "TaskRequest": {"conversation_id": "c-1", "skill_id": "index.build", "input": {"pages": 42}},
    "TaskResponse": {"task_id": "t-1", "status": "completed", "result": {"n": 1}},
    "TaskUpdate": {"task_id": "t-1", "update_type": "progress", "status": "working"},
    "TaskCancel": {"task_id": "t-1"},
    "MessageSend": {
        "task_id": "t-1",
        "message_id": "m-1",
        "sender": PLANNER,
        "role": "user",
        "parts": ["p-1", {"type": "text", "content": "hello"}],
    },
    "StateQuery": {"task_id": "t-1"},
    "StateRestore": {"task_id": "t-1", "snapshot_id": "s-1"},
    "ArtifactNotify": {"artifact_id": "a-1", "task_id": "t-1"},
    "McpToolCall": {"request_id": "r-1", "tool_name": "search", "arguments": {"q": "x"}},
    "McpToolResult": {"request_id": "r-1", "success": True, "result": {}},
    "McpResourceFetch": {"resource_uri": "file:///x"},
    "McpResourceData": {"resource_uri": "file:///x", "content": {"n": 1}},
}
"""One payload of each type."""
ANSWERS = ("TaskResponse", "McpToolResult", "McpResourceData")


def manifest(auth: AuthScheme | None = None, id: str = AGENT) -> Manifest:
    return Manifest(
        id=id,
        name="indexer",
        version="2.3.0",
        description="Builds indexes.",
        capabilities=Capability(),
        endpoints=Endpoint(asap=f"{BASE}/asap"),
        auth=auth,
    )


def envelope_json(payload_type: str = "TaskRequest", **more: Any) -> Json:
    """As a client writes it."""
    members = {
        "id": generate_id(),
        "asap_version": "0.1",
        "timestamp": "2026-11-21T09:59:58Z",
        "sender": PLANNER,
        "recipient": AGENT,
        "payload_type": payload_type,
        "payload": PAYLOADS.get(payload_type, {}),
        "trace_id": "tr-19",
    }
    if payload_type in ANSWERS:
        members["correlation_id"] = "t-1"
    return {**members, **more}


def correlated(**more: Any) -> Json:
    """A TaskRequest that says what it belongs to."""
    return envelope_json(correlation_id="corr_456", **more)


def envelope(payload_type: str = "TaskRequest", **more: Any) -> Envelope:
    return Envelope.model_validate(envelope_json(payload_type, **more))


def call(of: Json | None, id: object = "req_123", **more: Any) -> Json:
    """A JSON-RPC request with this envelope."""
    params = {"envelope": of, **more}
    return {"jsonrpc": "2.0", "method": "asap.send", "params": params, "id": id}


def ask(app: FastAPI, method: str, path: str, **more: Any) -> httpx.Response:
    async def once() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as http:
            return await http.request(method, path, **more)

    return asyncio.run(once())


def post(app: FastAPI, body: Any, **headers: str) -> Json:
    """The answer to a body: bytes as they are, else as JSON.  Its HTTP status is 200."""
    content = {"content": body} if isinstance(body, bytes) else {"json": body}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = ask(app, "POST", "/asap", headers=names, **content)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    response_json: Json = answer.json()
    assert set(response_json) == {
        "jsonrpc",
        "id",
        "result" if "result" in response_json else "error",
    }
    assert response_json["jsonrpc"] == "2.0"
    return response_json


def error(answer: Json) -> tuple[int, Json]:
    """Code and data, once the message is known to be the code's."""
    rpc_error = answer["error"]
    assert set(rpc_error) == {"code", "message", "data"}
    late = rpc_error["data"].get("asap_error") == "asap:execution/task_timeout"
    assert rpc_error["message"] == (CALL_TIMED_OUT if late else MESSAGES[rpc_error["code"]])
    return rpc_error["code"], rpc_error["data"]


CALL_TIMED_OUT = "MCP call timed out"
MESSAGES = {
    -32700: "Parse error",
    -32600: "Invalid request",
    -32601: "Method not found",
    -32602: "Invalid params",
    -32603: "Internal error",
}
