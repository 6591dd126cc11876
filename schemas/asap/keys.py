"""The record keys (ASAP guide, 5.1, 5.3)."""

from __future__ import annotations

from typing import Any

from schemas.asap.envelope import Envelope
from schemas.asap.errors import MalformedEnvelopeError
from schemas.asap.spelling import normalize_payload_type
from schemas.canonical import canonical_json, sha256_hex

JsonObject = dict[str, Any]
_BY_TASK = ("TaskCancel", "MessageSend", "StateQuery", "StateRestore", "ArtifactNotify")
_BY_CORRELATION = ("TaskResponse", "TaskUpdate")
_BY_ID = ("TaskRequest", "McpResourceFetch")
_BY_REQUEST = ("McpToolCall", "McpToolResult")


def task_key(envelope: Envelope | JsonObject) -> str:
    """Return the record key of an envelope, which may be a model or JSON.

    Raises MalformedEnvelopeError for an unknown payload type, or a missing member with the key.
    """
    members = _members(envelope) if isinstance(envelope, Envelope) else envelope
    name = normalize_payload_type(str(members.get("payload_type")))
    if name in _BY_ID:
        return _text(members, "id")
    if name == "McpResourceData":
        return _text(members, "correlation_id")
    if name in _BY_CORRELATION and members.get("correlation_id"):
        return _text(members, "correlation_id")
    if name in _BY_TASK or name in _BY_CORRELATION:
        return _text(members.get("payload"), "task_id")
    if name in _BY_REQUEST:
        return _text(members.get("payload"), "request_id")
    raise MalformedEnvelopeError(f"unknown payload type '{members.get('payload_type')}'")


def key_member(canonical: JsonObject) -> str:
    """Return the path of the member that the record key of a valid envelope is."""
    name = canonical["payload_type"]
    if name in _BY_ID:
        return "/id"
    if name == "McpResourceData" or (name in _BY_CORRELATION and canonical["correlation_id"]):
        return "/correlation_id"
    return "/payload/request_id" if name in _BY_REQUEST else "/payload/task_id"


def _members(envelope: Envelope) -> JsonObject:
    return {
        "id": envelope.id,
        "payload_type": envelope.payload_type,
        "payload": envelope.payload,
        "correlation_id": envelope.correlation_id,
    }


def _text(owner: Any, name: str) -> str:
    member = owner.get(name) if isinstance(owner, dict) else None
    if not isinstance(member, str):
        raise MalformedEnvelopeError(f"{name} is no text")
    return member


def claim_key(sender: str, skill_id: str, idempotency_key: str) -> str:
    """Return the key of the claim on an idempotency key."""
    return "claim:" + sha256_hex(canonical_json([sender, skill_id, idempotency_key]))


def payload_hash(canonical: JsonObject) -> str:
    """Return the hash of the payload alone, for an envelope in canonical form."""
    return sha256_hex(canonical_json(canonical["payload"]))


def snapshot_id(task_id: str, version: int) -> str:
    """Return the id of a version of an event-sourced task (ASAP guide, 4.5)."""
    return f"{task_id}@{version}"


def restored_version(task_id: str, snapshot: str) -> int | None:
    """Return the version in a snapshot id of an event-sourced task; None if there is none."""
    owner, mark, version = snapshot.rpartition("@")
    plain = version.isascii() and version.isdigit() and not version.startswith("0")
    return int(version) if mark and owner == task_id and plain and len(version) < 19 else None
