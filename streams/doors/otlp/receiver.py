"""Spans of a request as records: each masked, keyed and encoded, or refused with a rule."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from schemas import Problem
from streams.access.callers import Caller
from streams.doors.otlp.answers import JSON, RefusedSpan
from streams.doors.otlp.errors import OtlpRefused
from streams.doors.otlp.json_request import parse_json, too_many_spans
from streams.doors.otlp.protobuf import DecodeError, ExportTraceServiceRequest
from streams.doors.otlp.spans import SentSpan, spans_of
from streams.doors.otlp.wire import NotOnTheWire, count_spans
from streams.engine.headers import TRACEPARENT
from streams.engine.records import Output
from streams.errors import Forbidden, OutputTooLarge
from streams.ingress import senders
from streams.ingress.edges import ingress_topic_of
from streams.masking.configured import masker_for
from streams.processing.encode import encode_value
from streams.processing.key_blocks import Blocks
from streams.settings import Settings
from streams.telemetry.logs import fields
from topology.otel import OTEL_SPANS

log = logging.getLogger(__name__)

MAX_SPANS = 20_000
_UNUSABLE = ("trace_id_invalid", "span_id_invalid")


class Received(NamedTuple):
    """The records of a request.  total: how many spans it has.  refused: those with a rule."""

    outputs: list[Output]
    total: int
    refused: list[RefusedSpan]


def read_spans(body: bytes, media: str) -> list[SentSpan]:
    """Return the spans of a request.  Raises OtlpRefused."""
    if media == JSON:
        return list(spans_of(*parse_json(body, MAX_SPANS)))
    request = ExportTraceServiceRequest()
    try:
        if count_spans(body) > MAX_SPANS:
            raise too_many_spans(MAX_SPANS)
        request.ParseFromString(body)
    except (NotOnTheWire, DecodeError) as exc:
        raise OtlpRefused(400, "otlp_invalid", "the body is no trace request", "body") from exc
    return list(spans_of(request))


def check_sender(spans: Sequence[SentSpan], caller: Caller | None) -> None:
    """Check that the caller may send for each service of the request.  Raises OtlpRefused."""
    try:
        for service in {span.value["service_name"] for span in spans}:
            senders.check_name(OTEL_SPANS, service, caller)
    except Forbidden as exc:
        raise OtlpRefused(403, exc.rule, str(exc)) from exc


def receive(spans: Sequence[SentSpan], now_ms: int, settings: Settings) -> Received:
    """Return the records of the spans; one that breaks a rule does not hold up the others."""
    kind = ingress_topic_of(OTEL_SPANS.name).kind
    values = [span.value for span in spans]
    joined = values if kind.join is None else kind.join(values)
    received = Received([], len(spans), [])
    for index, (span, value) in enumerate(zip(spans, joined, strict=True)):
        problems = kind.problems(value, settings)
        rule = "own_span" if span.is_own else problems[0].rule if problems else None
        if not span.is_own:
            try:
                received.outputs.append(_output(kind, value, problems, now_ms, settings))
            except OutputTooLarge as exc:
                rule = "span_too_large"
                ids = fields(code=rule, trace_id=value["trace_id"], span_id=value["span_id"])
                log.warning("a span is refused, and is not on the log: %s", exc.message, extra=ids)
        if rule is not None:
            span_id = None if rule in _UNUSABLE else value["span_id"]
            received.refused.append(RefusedSpan(span_id, index, rule))
    return received


def _output(
    kind: Any, value: dict[str, Any], problems: Sequence[Problem], now_ms: int, settings: Settings
) -> Output:
    """Return the record of a span, masked.  Raises OutputTooLarge."""
    masked = kind.mask(value, masker_for(settings), now_ms, Blocks())
    output = encode_value(OTEL_SPANS, masked, settings)
    if len(output.value or b"") > settings.otel_max_span_bytes:
        raise OutputTooLarge(f"the span has {len(output.value or b'')} bytes")
    if problems:
        return output
    context = f"00-{value['trace_id']}-{value['span_id']}-01"
    return output._replace(headers=[*output.headers, (TRACEPARENT, context.encode())])
