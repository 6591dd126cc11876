"""Answers that say what is wrong: problem details (RFC 9457).

Two members more than the RFC's: `rule`, the code of the rule broken, and `path`, where (a JSON
Pointer into the body, or the name of a query parameter).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from streams.errors import HeadraceError, InvalidInput, NotFound, OutputTooLarge
from streams.views import ViewBehind

_TITLES = {  # as RFC 9110 has them, whatever the Python
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
    422: "Unprocessable Content",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


class Response(NamedTuple):
    """body is JSON; one with an error status is `application/problem+json`."""

    status: int
    body: Any


def problem(status: int, detail: str, rule: str | None = None, path: str | None = None) -> Response:
    """Problem details."""
    body = {"type": "about:blank", "title": _TITLES[status], "status": status, "detail": detail}
    more = {"rule": rule, "path": path}
    return Response(status, {**body, **{k: v for k, v in more.items() if v is not None}})


def failed(exc: HeadraceError) -> Response:
    """The answer to a request that ended in this error."""
    match exc:
        case InvalidInput(problems=[first, *_]):
            return problem(422, first.message, first.rule, first.path)
        case NotFound():
            return problem(404, exc.message, "not_found")
        case OutputTooLarge():
            return problem(413, exc.message, "too_large")
        case ViewBehind():
            late = problem(504, str(exc), "not_seen_in_time")
            return Response(504, {**late.body, "lag": exc.lag})
        case _:
            return problem(503, str(exc), "service_unavailable")
