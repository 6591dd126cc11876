"""Deployed 0.1 peers as strict as they may be: they share no code with headrace.

They look handlers up by the exact dotted spelling, refuse members that they do not know, and know
six states.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Json = dict[str, Any]
Status = Literal["submitted", "working", "input_required", "completed", "failed", "cancelled"]
Message = MutableMapping[str, Any]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class OldRequest(_Strict):
    conversation_id: str
    parent_task_id: str | None = None
    skill_id: str
    input: Json
    config: Json | None = None


class OldResponse(_Strict):
    task_id: str
    status: Status
    result: Json | None = None
    final_state: Json | None = None
    metrics: Json | None = None


class OldUpdate(_Strict):
    task_id: str
    update_type: Literal["progress", "input_required", "status_change"]
    status: Status
    progress: Json | None = None
    input_request: Json | None = None


class OldEnvelope(_Strict):
    id: str = Field(min_length=26, max_length=26)
    asap_version: Literal["0.1"]
    timestamp: str = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
    sender: str
    recipient: str
    payload_type: str
    payload: Json
    correlation_id: str | None = None
    trace_id: str | None = None
    extensions: Json | None = None


_PAYLOADS: dict[str, type[_Strict]] = {
    "task.request": OldRequest,
    "task.response": OldResponse,
    "task.update": OldUpdate,
}


def read(envelope: Json, payload_type: str | None = None) -> tuple[OldEnvelope, _Strict]:
    """As an old peer reads it.  payload_type: what it takes it for.  Raises ValidationError."""
    old_envelope = OldEnvelope.model_validate(envelope)
    model = _PAYLOADS[payload_type or old_envelope.payload_type]
    return old_envelope, model.model_validate(old_envelope.payload)


class OldServer:
    """An ASGI application that echoes `task.request`."""

    def __init__(self, urn: str) -> None:
        self._urn = urn
        self.seen: list[str] = []
        self.keys: list[str] = []

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        body, more = b"", True
        while more:
            part = await receive()
            body += part.get("body", b"")
            more = part.get("more_body", False)
        text = json.dumps(self._answer(json.loads(body))).encode()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": text})

    def _answer(self, request: Json) -> Json:
        id, raw_envelope = request["id"], request["params"]["envelope"]
        self.seen.append(raw_envelope["payload_type"])
        self.keys.append(request["params"]["idempotency_key"])
        if raw_envelope["payload_type"] not in _PAYLOADS:
            data = {"payload_type": raw_envelope["payload_type"], "error": "no such handler"}
            return _error(id, -32601, "Method not found", data)
        try:
            old_envelope, payload = read(raw_envelope)
        except ValidationError as exc:
            return _error(id, -32602, "Invalid params", {"error": str(exc)})
        assert isinstance(payload, OldRequest)
        return {
            "jsonrpc": "2.0",
            "result": {"envelope": self._reply(old_envelope, payload)},
            "id": id,
        }

    def _reply(self, old_envelope: OldEnvelope, payload: OldRequest) -> Json:
        done = OldResponse(task_id="t-1", status="completed", result={"echoed": payload.input})
        return {
            "asap_version": "0.1",
            "id": old_envelope.id[:-1] + "Z",
            "timestamp": "2026-11-21T10:00:00Z",
            "sender": self._urn,
            "recipient": old_envelope.sender,
            "payload_type": "task.response",
            "payload": done.model_dump(),
            "correlation_id": old_envelope.id,
            "trace_id": old_envelope.trace_id,
        }


def _error(id: object, code: int, message: str, data: Json) -> Json:
    error = {"code": code, "message": message, "data": data}
    return {"jsonrpc": "2.0", "error": error, "id": id}


def request(urn: str, sender: str, id: str, **more: Any) -> Json:
    """What an old client posts."""
    payload = {"conversation_id": "c-1", "skill_id": "index.build", "input": {"pages": 42}}
    envelope = {
        "asap_version": "0.1",
        "id": id,
        "timestamp": "2026-11-21T10:00:00.250000Z",
        "sender": sender,
        "recipient": urn,
        "payload_type": "task.request",
        "payload": {**payload, **more},
    }
    return {"jsonrpc": "2.0", "method": "asap.send", "params": {"envelope": envelope}, "id": 1}
