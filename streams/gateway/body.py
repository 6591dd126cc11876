"""The body of a request, within its limits."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request

from streams.gateway.limits import BODY_S
from streams.problems import Response, problem
from streams.routes.route import Refused

JSON_TYPES = ("application/json", "application/x-ndjson", "application/jsonl")
_UTF_8 = ("utf-8", "utf8", "us-ascii")


async def body_of(request: Request, most: int, *, of_type: bool = True) -> bytes:
    """most: bytes.  of_type: it has to be said to be JSON.

    Raises Refused: 408, 413, 415; ClientDisconnect.
    """
    if of_type:
        _check_type(request)
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and (len(declared) > 18 or int(declared) > most):
        raise Refused(_too_large(most))
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise Refused(_too_large(most))
                parts.append(part)
    except TimeoutError as exc:
        message = f"the body did not come within {BODY_S:.0f} s"
        raise Refused(problem(408, message, "request_timeout")) from exc
    return b"".join(parts)


def _too_large(most: int) -> Response:
    return problem(413, f"the body is above {most} bytes", "too_large")


def _check_type(request: Request) -> None:
    """No type at all counts as JSON."""
    given = request.headers.get("content-type")
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding != "identity":
        raise Refused(problem(415, "the body is to be sent as it is, not encoded", "media_type"))
    if given is None:
        return
    kind, *parameters = (part.strip().lower() for part in given.split(";"))
    fits = kind in JSON_TYPES or (kind.startswith("application/") and kind.endswith("+json"))
    charsets = [p.partition("=")[2].strip('"') for p in parameters if p.startswith("charset")]
    if not fits or any(charset not in _UTF_8 for charset in charsets):
        message = f"the body is to be one of {', '.join(JSON_TYPES)}, in UTF-8"
        raise Refused(problem(415, message, "media_type"))


__all__ = ["JSON_TYPES", "ClientDisconnect", "body_of"]
