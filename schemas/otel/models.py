"""The model of a span, for people and programs that make the records of `otel.spans`.

Source: OTel guide, 2.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, Strict

from schemas.model import Natural, OpenObject, Text, TolerantModel
from schemas.otel.validate import validate_span
from schemas.parsing import ParsedModel
from schemas.problems import Problem

SpanKind = Literal["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]
SpanStatus = Literal["UNSET", "OK", "ERROR"]
TraceId = Annotated[str, Strict(), Field(pattern="^[0-9a-f]{32}$")]
SpanId = Annotated[str, Strict(), Field(pattern="^[0-9a-f]{16}$")]
Nanoseconds = Annotated[str, Strict(), Field(pattern="^[0-9]{1,19}$")]
"""Decimal digits of the nanoseconds since the epoch, since they exceed 2^53."""


class Dropped(TolerantModel):
    attributes: Natural = 0
    events: Natural = 0
    links: Natural = 0


class Span(ParsedModel):
    trace_id: TraceId
    span_id: SpanId
    parent_span_id: SpanId | None = None
    name: Text
    kind: SpanKind = "UNSPECIFIED"
    start_time_unix_nano: Nanoseconds
    end_time_unix_nano: Nanoseconds
    status: SpanStatus = "UNSET"
    status_message: Text | None = None
    service_name: Text | None = None
    scope_name: Text | None = None
    scope_version: Text | None = None
    schema_url: Text | None = None
    trace_state: Text | None = None
    flags: Natural = 0
    attributes: OpenObject = Field(default_factory=dict)
    resource: OpenObject = Field(default_factory=dict)
    events: list[OpenObject] = Field(default_factory=list)
    links: list[OpenObject] = Field(default_factory=list)
    dropped: Dropped = Dropped()
    session_hint: Text | None = None
    masked: Natural = 0
    refused: Text | None = None

    @classmethod
    def problems_of(cls, value: Any) -> list[Problem]:
        return validate_span(value)
