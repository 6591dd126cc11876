"""Record keys (spec 5.1, 5.3)."""

from __future__ import annotations

from typing import Any

from schemas.asap.envelope import Envelope
from schemas.asap.errors import MalformedEnvelopeError
from schemas.asap.spelling import normalize_payload_type
from schemas.canonical import canonical_json, sha256_hex

JsonObject = dict[str, Any]
_BY_TASK = ("TaskCancel", "MessageSend", "StateQuery", "StateRestore", "ArtifactNotify")
_BY_CORRELATION = ("TaskResponse", "TaskUpdate")
_BY_ITSELF = ("TaskRequest", "McpResourceFetch")
_BY_REQUEST = ("McpToolCall", "McpToolResult")


def task_key(envelope: Envelope | JsonObject) -> str:
    """The record key of an envelope, also of one given as JSON.

    Raises MalformedEnvelopeError for an unknown payload type, or where the member is not there
    that has the key.
    """
    told = _members(envelope) if isinstance(envelope, Envelope) else envelope
    name = normalize_payload_type(str(told.get("payload_type")))
    if name in _BY_ITSELF:
        return _text(told, "id")
    if name == "McpResourceData":
        return _text(told, "correlation_id")
    if name in _BY_CORRELATION and told.get("correlation_id"):
        return _text(told, "correlation_id")
    if name in _BY_TASK or name in _BY_CORRELATION:
        return _text(told.get("payload"), "task_id")
    if name in _BY_REQUEST:
        return _text(told.get("payload"), "request_id")
    raise MalformedEnvelopeError(f"unknown payload type '{told.get('payload_type')}'")


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
    """Where the claim on an idempotency key is kept."""
    return "claim:" + sha256_hex(canonical_json([sender, skill_id, idempotency_key]))


def payload_hash(canonical: JsonObject) -> str:
    """The hash of the payload alone, of an envelope in canonical form."""
    return sha256_hex(canonical_json(canonical["payload"]))


def snapshot_id(task_id: str, version: int) -> str:
    """The id of a version of an event-sourced task (spec 4.5)."""
    return f"{task_id}@{version}"


def restored_version(task_id: str, snapshot: str) -> int | None:
    """The version that a snapshot id of an event-sourced task names, None if it names none."""
    owner, mark, version = snapshot.rpartition("@")
    plain = version.isascii() and version.isdigit() and not version.startswith("0")
    return int(version) if mark and owner == task_id and plain and len(version) < 19 else None
