"""The responses of the receiver, in the content type of the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.responses import Response as HttpResponse

from streams.doors.otlp.errors import OtlpRefused
from streams.doors.otlp.protobuf import (
    BadRequest,
    ExportTraceServiceResponse,
    Message,
    MessageToJson,
    Status,
)

PROTOBUF, JSON = "application/x-protobuf", "application/json"
TYPES = (PROTOBUF, JSON)
_MAX_NAMED = 20
_GRPC_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 413: 8, 415: 3, 429: 8, 503: 14}
"""Codes of google.rpc by HTTP status; any other status is code 2, unknown."""


class RefusedSpan(NamedTuple):
    """A refused span: its id, None if that is not usable; its number from 0; the rule."""

    span_id: str | None
    number: int
    rule: str


def respond_accepted(media: str, total: int, refused: Sequence[RefusedSpan]) -> HttpResponse:
    """Return the response to a request of so many spans, some of which may be refused."""
    message = ExportTraceServiceResponse()
    if refused:
        message.partial_success.rejected_spans = len(refused)
        message.partial_success.error_message = refused_text(total, refused)
    return _respond(200, media, message)


def refused_text(total: int, refused: Sequence[RefusedSpan]) -> str:
    """Name the refused spans and their rules, the first 20 of them."""
    named = "; ".join(
        f"{each.span_id or f'#{each.number}'} {each.rule}" for each in refused[:_MAX_NAMED]
    )
    more = len(refused) - _MAX_NAMED
    end = f"; and {more} more" if more > 0 else ""
    return f"{len(refused)} of {total} spans refused: {named}{end}"


def respond_refused(
    media: str, refusal: OtlpRefused, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """Return the response to a request that is refused as a whole."""
    status = Status(code=_GRPC_CODES.get(refusal.status, 2), message=str(refusal))
    if refusal.field is not None:
        details = BadRequest()
        details.field_violations.add(field=refusal.field, description=str(refusal))
        status.details.add().Pack(details)
    return _respond(refusal.status, media, status, headers)


def _respond(
    status: int, media: str, message: Message, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    body = (
        MessageToJson(message, indent=None).encode()
        if media == JSON
        else message.SerializeToString()
    )
    more = {"cache-control": "no-store", **(headers or {})}
    return HttpResponse(body, status, more, media)
