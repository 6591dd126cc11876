"""What responses of both bindings have in common."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response as HttpResponse

from streams.doors.a2a.door import Context
from streams.doors.a2a.errors import A2aError
from streams.doors.a2a.protocol import (
    EXTENSION,
    EXTENSIONS_HEADER,
    VERSION,
    VERSION_NAME,
    fits_version,
)
from streams.doors.a2a.streaming import Binding, TaskStream
from streams.gateway.live_tail.response import EventStream


def check_version(version: str | None) -> None:
    """Check the version of A2A that a client names; without one it speaks 0.3.  Raises A2aError."""
    if not fits_version(version or "0.3"):
        detail = f"the version is {VERSION}, in the header {VERSION_NAME}"
        raise A2aError("a2a.version", detail)


def shared_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of every response.  headers: of the request."""
    shared = {VERSION_NAME: VERSION}
    names = headers.get(EXTENSIONS_HEADER.lower(), "").split(",")
    if EXTENSION in (name.strip() for name in names):
        shared[EXTENSIONS_HEADER] = EXTENSION
    return shared


def stream_response(context: Context, stream: TaskStream, binding: Binding) -> HttpResponse:
    """Return the response that a stream writes.  Raises Refused if there are too many."""
    stream.bind(binding)
    stream.open()
    gateway = context.door.gateway
    tokens, caller = gateway.tokens, context.caller

    def is_allowed() -> bool:
        return tokens is None or caller is None or tokens.holds(caller)

    return EventStream(stream, gateway.settings.gateway_write_timeout_s, is_allowed)
