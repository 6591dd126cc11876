"""The envelope that every message travels in (ASAP guide, 2.4)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    ValidationInfo,
    field_serializer,
    field_validator,
)
from pydantic_core import PydanticCustomError

from schemas.asap.base import ASAPBaseModel, OpenObject, Urn
from schemas.asap.payloads import AnyPayload, parse_payload
from schemas.asap.spelling import normalize_payload_type
from schemas.ulid import generate_id

ANSWERS = frozenset({"TaskResponse", "McpToolResult", "McpResourceData"})
"""The payload types that require a correlation_id."""


def _now() -> datetime:
    return datetime.now(UTC)


def _id(value: Any) -> Any:
    return generate_id() if value is None else value


def _time(value: Any) -> Any:
    return _now() if value is None else value


def _object(value: Any) -> Any:
    return json_form(value) if isinstance(value, BaseModel) else value


def json_form(model: BaseModel) -> dict[str, Any]:
    """Return a model as JSON values.

    Works for text with a lone surrogate too, so that the rule about it can be reported.
    """
    try:
        return model.model_dump(mode="json")
    except UnicodeEncodeError:
        members = model.model_dump()
        times = {name: at.isoformat() for name, at in members.items() if isinstance(at, datetime)}
        return members | times


class Envelope(ASAPBaseModel):
    """One message.  payload: an object, kept as given, or one of the payload models.

    payload_type: in any spelling, kept and sent as given; `canonical_type` is its own name.
    """

    id: Annotated[str, BeforeValidator(_id, str | None)] = Field(default_factory=generate_id)
    asap_version: str
    timestamp: Annotated[datetime, BeforeValidator(_time, datetime | None)] = Field(
        default_factory=_now
    )
    sender: Urn
    recipient: Urn
    payload_type: str
    payload: Annotated[OpenObject, BeforeValidator(_object, OpenObject)]
    correlation_id: str | None = None
    trace_id: str | None = None
    extensions: OpenObject | None = None

    @property
    def canonical_type(self) -> str | None:
        """Return the payload type in PascalCase, None for one that is unknown to ASAP."""
        return normalize_payload_type(self.payload_type)

    def typed_payload(self) -> AnyPayload:
        """Return the payload as its model.  Raises MalformedEnvelopeError if it does not fit."""
        return parse_payload(self.payload_type, self.payload)

    @field_validator("payload")
    @classmethod
    def _check_payload_type(cls, payload: OpenObject, info: ValidationInfo) -> OpenObject:
        outer = normalize_payload_type(info.data.get("payload_type", ""))
        if outer is not None and "payload_type" in payload:
            inner = payload["payload_type"]
            if not isinstance(inner, str) or normalize_payload_type(inner) != outer:
                raise PydanticCustomError(
                    "payload_type_mismatch", "must be the envelope's payload_type"
                )
        return payload

    @field_validator("correlation_id")
    @classmethod
    def _check_correlation_id(cls, value: str | None, info: ValidationInfo) -> str | None:
        name = normalize_payload_type(info.data.get("payload_type", ""))
        if not value and name in ANSWERS:
            raise PydanticCustomError(
                "missing_correlation", "is missing: {name} must have correlation_id", {"name": name}
            )
        return value

    @field_serializer("payload")
    def _without_type(self, payload: OpenObject) -> OpenObject:
        return {name: value for name, value in payload.items() if name != "payload_type"}
