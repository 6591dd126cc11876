"""The canonical form of envelopes and manifests, and hashes over it (ASAP guide, 2.4)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from schemas.asap.entities import Manifest
from schemas.asap.envelope import Envelope
from schemas.asap.errors import MalformedEnvelopeError
from schemas.asap.problems import malformed_error, validation_problems
from schemas.canonical import canonical_json, sha256_hex

JsonObject = dict[str, Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso_utc(moment: datetime) -> str:
    """Return a time as `2026-11-21T10:00:00Z`, with six fraction digits unless they are all zero.

    A naive time is read as UTC.  Raises OverflowError if its UTC form is outside the years 1 to
    9999.
    """
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return aware.isoformat().removesuffix("+00:00") + "Z"


def iso_of_ms(ms: int) -> str:
    """Return the same for milliseconds since the epoch."""
    return iso_utc(_EPOCH + timedelta(milliseconds=ms))


def micros(moment: datetime) -> int:
    """Return the microseconds since the epoch.  A naive time is read as UTC."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (aware - _EPOCH) // timedelta(microseconds=1)


def read_envelope(value: Any) -> Envelope:
    """Read an envelope.  Raises MalformedEnvelopeError, its details with `validation_errors`."""
    try:
        return Envelope.model_validate(value)
    except ValidationError as exc:
        reason = "it does not have the form of an envelope"
        raise malformed_error(reason, validation_problems(exc)) from exc


def canonical_form(envelope: Envelope | JsonObject) -> JsonObject:
    """Return all ten members, the payload with all its members, nulls included.

    Raises MalformedEnvelopeError if there is no typed payload.
    """
    if not isinstance(envelope, Envelope):
        envelope = read_envelope(envelope)
    payload = envelope.typed_payload().model_dump(mode="json")
    del payload["payload_type"]
    try:
        timestamp = iso_utc(envelope.timestamp)
    except OverflowError as exc:
        raise MalformedEnvelopeError("its timestamp has no UTC form") from exc
    return {
        "id": envelope.id,
        "asap_version": envelope.asap_version,
        "timestamp": timestamp,
        "sender": envelope.sender,
        "recipient": envelope.recipient,
        "payload_type": envelope.canonical_type,
        "payload": payload,
        "correlation_id": envelope.correlation_id,
        "trace_id": envelope.trace_id,
        "extensions": envelope.model_dump(mode="json", include={"extensions"})["extensions"],
    }


def hash_of(canonical: Any) -> str:
    """Return the SHA-256 of a canonical form.  Raises ValueError if it has no canonical JSON."""
    return sha256_hex(canonical_json(canonical))


def envelope_hash(envelope: Envelope | JsonObject) -> str:
    """Return the canonical hash.  Raises MalformedEnvelopeError if there is no typed payload."""
    try:
        return hash_of(canonical_form(envelope))
    except (ValueError, TypeError) as exc:
        raise MalformedEnvelopeError("it has no canonical JSON") from exc


def manifest_form(manifest: Manifest | JsonObject) -> JsonObject:
    """Return a valid manifest with all its members."""
    if not isinstance(manifest, Manifest):
        manifest = Manifest.model_validate(manifest)
    return manifest.model_dump(mode="json")
