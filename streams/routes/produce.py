"""From the body of a request to records: all of them or, if one is not valid, none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from schemas import ShapeError
from streams.access.callers import Caller
from streams.api import correlation
from streams.api.media import media_type
from streams.api.problems import Response, failed, problem
from streams.api.route import Produce, Refused, Terms
from streams.engine.headers import TRACEPARENT
from streams.engine.records import Output, Record, position
from streams.errors import HeadraceError, InvalidInput
from streams.ingress import senders
from streams.ingress.edges import edge_of
from streams.processing.encode import to_output
from streams.processing.ingress import Kind
from streams.processing.lines import Unparsed, read_values
from streams.processing.masked import Blocks
from streams.settings import Settings

_CONTEXT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]{0,200})?")


class Sending(NamedTuple):
    """values: as they were sent.  single: one, not a list.  headers: of every answer about it."""

    outputs: list[Output]
    values: Sequence[Any]
    single: bool
    headers: Mapping[str, str]


def sending_of(
    action: Produce,
    body: Any,
    headers: Mapping[str, str],
    now_ms: int,
    settings: Settings,
    caller: Caller | None = None,
) -> Sending:
    """body: JSON text, of one value, a list or one value on each line; or a value or a list.

    headers: of the request; the records carry its trace context.  caller: whom a token names.
    Raises Refused (413, 422), Forbidden for values that are not theirs, OutputTooLarge; where the
    answer has to say what it is about, Refused instead of these.
    """
    values = [senders.filled(action.topic, v, caller) for v in _values(action, body, headers)]
    more = correlation.shared(values) if action.terms.correlated else {}
    try:
        _check_count(action, values)
        outputs = _outputs(action, values, headers, now_ms, settings)
        senders.check(action.topic, values, caller)
    except Refused as exc:
        raise Refused(exc.response._replace(headers=more)) from exc
    except HeadraceError as exc:
        if not more:
            raise
        raise Refused(failed(exc)._replace(headers=more)) from exc
    return Sending(outputs, values, _is_single(body, values), more)


def _outputs(
    action: Produce,
    values: Sequence[Any],
    headers: Mapping[str, str],
    now_ms: int,
    settings: Settings,
) -> list[Output]:
    """Raises Refused with all that is wrong, OutputTooLarge."""
    outputs, errors = _encoded(action, values, headers, now_ms, settings)
    if errors:
        first = errors[0]
        status = 413 if first["rule"] == action.terms.too_large else 422
        refused = problem(status, first["message"], first["rule"], first["path"])
        raise Refused(Response(refused.status, {**refused.body, "errors": errors}))
    return outputs


def _check_count(action: Produce, values: Sequence[Any]) -> None:
    if len(values) > action.terms.most:
        message = f"{len(values)} values at once, at most {action.terms.most}"
        raise Refused(problem(413, message, "too_large"))
    if not values and action.terms.empty is not None:
        rule, path, message = action.terms.empty
        found = {"index": 0, "rule": rule, "path": path, "message": message}
        refused = problem(422, message, rule, path)
        raise Refused(Response(422, {**refused.body, "errors": [found]}))


def _encoded(
    action: Produce,
    values: Sequence[Any],
    headers: Mapping[str, str],
    now_ms: int,
    settings: Settings,
) -> tuple[list[Output], list[dict[str, Any]]]:
    """The records, and what is wrong with which value."""
    edge, more, blocks = edge_of(action.topic.name), trace_of(headers), Blocks()
    wanted = correlation.given(headers) if action.terms.correlated else None
    outputs: list[Output] = []
    errors: list[dict[str, Any]] = []
    for index, value in enumerate(values):
        try:
            parsed = _parsed(value, edge.kind)
            output = to_output(edge, parsed, now_ms, settings, blocks)
            if wanted is not None and (found := correlation.mismatch(parsed, wanted)):
                raise InvalidInput([found])
            outputs.append(output._replace(headers=[*output.headers, *more]))
        except InvalidInput as exc:
            errors += [{"index": index, **found._asdict()} for found in exc.problems]
    return outputs, errors


def accepted(written: Sequence[Record], terms: Terms) -> Response:
    return Response(202, {"positions": [terms.told(record) for record in written]})


def placed(record: Record, as_envelope: bool = False) -> Response:
    """The answer to a command that stands alone."""
    if as_envelope:
        return accepted([record], Terms())
    return Response(202, {"position": position(record)})


def _values(action: Produce, body: Any, headers: Mapping[str, str]) -> Sequence[Any]:
    """Raises Refused for a text of another media type that cannot be read."""
    if not isinstance(body, bytes | str):
        return body if isinstance(body, list) else [body]
    read = edge_of(action.topic.name).kind.other_text
    if read is None or media_type(headers) not in action.terms.others:
        return read_values(body)
    try:
        return [read(body.encode() if isinstance(body, str) else body)]
    except ShapeError as exc:
        errors = [{"index": 0, **exc.problem._asdict()}]
        refused = problem(422, exc.message, exc.problem.rule, exc.problem.path)
        raise Refused(Response(422, {**refused.body, "errors": errors})) from exc


def _is_single(body: Any, values: Sequence[Any]) -> bool:
    """Whether one value was sent, and not a list of one."""
    if isinstance(body, bytes | str):
        raw = body.encode() if isinstance(body, str) else body
        return len(values) == 1 and not raw.lstrip().startswith(b"[")
    return not isinstance(body, list)


def _parsed(value: Any, kind: Kind) -> Any:
    if isinstance(value, Unparsed):
        raise InvalidInput([kind.unread(value)])
    return value


def trace_of(headers: Mapping[str, str]) -> list[tuple[str, bytes]]:
    """The trace context of a request; one that is none is ignored, as W3C Trace Context has it."""
    context = next((v for k, v in headers.items() if k.lower() == TRACEPARENT), "")
    return [(TRACEPARENT, context.encode())] if _CONTEXT.fullmatch(context) else []
