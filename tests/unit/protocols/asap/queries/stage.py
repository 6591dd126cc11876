"""Envelopes as agents send them, in their JSON form."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
PLANNER, INDEXER = "urn:asap:agent:planner", "urn:asap:agent:indexer:eu"
SERVICE = "urn:asap:agent:headrace"
SNAPSHOT, PARTS = "dev.headrace.snapshot", "dev.headrace.parts"


def envelope(payload_type: str, payload: Json, id: str, **more: Any) -> Json:
    """From the indexer to the planner, if nothing else is said."""
    return {
        "id": id,
        "asap_version": "0.1",
        "timestamp": "2026-01-01T00:00:00Z",
        "sender": INDEXER,
        "recipient": PLANNER,
        "payload_type": payload_type,
        "payload": payload,
        "trace_id": "tr-19",
        **more,
    }


def _asked(payload_type: str, payload: Json, id: str, **more: Any) -> Json:
    return envelope(payload_type, payload, id, **{"sender": PLANNER, "recipient": INDEXER, **more})


def request(
    id: str = "t1", *, recipient: str = INDEXER, sender: str = PLANNER, **more: Any
) -> Json:
    """more: members of the payload."""
    payload = {"conversation_id": "conv-7f", "skill_id": "index.build", "input": {"pages": 4}}
    ends = {"sender": sender, "recipient": recipient}
    return _asked("TaskRequest", {**payload, **more}, id, **ends)


def update(
    id: str, status: str = "working", *, task: str = "t1", save: Any = None, **more: Any
) -> Json:
    """save: data of a snapshot, or the whole extension if it is a list of one.

    more: members of the payload; task_id is the worker's own name of the task.
    """
    payload = {"task_id": task, "update_type": "status_change", "status": status, **more}
    snapshot = save[0] if isinstance(save, list) else {"data": save}
    extensions = {} if save is None else {"extensions": {SNAPSHOT: snapshot}}
    return envelope("TaskUpdate", payload, id, correlation_id=task, **extensions)


def response(id: str, status: str = "completed", *, task: str = "t1", **more: Any) -> Json:
    payload = {"task_id": task, "status": status, "result": {"pages": 4}, **more}
    return envelope("TaskResponse", payload, id, correlation_id=task)


def cancel(id: str, *, task: str = "t1") -> Json:
    return _asked("TaskCancel", {"task_id": task}, id)


def message(id: str, parts: list[Any], *, task: str = "t1", **more: Any) -> Json:
    """From the planner.  more: members of the envelope."""
    payload = {"task_id": task, "message_id": f"m-{id}", "sender": PLANNER, "role": "user"}
    return _asked("MessageSend", {**payload, "parts": parts}, id, **more)


def artifact(id: str, parts: Json, *, task: str = "t1", **more: Any) -> Json:
    """parts: by id.  more: members of the payload."""
    payload = {"artifact_id": f"a-{id}", "task_id": task, **more}
    part_list = [{"id": name, "part": part} for name, part in parts.items()]
    return envelope("ArtifactNotify", payload, id, extensions={PARTS: part_list})


def query(id: str, version: int | None = None, *, task: str = "t1") -> Json:
    payload = {"task_id": task, "version": version}
    return envelope("StateQuery", payload, id, recipient=SERVICE)


def tool_call(id: str, key: str = "call-1") -> Json:
    payload = {"request_id": key, "tool_name": "search", "arguments": {"q": "x"}}
    return _asked("McpToolCall", payload, id)


def tool_result(id: str, of: str, key: str = "call-1") -> Json:
    payload = {"request_id": key, "success": True, "result": {"hits": 2}}
    return envelope("McpToolResult", payload, id, correlation_id=of)


def text(content: str) -> Json:
    return {"type": "text", "content": content}


def manifest(urn: str = INDEXER, **more: Any) -> Json:
    return {
        "id": urn,
        "name": "Indexer",
        "version": "2.3.0",
        "description": "Indexes pages.",
        "capabilities": {"skills": [{"id": "index.build", "description": "builds an index"}]},
        "endpoints": {"asap": "http://127.0.0.1:8123/asap"},
        **more,
    }
