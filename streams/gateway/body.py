"""The body of a request, within its limits."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from streams.api.media import JSON_TYPES, check_type
from streams.api.problems import Response, problem
from streams.api.route import Refused
from streams.gateway.limits import BODY_S


async def body_of(request: Request, most: int, types: tuple[str, ...] | None = JSON_TYPES) -> bytes:
    """most: bytes.  types: what it may be said to be, None for anything.

    Raises Refused: 408, 413, 415; starlette.requests.ClientDisconnect.
    """
    if types is not None:
        check_type(request.headers, types)
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
