"""The body, query string and headers of a request."""

from __future__ import annotations

import asyncio
import re

from starlette.requests import Request

from streams.api.json_values import bound_values, count_values
from streams.api.media import JSON_TYPES, check_type
from streams.api.problems import Response, problem
from streams.api.route import Refused
from streams.gateway.bodies import VALUE_BYTES, take_memory
from streams.gateway.limits import BODY_S


async def read_body(
    request: Request, max_bytes: int, max_values: int, types: tuple[str, ...] | None = JSON_TYPES
) -> bytes:
    """Return the body of the request, whose JSON is not parsed yet.

    max_values: JSON values and member names.  types: allowed media types; None allows any.
    Raises Refused: 408, 413, 415, 503; starlette.requests.ClientDisconnect.
    """
    if types is not None:
        check_type(request.headers, types)
    body = await read_bytes(request, max_bytes)
    await check_values(body, max_values)
    return body


async def read_bytes(request: Request, max_bytes: int) -> bytes:
    """Return the body of the request, whatever it is.

    Raises Refused: 408, 413, 503; starlette.requests.ClientDisconnect.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and (len(declared) > 18 or int(declared) > max_bytes):
        raise Refused(_too_large(max_bytes))
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                size += len(part)
                if size > max_bytes:
                    raise Refused(_too_large(max_bytes))
                take_memory(len(part))
                parts.append(part)
    except TimeoutError as exc:
        message = f"the body did not come within {BODY_S:.0f} s"
        raise Refused(problem(408, message, "request_timeout")) from exc
    return b"".join(parts)


async def check_values(body: bytes, max_values: int) -> None:
    """Take memory for the values of a body.  Raises Refused: 413, 503."""
    values = bound_values(body)
    if values > max_values:
        values = await asyncio.to_thread(count_values, body, max_values)
    if values > max_values:
        message = f"the body has more than {max_values} JSON values and names"
        raise Refused(problem(413, message, "too_large"))
    take_memory(values * VALUE_BYTES)


def _too_large(max_bytes: int) -> Response:
    return problem(413, f"the body is above {max_bytes} bytes", "too_large")


def read_query(request: Request) -> str:
    """Return the query string, with bytes beyond ASCII percent-encoded."""
    raw: bytes = request.scope["query_string"]
    return raw.decode("latin-1") if raw.isascii() else "".join(map(_percent_encode, raw))


def _percent_encode(byte: int) -> str:
    return chr(byte) if byte < 128 else f"%{byte:02X}"


def read_headers(request: Request) -> dict[str, str]:
    """Return the headers; values of one name are joined by commas, as HTTP defines."""
    headers: dict[str, str] = {}
    for name, value in request.headers.items():
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def accepts_coding(header: str, coding: str) -> bool:
    """Return whether `Accept-Encoding` names the coding, with a weight above 0."""
    for part in header.split(","):
        name, *parameters = (each.strip().lower() for each in part.split(";"))
        if name == coding:
            return not any(re.fullmatch(r"q\s*=\s*0(\.0*)?", each) for each in parameters)
    return False
