"""The settings of spans."""

from __future__ import annotations

from dataclasses import dataclass

from streams.settings.service import ServiceSettings, number, setting


@dataclass(frozen=True, kw_only=True)
class OtelSettings(ServiceSettings):
    """The settings of OpenTelemetry's spans."""

    otel_mask: bool = setting(
        "OTEL_MASK",
        True,
        "mask secrets in the attributes of spans",
        "true or false",
        work=True,
    )
    otel_dedupe_s: int = number(
        "OTEL_DEDUPE_S",
        604_800,
        "seconds after a trace's last span for which its spans are remembered",
        1,
        315_360_000,
        True,
        rules=("span_duplicate", "span_conflict"),
    )
    otel_max_span_bytes: int = number(
        "OTEL_MAX_SPAN_BYTES",
        4_194_304 - 65_536,
        "largest span that the gateway takes, as a record, in bytes",
        1024,
        4_194_304,
    )
    otel_spans_retention_h: int = setting(
        "OTEL_SPANS_RETENTION_H",
        24,
        "retention of otel.spans in hours, set when the topic is created",
        "whole number",
        low=1,
        high=8784,
        retention_of="otel.spans",
    )
