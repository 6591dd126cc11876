"""The response models for traces and their spans (OTel guide, 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from streams.gateway.responses import Count, Page, Position, ResponseModel, ResponseShape, Time
from topology.otel import OTEL_EVENTS


class OtelSpanItem(ResponseModel):
    span_id: str
    parent_span_id: str | None
    name: str
    kind: Literal["unspecified", "internal", "server", "client", "producer", "consumer"]
    type: Literal["model", "tool", "task", "other"]
    dialect: str
    started_at: Time
    ended_at: Time
    duration_ms: float
    status: Literal["unset", "ok", "error"]
    session_id: str
    agent: str
    tool: str | None
    model: str | None
    provider: str | None
    input_tokens: Count | None
    output_tokens: Count | None
    failed: bool
    service_name: str | None
    attributes: dict[str, Any]
    events: list[dict[str, Any]]
    links: list[dict[str, Any]]
    masked: Count
    position: Position


class OtelSpans(ResponseModel):
    items: list[OtelSpanItem]
    next: str | None


class OtelTraceItem(ResponseModel):
    trace_id: str
    session_id: str
    name: str | None
    service_name: str | None
    started_at: Time
    ended_at: Time
    span_count: Count
    failed_count: Count
    input_tokens: Count
    output_tokens: Count


class OtelTraces(ResponseModel):
    items: list[OtelTraceItem]
    next: str | None


RESPONSES: Mapping[str, ResponseShape] = {
    "OtelSpans": OtelSpans,
    "OtelTraces": OtelTraces,
    "OtelRejections": Page.of(OTEL_EVENTS),
}
