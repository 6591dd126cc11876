"""The ingress of spans: the kind of the envelope, and who may send as which program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schemas.otel import MAX_ERRORS, drop_unknown, validate_span
from streams.access.callers import Caller
from streams.access.sender import own_name
from streams.masking import Masker
from streams.processing.ingress import EnvelopeType, IngressTopic, Prepared
from streams.processing.key_blocks import Blocks
from streams.protocols.otel.masking import mask_span
from streams.protocols.otel.span_members import session_of
from topology.otel import OTEL_SPANS

PRINCIPAL_MISMATCH = "principal_mismatch"
_OTEL = "otel:"
_ANY_SERVICE = "otel:*"


def _prepare(value: Any, now_ms: int) -> Prepared:
    return Prepared(*drop_unknown(value))


def _mask(span: Any, masker: Masker, now_ms: int, blocks: Blocks) -> Any:
    return mask_span(span, masker)


def _join(spans: Sequence[Any]) -> list[Any]:
    """Tell each span without a session the first one that a span of its trace names."""
    sessions: dict[str, str] = {}
    named = [session_of(span) for span in spans]
    for span, session in zip(spans, named, strict=True):
        if session is not None:
            sessions.setdefault(span["trace_id"], session)
    return [
        span if session is not None else {**span, "session_hint": sessions.get(span["trace_id"])}
        for span, session in zip(spans, named, strict=True)
    ]


def may_send_as(caller: Caller, service: str | None) -> bool:
    """Return whether the caller may send spans of a service; None: of one without a name."""
    return caller.principal == _ANY_SERVICE or (
        service is not None and caller.principal == _OTEL + service
    )


SPAN = EnvelopeType(
    "otel.span", _prepare, lambda value, _: validate_span(value), MAX_ERRORS, mask=_mask, join=_join
)
KINDS = (SPAN,)
EDGES = (IngressTopic(OTEL_SPANS, SPAN),)
SENDERS = {OTEL_SPANS: own_name(PRINCIPAL_MISMATCH, "service_name")._replace(may=may_send_as)}
