"""The JSON form of a request, as a message of protocol buffers.

OTLP's JSON differs from that of protocol buffers: ids are hexadecimal digits.  A text with a lone
surrogate cannot be in a message, so it gets U+FFFD in its place, and its span is refused.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from schemas import has_lone_surrogate
from streams.doors.otlp.errors import OtlpRefused
from streams.doors.otlp.protobuf import ExportTraceServiceRequest, ParseDict, ParseError

Json = dict[str, Any]
SpanAt = tuple[int, int, int]
"""The place of a span: indexes of its resource, its scope and itself."""

_IDS = ("traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id")
_MAX_DEPTH = 500
"""Messages nested in each other; a list in an attribute takes two."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_json(body: bytes, max_spans: int) -> tuple[ExportTraceServiceRequest, set[SpanAt]]:
    """Return the message, and the places of the spans whose texts had lone surrogates.

    Raises OtlpRefused.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise OtlpRefused(400, "otlp_invalid", "the body is not JSON", "body") from exc
    if not isinstance(value, dict):
        raise OtlpRefused(400, "otlp_invalid", "the body is no object", "body")
    replaced = _prepare(value, max_spans)
    message = ExportTraceServiceRequest()
    try:
        ParseDict(value, message, ignore_unknown_fields=True, max_recursion_depth=_MAX_DEPTH)
    except (ParseError, RecursionError) as exc:
        raise OtlpRefused(400, "otlp_invalid", "the body is no trace request", "body") from exc
    return message, replaced


def _prepare(request: Json, max_spans: int) -> set[SpanAt]:
    """Rewrite ids and texts in place; return where texts were replaced."""
    replaced: set[SpanAt] = set()
    count = 0
    for r, resource in _items(request, "resourceSpans", "resource_spans"):
        is_replaced = _replace(resource, ("resource",))
        for s, scope in _items(resource, "scopeSpans", "scope_spans"):
            is_scope_replaced = _replace(scope, ("scope", "schemaUrl"))
            for n, span in _items(scope, "spans"):
                count += 1
                if count > max_spans:
                    raise too_many_spans(max_spans)
                if _replace(span, tuple(span)) or is_replaced or is_scope_replaced:
                    replaced.add((r, s, n))
                _rewrite_ids(span)
                for _, link in _items(span, "links"):
                    _rewrite_ids(link)
    return replaced


def too_many_spans(max_spans: int) -> OtlpRefused:
    return OtlpRefused(413, "too_many_spans", f"a request has at most {max_spans} spans")


def _items(owner: Json, *names: str) -> Iterator[tuple[int, Json]]:
    """Yield the objects of a list and their indexes; what is no object is left to the parser."""
    values = next((owner[name] for name in names if name in owner), None)
    for index, item in enumerate(values if isinstance(values, list) else ()):
        if isinstance(item, dict):
            yield index, item


def _rewrite_ids(owner: Json) -> None:
    """Write ids in base64; one that is no bytes in hexadecimal digits becomes empty."""
    for name in _IDS:
        if isinstance(owner.get(name), str):
            try:
                owner[name] = b64encode(bytes.fromhex(owner[name])).decode()
            except ValueError:
                owner[name] = b64encode(b"\0").decode()


def _replace(owner: Json, names: tuple[str, ...]) -> bool:
    """Replace lone surrogates in members; return whether there were any."""
    changed = False
    for name in names:
        if name in owner and has_lone_surrogate({name: owner[name]}):
            value = owner.pop(name)
            owner[_SURROGATE.sub("\ufffd", name)] = _replaced(value)
            changed = True
    return changed


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_replaced(item) for item in value]
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", name): _replaced(item) for name, item in value.items()}
    return value
