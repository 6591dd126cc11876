"""Error responses: problem details (RFC 9457).

They have two members beside those of the RFC: `rule`, the code of the violated rule, and `path`,
its position (a JSON Pointer into the body, or the name of a query parameter).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from streams.errors import (
    AmbiguousNode,
    Conflict,
    Forbidden,
    Gone,
    HeadraceError,
    InvalidInput,
    NotFound,
    OutputTooLarge,
    RecordRefused,
    Unauthenticated,
    ViewNotReady,
)
from streams.views.positions import ViewBehind

TITLES = {  # as in RFC 9110 and RFC 6585, for every Python version
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    410: "Gone",
    413: "Content Too Large",
    414: "URI Too Long",
    415: "Unsupported Media Type",
    421: "Misdirected Request",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


class Code(NamedTuple):
    """A rule code that only HTTP responses have.  status: of the response."""

    code: str
    status: int
    meaning: str


HTTP_RULES: tuple[Code, ...] = (
    Code("http_invalid", 400, "The request is not HTTP/1.1, or its body ends early."),
    Code("cursor_invalid", 400, "The cursor is not of the form that the stream's filters ask for."),
    Code("token_missing", 401, "The route needs a bearer token, and there is none."),
    Code("token_unknown", 401, "Nobody has that token, or not any more."),
    Code("role_missing", 403, "The token has not the role that the route needs."),
    Code(
        "origin_foreign", 403, "A web page from elsewhere asks a gateway without tokens, or `/mcp`."
    ),
    Code(
        "topic_internal", 403, "Records of that topic are for processors, or may contain secrets."
    ),
    Code("record_too_large", 403, "The record has more than 16 MiB, and is not shown."),
    Code("not_found", 404, "Nothing has that id."),
    Code("path_unknown", 404, "There is no such path."),
    Code(
        "node_unknown",
        404,
        "No edge names that node, or nothing is known of it.",
    ),
    Code(
        "record_unknown",
        404,
        "No record is there: there never was one, or it was compacted or aborted.",
    ),
    Code("method_not_allowed", 405, "The path takes other methods, which `Allow` names."),
    Code("request_timeout", 408, "The body did not come in time."),
    Code("cursor_ahead", 409, "The cursor lies beyond the end: the topic was created anew."),
    Code("node_ambiguous", 409, "Several sessions use the id of that node: `candidates`."),
    Code("as_of_undecided", 409, "The view has not seen yet what was decided up to `as_of`."),
    Code("redrive_taken", 409, "Another redrive of dead letters has begun, and takes over."),
    Code(
        "command_gone", 410, "A command that the state at `as_of` is made of is not kept any more."
    ),
    Code("record_expired", 410, "The record is not kept any more."),
    Code("cursor_expired", 410, "What comes after the cursor is not kept any more."),
    Code("too_large", 413, "The body, a record or the number of values is above its limit."),
    Code("media_type", 415, "The body is neither `application/json` nor JSON lines."),
    Code("host_foreign", 421, "A gateway without tokens is asked by a host other than its own."),
    Code("query_value", 422, "A query parameter is unknown, missing, repeated or not allowed."),
    Code("not_a_fact", 422, "The record is no fact, so nothing is to be proven of it."),
    Code("as_of_ahead", 422, "`as_of` lies in the future, or beyond the end of the log."),
    Code("as_of_unsupported", 422, "Things of that kind are only shown as they are now."),
    Code("too_many_requests", 429, "The principal has too many requests or streams at once."),
    Code("headers_too_large", 431, "Request line and headers are above their limit."),
    Code("service_internal", 500, "A fault of the service."),
    Code(
        "service_unavailable",
        503,
        "Kafka does not answer, the view is being rebuilt, or there are too many requests. What"
        " was sent may or may not be written: send again with the same id.",
    ),
    Code("not_seen_in_time", 504, "What `after` or `fresh` waits for was not seen in time."),
)
"""Codes in addition to those of the envelopes, whose status is 422, and to those of protocols."""


_NONE: Mapping[str, str] = MappingProxyType({})


class Response(NamedTuple):
    """A response with a JSON body; an error is `application/problem+json`, unless it is a fact.

    headers: in addition to those of every response.  fact: the body is a record, also for a
    refusal.
    """

    status: int
    body: Any
    headers: Mapping[str, str] = _NONE
    fact: bool = False


def problem(status: int, detail: str, rule: str | None = None, path: str | None = None) -> Response:
    """Return a response with problem details."""
    body = {"type": "about:blank", "title": TITLES[status], "status": status, "detail": detail}
    more = {"rule": rule, "path": path}
    return Response(status, {**body, **{k: v for k, v in more.items() if v is not None}})


def _add_challenge(answer: Response, rule: str) -> Response:
    """Return the response with the header `WWW-Authenticate` (RFC 6750)."""
    error_attribute = ', error="invalid_token"' if rule == "token_unknown" else ""
    return answer._replace(
        headers={"www-authenticate": f'Bearer realm="headrace"{error_attribute}'}
    )


def outcome_unknown(exc: HeadraceError, cause: str) -> Response:
    """Return the response for a command on the log at `cause` whose outcome is not known."""
    response = error_response(exc)
    return Response(response.status, {**response.body, "position": cause})


def error_response(exc: HeadraceError) -> Response:
    """Return the response to a request that ended in this error."""
    match exc:
        case InvalidInput(problems=[first, *_]):
            return problem(422, first.message, first.rule, first.path)
        case Unauthenticated():
            return _add_challenge(problem(401, exc.message, exc.rule), exc.rule)
        case Forbidden():
            return problem(403, exc.message, exc.rule, exc.path)
        case Gone():
            return problem(410, exc.message, exc.rule)
        case NotFound():
            return problem(404, exc.message, exc.rule)
        case RecordRefused():
            response = problem(409, exc.message, exc.rule)
            refused = {"version": exc.version, "reason": exc.reason, "position": exc.position}
            return Response(409, response.body | refused)
        case AmbiguousNode():
            response = problem(409, exc.message, exc.rule)
            return Response(409, response.body | {"candidates": list(exc.candidates)})
        case Conflict():
            return problem(409, exc.message, exc.rule)
        case OutputTooLarge():
            return problem(413, exc.message, "too_large")
        case ViewBehind():
            return _with_lag(problem(504, str(exc), "not_seen_in_time"), exc.lag)
        case ViewNotReady():
            return _with_lag(problem(503, str(exc), "service_unavailable"), exc.lag)
        case _:
            return problem(503, str(exc), "service_unavailable")


def no_route(detail: str, allowed: tuple[str, ...]) -> Response:
    """Return 405 with the methods that the path allows, or 404 if there is no such path."""
    if allowed:
        return problem(405, detail, "method_not_allowed")
    return problem(404, detail, "path_unknown")


def _with_lag(answer: Response, lag: int) -> Response:
    return Response(answer.status, {**answer.body, "lag": lag})
