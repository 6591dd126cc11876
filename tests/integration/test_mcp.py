"""The Model Context Protocol over a real gateway, worker and Kafka, by HTTP and by the relay."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Literal

import mcp.types as types
import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from pydantic import Field

from tests.integration.system import Live
from tests.processes import named
from tests.unit.envelopes import idea
from tests.unit.protocols.sap.queries.stage import result, task

Json = dict[str, Any]


@asynccontextmanager
async def client_of(
    system: Live, transport: str, mode: str = "auto", **options: Any
) -> AsyncIterator[Client]:
    if transport == "http":
        server: Any = f"{system.url}/mcp"
    else:
        environ = {**named(system.environ), "HEADRACE_URL": system.url}
        arguments = ["-m", "streams.cli", "mcp"]
        server = StdioServerParameters(command=sys.executable, args=arguments, env=environ)
    async with Client(server, read_timeout_seconds=60, mode=mode, **options) as client:
        yield client


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_an_agent_sends_and_asks(system: Live, transport: str) -> None:
    trace = str(uuid.uuid4())
    packet = {**idea(7, trace__session_id=trace), "packet_id": str(uuid.uuid4())}
    node = f"apc:packet:{packet['packet_id']}"

    async def work() -> tuple[Json, Json, Json]:
        async with client_of(system, transport) as client:
            arguments = {"topic": "apc.packets", "envelope": packet, "wait_s": 30}
            sent = await client.call_tool("send", arguments)
            again = await client.call_tool("send", arguments)
            state = await client.call_tool("state", {"node": node})
            return sent.structured_content, again.structured_content, state.structured_content

    sent, again, state = asyncio.run(work())
    assert (sent["verdict"], sent["node"], sent["rule"]) == ("accepted", node, "accepted"), sent
    assert again["verdict"] == "duplicate", again
    assert not sent["position"].startswith(system.prefix)
    assert state["state"]["trace"] == trace
    assert state["state"]["steps"][0]["cause"] == system.prefix + sent["position"]


@pytest.mark.parametrize(
    ("transport", "mode"), [("http", "auto"), ("http", "legacy"), ("stdio", "auto")]
)
def test_who_waits_is_told_how_a_task_gets_on(system: Live, transport: str, mode: str) -> None:
    envelope = {**task(), "taskId": str(uuid.uuid4())}
    reports: asyncio.Queue[tuple[float, str | None]] = asyncio.Queue()

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.put_nowait((progress, message))

    async def send(client: Client, topic: str, of: Json, **more: Any) -> Json:
        arguments = {"topic": topic, "envelope": of, "wait_s": 50, **more.pop("wait", {})}
        sent = await client.call_tool("send", arguments, **more)
        assert not sent.is_error, sent
        return sent.structured_content or {}

    async def work() -> tuple[list[tuple[float, str | None]], Json]:
        async with asyncio.timeout(120), client_of(system, transport, mode) as client:
            wait = {"wait": "outcome"}
            sending = send(client, "sap.tasks", envelope, wait=wait, progress_callback=report)
            waiting = asyncio.create_task(sending)
            first = await reports.get()
            await send(client, "sap.results", result(envelope, "RUNNING"))
            second = await reports.get()
            await send(client, "sap.results", result(envelope))
            return [first, second], await waiting

    reported, sent = asyncio.run(work())
    assert reported == [(1, "QUEUED"), (2, "RUNNING")]
    assert (sent["state"], sent["outcome"]["status"]) == ("SUCCEEDED", "SUCCEEDED")


class TaskParams(types.RequestParams):
    taskId: str


class GetTask(types.Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams
    name_param: ClassVar[str | None] = "taskId"


class CreatedTask(types.Result):
    result_type: Literal["task"] = Field(alias="resultType")
    task_id: str = Field(alias="taskId")


class SeenTask(types.Result):
    status: str
    result: Json | None = None


class Tasks(ClientExtension):
    """Follows tasks to their results.  on_seen: called with each status."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self, on_seen: Callable[[str], None]) -> None:
        self._on_seen = on_seen

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=CreatedTask, resolve=self._follow)]

    async def _follow(self, created: CreatedTask, ctx: ClaimContext) -> types.CallToolResult:
        while True:
            request = GetTask(params=TaskParams(taskId=created.task_id))
            task = await ctx.session.send_request(request, SeenTask)
            self._on_seen(task.status)
            if task.result is not None:
                return types.CallToolResult.model_validate(task.result)
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_a_client_with_the_extension_follows_a_task(system: Live, transport: str) -> None:
    envelope = {**task(), "taskId": str(uuid.uuid4())}
    sending = {"topic": "sap.tasks", "envelope": envelope, "wait": "outcome"}
    seen: list[str] = []

    async def work() -> Any:
        begun = asyncio.Event()

        def on_seen(status: str) -> None:
            seen.append(status)
            begun.set()

        extended = client_of(system, transport, extensions=[Tasks(on_seen)])
        async with asyncio.timeout(120), extended as client:
            waiting = asyncio.create_task(client.call_tool("send", sending))
            await begun.wait()
            results = {"topic": "sap.results", "envelope": result(envelope), "wait_s": 50}
            await client.call_tool("send", results)
            return (await waiting).structured_content

    sent = asyncio.run(work())
    assert (seen[0], seen[-1]) == ("working", "completed")
    assert (sent["state"], sent["outcome"]["taskId"]) == ("SUCCEEDED", envelope["taskId"])


def test_the_service_lists_the_feature(system: Live) -> None:
    with system.client as http:
        assert "mcp" in http.get("/v1/service").json()["features"]


def test_without_a_gateway_the_relay_says_how_to_start_one() -> None:
    arguments = [sys.executable, "-m", "streams.cli", "mcp", "--url", "http://127.0.0.1:9"]
    done = subprocess.run(arguments, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (3, "")
    assert "headrace up" in done.stderr


def test_the_configuration_names_the_relay() -> None:
    arguments = [sys.executable, "-m", "streams.cli", "mcp", "--config"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["mcpServers"]["headrace"]["args"] == ["mcp"]
