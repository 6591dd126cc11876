"""The body of a request to an ASAP server, within a bound of bytes and of JSON values."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from streams.api.json_values import bound_values, count_values

MAX_BYTES = 16_777_216
MAX_VALUES = 500_000
"""JSON values and member names.  Both bounds are the gateway's defaults."""


class BodyTooLarge(Exception):
    """A body above a bound; the text names the bound."""


async def read_body(request: Request) -> bytes:
    """Return the body, whose JSON is not parsed yet.

    Raises BodyTooLarge; starlette.requests.ClientDisconnect.
    """
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BYTES:
            raise BodyTooLarge(f"the body is above {MAX_BYTES} bytes")
        parts.append(part)
    body = b"".join(parts)
    if bound_values(body) > MAX_VALUES:
        values = await asyncio.to_thread(count_values, body, MAX_VALUES)
        if values > MAX_VALUES:
            raise BodyTooLarge(f"the body has more than {MAX_VALUES} JSON values and names")
    return body
