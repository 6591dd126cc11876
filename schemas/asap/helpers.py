"""Constructors of envelopes (ASAP guide, 2.7, 5.4)."""

from __future__ import annotations

from typing import Any

from schemas.asap.constants import ASAP_PROTOCOL_VERSION
from schemas.asap.envelope import Envelope
from schemas.asap.forms import iso_of_ms
from schemas.asap.payloads import AnyPayload
from schemas.asap.spelling import respell

JsonObject = dict[str, Any]


def make_envelope(payload: AnyPayload, *, sender: str, recipient: str, **fields: Any) -> Envelope:
    """Make an envelope of this version for a payload.  fields: other members of the envelope."""
    members = {
        "asap_version": ASAP_PROTOCOL_VERSION,
        "payload_type": type(payload).__name__,
        **fields,
        "sender": sender,
        "recipient": recipient,
        "payload": payload,
    }
    return Envelope.model_validate(members)


def reply_to(
    envelope: Envelope,
    payload: AnyPayload,
    *,
    sender: str | None = None,
    extensions: JsonObject | None = None,
) -> Envelope:
    """Make an envelope that answers another, with its trace and its spelling of payload types."""
    return make_envelope(
        payload,
        sender=envelope.recipient if sender is None else sender,
        recipient=envelope.sender,
        asap_version=envelope.asap_version,
        payload_type=respell(type(payload).__name__, envelope.payload_type),
        correlation_id=envelope.id,
        trace_id=envelope.trace_id,
        extensions=extensions,
    )


def service_update(
    *,
    id: str,
    sender: str,
    recipient: str,
    task_id: str,
    status: str,
    at_ms: int,
    correlation_id: str,
    trace_id: str | None,
    extensions: JsonObject,
) -> JsonObject:
    """Return the canonical form of a TaskUpdate that the service sends."""
    return {
        "id": id,
        "asap_version": ASAP_PROTOCOL_VERSION,
        "timestamp": iso_of_ms(at_ms),
        "sender": sender,
        "recipient": recipient,
        "payload_type": "TaskUpdate",
        "payload": {
            "task_id": task_id,
            "update_type": "status_change",
            "status": status,
            "progress": None,
            "input_request": None,
        },
        "correlation_id": correlation_id,
        "trace_id": trace_id,
        "extensions": extensions,
    }
