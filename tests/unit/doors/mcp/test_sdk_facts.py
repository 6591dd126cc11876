"""Facts about the official SDK that the door relies on, each shown by a server without the door.

An update of the SDK that changes one fails here: look then at the module that the test names.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import mcp.types as types
import pytest
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from tests.unit.doors.mcp.bench import ACCEPT, LEGACY, MODERN, Json

Context = ServerRequestContext[Any, Any]
HEADER_MISMATCH = -32020
TOOL = types.Tool(name="t", input_schema={"type": "object"})
TASK: Json = {"resultType": "task", "taskId": "t1", "status": "working", "ttlMs": None}
NULLS: Json = {"content": [], "structuredContent": {"rule": None}, "isError": False}


class Reply:
    """The parts of one response.  begun: it has a status.  text: its body so far."""

    def __init__(self) -> None:
        self.status, self.text = 0, b""
        self.headers: Mapping[bytes, bytes] = {}
        self.begun = asyncio.Event()

    async def send(self, part: Any) -> None:
        self.text += part.get("body", b"")
        if "status" in part:
            self.status, self.headers = part["status"], dict(part["headers"])
            self.begun.set()

    @property
    def messages(self) -> list[Json]:
        lines = self.text.decode().split("\r\n")
        frames = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
        return [json.loads(line) for line in frames or [self.text.decode()]]


def make_server(call_result: Json = NULLS, **more: Any) -> Server[Any]:
    """Return a server with one tool."""

    async def list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[TOOL])

    async def call_tool(ctx: Context, params: Any) -> Any:
        return {"resultType": "complete", **call_result}

    handlers = {"on_list_tools": list_tools, "on_call_tool": call_tool, **more}
    return Server("facts", version="1", **handlers)


def message(method: str, params: Json, version: str) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {**params, "_meta": meta} if version == MODERN else params
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def ask(
    server: Server[Any],
    method: str,
    params: Json | None = None,
    version: str = MODERN,
    headers: Mapping[str, str] | None = None,
    http: str = "POST",
    until: Callable[[Reply], Any] | None = None,
) -> Reply:
    """Return the answer to one message; with `until`, as it is once that has come."""
    body = message(method, params or {}, version)
    names = {"content-type": "application/json", "accept": ACCEPT, "host": "localhost"}
    names |= {"mcp-protocol-version": version, "mcp-method": method}
    if method == "tools/call":
        names["mcp-name"] = "t"
    scope = {
        "type": "http",
        "method": http,
        "path": "/mcp",
        "query_string": b"",
        "headers": [(k.encode(), v.encode()) for k, v in {**names, **(headers or {})}.items()],
    }
    unread = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if unread:
            return unread.pop()
        await asyncio.Event().wait()

    async def run() -> Reply:
        manager = StreamableHTTPSessionManager(server, stateless=True)
        answer = Reply()
        async with asyncio.timeout(60), manager.run():
            serving = asyncio.create_task(manager.handle_request(scope, receive, answer.send))
            if until is not None:
                await until(answer)
                assert not serving.done()
                serving.cancel()
            await asyncio.gather(serving, return_exceptions=until is not None)
        return answer

    return asyncio.run(run())


def result_of(answer: Reply) -> Any:
    return answer.messages[-1]["result"]


class Params(types.RequestParams):
    taskId: str = ""


@pytest.mark.parametrize("version", [MODERN, LEGACY])
def test_a_method_of_ones_own_is_served_at_every_version(version: str) -> None:
    """So `task_server` gates its methods itself."""

    async def answer(ctx: Context, params: Params) -> Json:
        return {"version": ctx.protocol_version, "resultType": "complete"}

    server = make_server()
    server.add_request_handler("tasks/get", Params, answer)
    assert result_of(ask(server, "tasks/get", {}, version))["version"] == version


def test_the_result_of_a_tool_may_be_a_task_at_the_newest_version_only() -> None:
    """So `tasks.try_task` makes none for other clients."""
    server = make_server(TASK)
    answer = result_of(ask(server, "tools/call", {"name": "t"}))
    assert {name: answer[name] for name in TASK} == TASK
    older = ask(server, "tools/call", {"name": "t"}, LEGACY).messages[-1]
    assert "taskId" not in older.get("result", {})


@pytest.mark.parametrize(
    ("method", "version"), [("server/discover", MODERN), ("initialize", LEGACY)]
)
def test_unknown_capabilities_are_dropped_but_for_those_of_a_middleware(
    method: str, version: str
) -> None:
    """So `server._show_capabilities` adds `events`."""

    async def add(ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        assert isinstance(result, dict)
        return {**result, "capabilities": {**result["capabilities"], "events": {}}}

    assert "events" not in types.ServerCapabilities.model_validate({"events": {}}).model_dump()
    params: Json = {"protocolVersion": LEGACY, "capabilities": {}}
    params["clientInfo"] = {"name": "c", "version": "1"}
    server = make_server()
    server.middleware.append(add)
    answer = ask(server, method, params if method == "initialize" else {}, version)
    assert result_of(answer)["capabilities"]["events"] == {}


def test_the_name_of_other_methods_is_not_checked() -> None:
    """So `task_server` checks that of tasks."""

    async def answer(ctx: Context, params: Params) -> Json:
        return {"resultType": "complete"}

    server = make_server()
    server.add_request_handler("tasks/get", Params, answer)
    other = {"mcp-name": "other"}
    assert "result" in ask(server, "tasks/get", {"taskId": "t1"}, headers=other).messages[-1]
    refused = ask(server, "tools/call", {"name": "t"}, headers=other).messages[-1]
    assert refused["error"]["code"] == HEADER_MISMATCH


def test_blanks_around_a_header_are_compared_too() -> None:
    """So `endpoint` strips them."""
    blank = {"mcp-name": " t "}
    refused = ask(make_server(), "tools/call", {"name": "t"}, headers=blank).messages[-1]
    assert refused["error"]["code"] == HEADER_MISMATCH


def test_a_get_would_hold_an_empty_stream() -> None:
    """So `endpoint` serves POST alone."""

    async def begun(answer: Reply) -> None:
        await answer.begun.wait()

    answer = ask(make_server(), "ping", version=LEGACY, http="GET", until=begun)
    assert (answer.status, answer.text) == (200, b"")
    assert answer.headers[b"content-type"].startswith(b"text/event-stream")


def test_a_call_lists_the_tools_first_unless_it_is_given_a_schema() -> None:
    """So `make_server` gives it one."""
    lists: list[str] = []

    async def list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
        lists.append(ctx.method)
        return types.ListToolsResult(tools=[TOOL])

    params = {"name": "t", "arguments": {"a": 1}}
    ask(make_server(on_list_tools=list_tools), "tools/call", params)
    assert lists == ["tools/list"]
    lists.clear()
    server = make_server(on_list_tools=list_tools, get_tool_input_schema=lambda name: None)
    ask(server, "tools/call", params)
    assert not lists


def test_the_filter_of_subscriptions_knows_no_tasks_but_keeps_them() -> None:
    """So `listening` reads them itself."""
    wishes = types.SubscriptionFilter.model_validate({"taskIds": ["t1"]})
    assert "task_ids" not in types.SubscriptionFilter.model_fields
    assert (wishes.model_extra or {})["taskIds"] == ["t1"]


@pytest.mark.parametrize("version", [MODERN, LEGACY])
def test_nulls_of_a_dict_survive(version: str) -> None:
    """So tools return dicts."""
    answer = result_of(ask(make_server(), "tools/call", {"name": "t"}, version))
    assert answer["structuredContent"] == {"rule": None}


def test_a_notification_is_framed_as_the_door_frames_its_own() -> None:
    """So `notifying` writes the further ones itself."""

    async def tell(ctx: Context, params: Any) -> Json:
        notification = types.Notification[dict[str, Any], str](
            method="notifications/events/event", params={"n": 1}
        )
        sent: Any = notification
        await ctx.session.send_notification(sent, related_request_id=ctx.request_id)
        return {"resultType": "complete"}

    server = make_server()
    server.add_request_handler("events/stream", Params, tell)
    first, _, remaining = ask(server, "events/stream").text.partition(b"\r\n\r\n")
    assert first == (
        b"event: message\r\n"
        b'data: {"jsonrpc":"2.0","method":"notifications/events/event","params":{"n":1}}'
    )
    assert remaining.startswith(b"event: message\r\ndata: ")
