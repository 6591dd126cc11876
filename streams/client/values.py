"""Values and paths as the caller gives them, and as the wire takes them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from schemas import Problem, ShapeError, parse_ijson
from streams.api.route import MAX_VALUES
from streams.client.transport import ProduceRequest
from streams.engine.headers import TRACEPARENT
from streams.engine.records import Record, header
from streams.errors import InvalidInput, OutputTooLarge, UsageError
from streams.ingress.edges import ingress_topic_of

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]{0,200})?")
_PATH_SAFE = "/%:@!$&'()*+,;=~"
_ADVICE = "Nothing was sent; correct the value and send it again."

Scalar = str | int | float | bool | None


def context_of(record: Record) -> str | None:
    """Return the trace context of a record, None if it has no valid one."""
    text = (header(record, TRACEPARENT) or b"").decode("latin-1")
    return text if _TRACEPARENT.fullmatch(text) else None


def current_context() -> str | None:
    """Return the trace context of this process's current span, None if OpenTelemetry is not used.

    Its API is looked up among the loaded modules: a program that traces has loaded it.
    """
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return None
    span = api.get_current_span().get_span_context()
    if not span.is_valid:
        return None
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"


def parcel_of(
    topic: str, values: Sequence[Any], many: bool, traceparent: str | None
) -> ProduceRequest:
    """Return a parcel with copies of the values as JSON.

    Raises UsageError, OutputTooLarge, and InvalidInput (`json_invalid`) for what is not JSON.
    """
    ingress_topic_of(topic)
    if traceparent is not None and not _TRACEPARENT.fullmatch(traceparent):
        raise UsageError(
            "the traceparent has not the form of W3C Trace Context",
            advice="Its form is 00-<32 hex digits>-<16 hex digits>-01.",
        )
    if len(values) > MAX_VALUES:
        raise OutputTooLarge(
            f"{len(values)} values at once, at most {MAX_VALUES}",
            advice="Nothing was sent; send fewer in one call.",
        )
    texts: list[bytes] = []
    parsed: list[Any] = []
    problems: list[tuple[int, Problem]] = []
    for index, value in enumerate(values):
        try:
            texts.append(_text(value))
            parsed.append(parse_ijson(texts[-1]))
        except ShapeError as exc:
            problems.append((index, exc.problem))
    if problems:
        raise invalid(problems, many)
    return ProduceRequest(topic, parsed, texts, many, traceparent)


def _text(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as exc:
        raise ShapeError("json_invalid", "", "The value has a lone surrogate.") from exc
    except (TypeError, ValueError, RecursionError) as exc:
        raise ShapeError("json_invalid", "", f"The value is not JSON: {exc}.") from exc


def invalid(problems: Sequence[tuple[int, Problem]], many: bool) -> InvalidInput:
    """Return the error for values that were refused.

    many: the caller passed a list, so each problem names the index of its value.
    """
    indexes = [index for index, _ in problems] if many else ()
    return InvalidInput([problem for _, problem in problems], advice=_ADVICE, indexes=indexes)


def target_of(path: str, after: str | None, params: Mapping[str, Scalar]) -> tuple[str, str]:
    """Return path and query, percent-encoded, without the parameters that are None."""
    if not path.startswith("/"):
        raise UsageError(f"{path} is not a path of the gateway", advice="It begins with /v1/.")
    route, _, query = path.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    parameters = {**params, "after": after}
    pairs += [(name, _word(value)) for name, value in parameters.items() if value is not None]
    return quote(route, safe=_PATH_SAFE), urlencode(pairs)


def _word(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
