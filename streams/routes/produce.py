"""The conversion of a request's body to records: all of them or, if one is invalid, none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from schemas import ShapeError
from streams.access.callers import Caller
from streams.api import correlation
from streams.api.media import media_type
from streams.api.problems import Response, error_response, problem
from streams.api.route import Produce, ProduceOptions, Refused
from streams.engine.headers import TRACEPARENT
from streams.engine.records import Output, Record, position
from streams.errors import HeadraceError, InvalidInput
from streams.ingress import senders
from streams.ingress.edges import ingress_topic_of
from streams.processing.encode import to_output
from streams.processing.ingress import EnvelopeType, notes_on
from streams.processing.key_blocks import Blocks
from streams.processing.lines import Unparsed, read_values
from streams.settings import Settings
from streams.views.parse import QueryParams

_TRACEPARENT_FORM = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]{0,200})?")


class Sending(NamedTuple):
    """The records of a request.

    values: as they were sent.  single: the body was one value, not a list.
    headers: to add to every response about it.
    """

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
    params: QueryParams | None = None,
) -> Sending:
    """Convert a request's body to records.

    body: JSON text, of one value, a list or one value on each line; or a value or a list.
    headers: of the request; the records carry its trace context.  caller: the token's owner.
    params: the query parameters.
    Raises Refused (413, 422), Forbidden for senders that the caller may not act as, OutputTooLarge;
    if the response must carry correlation headers, Refused instead of these.
    """
    sent = _values(action, body, headers)
    values = [_address(action, value, caller, params) for value in sent]
    shared = correlation.response_header(values) if action.terms.correlated else {}
    try:
        _check_count(action, values)
        outputs = _encode_or_refuse(action, values, headers, now_ms, settings)
        senders.check(action.topic, values, caller)
    except Refused as exc:
        raise Refused(exc.response._replace(headers=shared)) from exc
    except HeadraceError as exc:
        if not shared:
            raise
        raise Refused(error_response(exc)._replace(headers=shared)) from exc
    return Sending(outputs, values, _is_single(body, values), shared)


def _address(action: Produce, value: Any, caller: Caller | None, params: QueryParams | None) -> Any:
    """Add to a value what the request says beside it: its sender, and its record key."""
    address = ingress_topic_of(action.topic.name).kind.address
    if address is None:
        return senders.fill_sender(action.topic, value, caller)
    name = action.terms.key
    key = None if name is None or params is None else params.text(name)
    return address(value, key, None if caller is None else caller.principal)


def _encode_or_refuse(
    action: Produce,
    values: Sequence[Any],
    headers: Mapping[str, str],
    now_ms: int,
    settings: Settings,
) -> list[Output]:
    """Encode the values.  Raises Refused with all violations, OutputTooLarge."""
    outputs, errors = _encode_values(action, values, headers, now_ms, settings)
    if errors:
        first = errors[0]
        status = 413 if first["rule"] == action.terms.too_large else 422
        response = problem(status, first["message"], first["rule"], first["path"])
        raise Refused(Response(response.status, {**response.body, "errors": errors}))
    return outputs


def _check_count(action: Produce, values: Sequence[Any]) -> None:
    if len(values) > action.terms.max_values:
        message = f"{len(values)} values at once, at most {action.terms.max_values}"
        raise Refused(problem(413, message, "too_large"))
    if not values and action.terms.empty is not None:
        rule, path, message = action.terms.empty
        error = {"index": 0, "rule": rule, "path": path, "message": message}
        response = problem(422, message, rule, path)
        raise Refused(Response(422, {**response.body, "errors": [error]}))


def _encode_values(
    action: Produce,
    values: Sequence[Any],
    headers: Mapping[str, str],
    now_ms: int,
    settings: Settings,
) -> tuple[list[Output], list[dict[str, Any]]]:
    """Return the records, and the violations with their value's index."""
    edge, trace, blocks = ingress_topic_of(action.topic.name), trace_of(headers), Blocks()
    expected = correlation.requested_id(headers) if action.terms.correlated else None
    outputs: list[Output] = []
    errors: list[dict[str, Any]] = []
    for index, value in enumerate(values):
        try:
            parsed = _refuse_unparsed(value, edge.kind)
            output = to_output(edge, parsed, now_ms, settings, blocks)
            if expected is not None and (
                violation := correlation.check_correlation(parsed, expected)
            ):
                raise InvalidInput([violation])
            outputs.append(output._replace(headers=[*output.headers, *trace]))
        except InvalidInput as exc:
            errors += [{"index": index, **violation._asdict()} for violation in exc.problems]
    return outputs, errors


def accepted(
    written: Sequence[Record],
    terms: ProduceOptions,
    notes: Sequence[Mapping[str, Any]] = (),
) -> Response:
    """Return the response to what was written.  notes: what to say about the values, if any."""
    body: dict[str, Any] = {"positions": [terms.render_record(record) for record in written]}
    return Response(202, {**body, "notes": list(notes)} if notes else body)


def notes_of(action: Produce, sending: Sending, settings: Settings) -> list[dict[str, Any]]:
    """Return the notes on the values of a request, each with the index of its value."""
    kind = ingress_topic_of(action.topic.name).kind
    notes = notes_on(kind, sending.values, settings)
    return [{"index": index, **note._asdict()} for index, note in notes]


def command_response(record: Record, as_envelope: bool = False) -> Response:
    """Return the response to a command that is sent alone."""
    if as_envelope:
        return accepted([record], ProduceOptions())
    return Response(202, {"position": position(record)})


def _values(action: Produce, body: Any, headers: Mapping[str, str]) -> Sequence[Any]:
    """Parse the body.  Raises Refused for unreadable text of another media type."""
    if not isinstance(body, bytes | str):
        return body if isinstance(body, list) else [body]
    read = ingress_topic_of(action.topic.name).kind.other_text
    if read is None or media_type(headers) not in action.terms.others:
        return read_values(body)
    try:
        return [read(body.encode() if isinstance(body, str) else body)]
    except ShapeError as exc:
        errors = [{"index": 0, **exc.problem._asdict()}]
        response = problem(422, exc.message, exc.problem.rule, exc.problem.path)
        raise Refused(Response(422, {**response.body, "errors": errors})) from exc


def _is_single(body: Any, values: Sequence[Any]) -> bool:
    """Check whether one value was sent, not a list of one."""
    if isinstance(body, bytes | str):
        raw = body.encode() if isinstance(body, str) else body
        return len(values) == 1 and not raw.lstrip().startswith(b"[")
    return not isinstance(body, list)


def _refuse_unparsed(value: Any, kind: EnvelopeType) -> Any:
    if isinstance(value, Unparsed):
        raise InvalidInput([kind.unread(value)])
    return value


def trace_of(headers: Mapping[str, str]) -> list[tuple[str, bytes]]:
    """Return the trace context of a request as a record header.

    An invalid one is ignored, as W3C Trace Context requires.
    """
    context = next((v for k, v in headers.items() if k.lower() == TRACEPARENT), "")
    return [(TRACEPARENT, context.encode())] if _TRACEPARENT_FORM.fullmatch(context) else []
