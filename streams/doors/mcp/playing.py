"""`POST /mcp` in a scenario: the same server over the scenario's log, one request a line.

Nothing happens while a line is carried out, so no request waits: a wait ends with what is there.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from streams.api.problems import Response
from streams.api.query_side import PlayContext
from streams.doors.mcp.description import PATH
from streams.doors.scenario import make_scenario_gateway

if TYPE_CHECKING:
    from starlette.types import Message

    from streams.doors.mcp.door import Door

Json = dict[str, Any]
REFUSED_METHODS = ("events/stream", "events/subscribe", "subscriptions/listen")
"""What goes on after its line, which a scenario cannot show."""
_METHOD_NOT_FOUND = -32601
_TASK_KEY = "\0" * 32


def serve(
    context: PlayContext, method: str, path: str, query: str, headers: Mapping[str, str], body: Any
) -> Response | None:
    """Return the answer to one message of MCP, None for another path."""
    if (method, path) != ("POST", PATH) or not context.settings.mcp:
        return None
    message = body if isinstance(body, dict) else {}
    if message.get("method") in REFUSED_METHODS:
        return _refusal(message)
    from streams.doors.mcp.relay import headers_of  # other lines of a scenario need no HTTP client

    lower_case = {name.lower(): value for name, value in headers.items()}
    derived = {name.lower(): value for name, value in headers_of(message).items()}
    all_headers = {"host": "localhost", **derived, **lower_case}
    return asyncio.run(_exchange(context, all_headers, _without_waits(message, body)))


def _refusal(message: Json) -> Response:
    detail = f"{message['method']} goes on after its answer: a scenario has no such methods"
    data = {"rule": "scenario_method", "detail": detail}
    error = {"code": _METHOD_NOT_FOUND, "message": detail, "data": data}
    return Response(404, {"jsonrpc": "2.0", "id": message.get("id"), "error": error})


def _without_waits(message: Json, body: Any) -> Any:
    """Return a message whose `events` waits for nothing; other waits see that nothing will come."""
    params = message.get("params")
    arguments = params.get("arguments") if isinstance(params, dict) else None
    if not isinstance(params, dict) or params.get("name") != "events":
        return body
    if not isinstance(arguments, dict) or not isinstance(arguments.get("wait_s"), int | float):
        return body
    return {**message, "params": {**params, "arguments": {**arguments, "wait_s": 0}}}


async def _exchange(context: PlayContext, headers: Mapping[str, str], body: Any) -> Response:
    """Hand one message to the SDK's transport, and return what it answers."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from streams.doors.mcp.server import make_server

    unread = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        if unread:
            return unread.pop()
        await asyncio.Event().wait()  # the client stays
        raise AssertionError("nobody sets that event")

    async def send(part: Message) -> None:
        sent.append(part)

    door = _new_door(context)
    try:
        manager = StreamableHTTPSessionManager(make_server(door), stateless=True)
        async with manager.run():
            await manager.handle_request(_scope_of(headers), receive, send)
    finally:
        await asyncio.to_thread(door.gateway.stop)
    return _response_of(sent)


def _scope_of(headers: Mapping[str, str]) -> Json:
    encoded = [
        (name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
        for name, value in headers.items()
    ]
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "headers": encoded,
        "server": ("localhost", 80),
        "client": ("localhost", 1),
    }


def _response_of(sent: Sequence[Message]) -> Response:
    """Return the answer among the parts of a response; notifications before it are left out."""
    text = b"".join(part.get("body", b"") for part in sent).decode()
    status = next(part["status"] for part in sent if "status" in part)
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    messages = [json.loads(line) for line in lines if line] or ([json.loads(text)] if text else [])
    return Response(status, next((each for each in messages if "id" in each), None))


def _new_door(context: PlayContext) -> Door:
    from streams.doors.mcp.door import new_door
    from streams.gateway import openapi
    from streams.gateway.app import create_app

    gateway = make_scenario_gateway(context, gateway_key=_TASK_KEY)
    log, view, settings = gateway.log, gateway.view, gateway.settings

    def make_document() -> bytes:
        return openapi.text(settings, create_app(settings, log, view, clock=context.clock))

    return replace(
        new_door(gateway, make_document), new_run_id=lambda: f"mcp-{_run_uuid(context.line)}"
    )


def _run_uuid(line: int) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_URL, f"headrace:mcp:{line}")
