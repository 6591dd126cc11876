"""The endpoint of `POST /v1/traces`, and those that say what else is not taken."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from streams.access.callers import Caller, Role
from streams.api.media import JSON_TYPE, media_type
from streams.api.problems import problem
from streams.api.route import Refused
from streams.doors.otlp.bodies import ENCODINGS, decompress
from streams.doors.otlp.description import LOGS, METRICS, PROTOBUF_TYPE, TRACES
from streams.doors.otlp.errors import OtlpRefused
from streams.engine.records import Output
from streams.errors import BrokerUnavailable, ExtraMissing, ProduceUnknown
from streams.gateway.caller import get_caller
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint, require_broker, send_records, with_problems
from streams.gateway.guard import read_token
from streams.gateway.http_response import make_response
from streams.gateway.request_parts import check_values, read_bytes
from topology.otel import OTEL_SPANS

if TYPE_CHECKING:
    from streams.doors.otlp.receiver import Received

_TYPES = (PROTOBUF_TYPE, JSON_TYPE)
_RETRY = {"retry-after": "5"}


def make_endpoints(gateway: Gateway) -> list[tuple[str, str, Endpoint]]:
    """Return the method, path and endpoint of each."""

    async def answer(request: Request) -> HttpResponse:
        return await _answer(gateway, request)

    return [
        ("POST", TRACES, with_problems(answer)),
        ("POST", METRICS, _refuse_signal),
        ("POST", LOGS, _refuse_signal),
    ]


async def _refuse_signal(request: Request) -> HttpResponse:
    detail = "headrace takes traces; set OTEL_METRICS_EXPORTER=none and OTEL_LOGS_EXPORTER=none"
    return make_response(problem(404, detail, "signal_unsupported"))


async def _answer(gateway: Gateway, request: Request) -> HttpResponse:
    """Answer a request in its own content type; without the extra by problem details."""
    try:
        from streams.doors.otlp.answers import respond_refused
    except ExtraMissing as exc:
        return make_response(problem(501, str(exc), exc.code))
    sent_type = media_type(request.headers)
    media = sent_type if sent_type in _TYPES else JSON_TYPE
    try:
        return await _receive(gateway, request, sent_type)
    except OtlpRefused as exc:
        return respond_refused(media, exc)
    except Refused as exc:
        body = exc.response.body
        refusal = OtlpRefused(exc.response.status, body["rule"], body["detail"])
        return respond_refused(media, refusal, exc.response.headers)
    except (BrokerUnavailable, ProduceUnknown) as exc:
        return respond_refused(media, OtlpRefused(503, exc.code, exc.message), _RETRY)


async def _receive(gateway: Gateway, request: Request, media: str | None) -> HttpResponse:
    """Read the spans, write them to the log and respond once all are confirmed.

    Raises OtlpRefused, Refused, BrokerUnavailable, ProduceUnknown.
    """
    from streams.doors.otlp.answers import respond_accepted
    from streams.doors.otlp.receiver import check_sender, read_spans, receive

    caller = _check_caller(gateway, request)
    if media not in _TYPES:
        raise OtlpRefused(415, "media_type", f"the body is one of {', '.join(_TYPES)}")
    body = await _read_body(gateway, request)
    if media == JSON_TYPE:
        await check_values(body, gateway.settings.gateway_max_body_values)

    def read() -> Received:
        spans = read_spans(body, media)
        check_sender(spans, caller)
        return receive(spans, gateway.clock(), gateway.settings)

    received = await asyncio.get_running_loop().run_in_executor(gateway.queries, read)
    if received.outputs:
        require_broker(gateway)
        outputs: list[Output] = received.outputs
        await send_records(gateway, OTEL_SPANS, lambda: outputs)
    _count(gateway, received)
    return respond_accepted(media, received.total, received.refused)


def _count(gateway: Gateway, received: Received) -> None:
    """Count the spans of a request whose records are confirmed."""
    gateway.metrics.count_spans("sent", "none", received.total - len(received.refused))
    for rule, count in Counter(span.rule for span in received.refused).items():
        gateway.metrics.count_spans("refused", rule, count)


def _check_caller(gateway: Gateway, request: Request) -> Caller | None:
    """Return the caller, None where there are no tokens.  Raises OtlpRefused."""
    if gateway.tokens is None:
        return None
    caller = get_caller()
    if caller is None and read_token(request.scope) is None:
        raise OtlpRefused(401, "token_missing", "a bearer token is needed")
    if caller is None:
        raise OtlpRefused(401, "token_unknown", "the token is not known, or has expired")
    if not caller.has((Role.PRODUCER,)):
        raise OtlpRefused(403, "role_missing", "the token has not the role producer")
    return caller


async def _read_body(gateway: Gateway, request: Request) -> bytes:
    """Return the decompressed body.  Raises OtlpRefused, Refused."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower() or "identity"
    if encoding not in ENCODINGS:
        raise OtlpRefused(415, "content_encoding", f"one of {', '.join(ENCODINGS)}")
    max_bytes = gateway.settings.gateway_max_body_bytes
    sent = await read_bytes(request, max_bytes)
    if encoding == "identity":
        return sent
    return await asyncio.to_thread(decompress, sent, encoding, max_bytes)
