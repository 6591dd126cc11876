"""The form of A2A for refusals of the gateway: those of a request that no binding has read yet.

The module needs nothing of the SDK, since a gateway without it refuses requests too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streams.api.problems import Response
from streams.doors.a2a.protocol import ROOT, Json

_DOMAIN = "a2a-protocol.org"
TYPE_PREFIX = "type.googleapis.com/google.rpc."
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    408: "DEADLINE_EXCEEDED",
    413: "INVALID_ARGUMENT",
    415: "INVALID_ARGUMENT",
    421: "PERMISSION_DENIED",
    422: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    431: "INVALID_ARGUMENT",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""The name in google.rpc.Code for each HTTP status of a refusal."""


def shape_refusal(path: str, response: Response) -> Response:
    """Return a problem of the gateway as clients of A2A read it; on other paths, as it is."""
    if not path.startswith(ROOT) or "detail" not in response.body:
        return response
    problem = response.body
    known = {name: str(problem[name]) for name in ("rule", "path") if name in problem}
    reason = known.get("rule", "internal").upper()
    body = status_body(
        response.status,
        _STATUSES.get(response.status, "INTERNAL"),
        problem["detail"],
        [error_info(reason, known)],
    )
    return response._replace(body=body, fact=True)


def status_body(code: int, status: str, message: str, details: Sequence[Json]) -> Json:
    """Return google.rpc.Status, in JSON.  code: the HTTP status.  status: of google.rpc.Code."""
    return {"error": {"code": code, "status": status, "message": message, "details": list(details)}}


def error_info(reason: str, metadata: Mapping[str, str]) -> Json:
    """Return the detail by which programs tell errors apart."""
    return {
        "@type": f"{TYPE_PREFIX}ErrorInfo",
        "reason": reason,
        "domain": _DOMAIN,
        "metadata": dict(metadata),
    }
