"""A gateway in memory, and A2A clients that ask it over HTTP without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
from a2a.client import Client, ClientConfig, ClientFactory

from streams.access import Role
from streams.access.tokens import new_token
from tests.unit.protocols.summit.queries.stage import (
    REPLIES,
    SummitInboxAgent,
    manifest,
    progress,
    result,
    words,
)
from tests.unit.protocols.summit.routes.summit_bench import MANIFESTS, SummitBench

T = TypeVar("T")
Json = dict[str, Any]
BASE = "http://localhost"
EXT = "urn:headrace:a2a:log:v1"
AGENT = f"{BASE}/a2a/word-stats"
JSONRPC, HTTP_JSON = "JSONRPC", "HTTP+JSON"
TASK = "adaa3e69-07a4-506f-9423-e7166b1f2f47"
OF_DESK = "02d866f5-abd4-5e91-8dac-1d4c791091ac"
"""The same message is this task when desk-7 sends it."""
AT_ONCE = {"configuration": {"returnImmediately": True}}


class A2aBench:
    """A gateway with the door, over a worker in memory.  bench: the gateway and its log."""

    def __init__(self, bench: SummitBench, tokens: Path | None) -> None:
        self.bench = bench
        self._tokens = tokens

    def new_token(self, *roles: Role, principal: str = "desk-7") -> str:
        assert self._tokens is not None
        token, record = new_token(principal, frozenset(roles))
        with self._tokens.open("a") as file:
            file.write(f"{record.line()}\n")
        return token

    def revoke_tokens(self) -> None:
        assert self._tokens is not None
        self._tokens.write_text("")

    def use(
        self,
        work: Callable[[Client], Awaitable[T]],
        binding: str = JSONRPC,
        *,
        token: str | None = None,
        streaming: bool = True,
    ) -> T:
        """Return what `work` returns, given the official client of word-stats."""

        async def run() -> T:
            async with self.http(token) as http:
                config = ClientConfig(
                    streaming=streaming, httpx_client=http, supported_protocol_bindings=[binding]
                )
                client = await ClientFactory(config).create_from_url(AGENT)
                return await work(client)

        return asyncio.run(run())

    def http(self, token: str | None = None) -> httpx.AsyncClient:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        transport = httpx.ASGITransport(self.bench.app, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url=BASE, headers=headers, timeout=60)

    def ask(self, method: str, path: str, token: str | None = None, **more: Any) -> httpx.Response:
        """Return the response to one request of A2A 1.0."""
        headers = {"A2A-Version": "1.0", **more.pop("headers", {})}

        async def run() -> httpx.Response:
            async with self.http(token) as http:
                return await http.request(method, path, headers=headers, **more)

        return asyncio.run(run())

    def call(self, method: str, params: Any = None, **more: Any) -> Json:
        """Return the body of the response to one JSON-RPC request."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        response = self.ask("POST", "/a2a/word-stats", json=request, **more)
        assert response.status_code == 200, response.text
        body: Json = response.json()
        return body

    def result(self, method: str, params: Any = None, **more: Any) -> Any:
        body = self.call(method, params, **more)
        assert "result" in body, body
        return body["result"]

    def error(self, method: str, params: Any = None, **more: Any) -> Json:
        body = self.call(method, params, **more)
        assert "error" in body, body
        error: Json = body["error"]
        return error

    def find_state(self, task_id: str, token: str | None = None) -> str | None:
        """Return the state of a task; None if there is no answer that has one."""
        response = self.ask("GET", f"/a2a/word-stats/tasks/{task_id}", token)
        state: str | None = response.json().get("status", {}).get("state")
        return state

    def agent(self, answer: Callable[[Json], list[Json]] = words) -> None:
        """Let somebody answer what is in the inbox from now on."""
        self.bench.work = SummitInboxAgent(self.bench.bench, answer).work


def message(text: str = "to be or not to be", message_id: str = "m-1", **more: Any) -> Json:
    """Return a message of a user.  more: members of it."""
    parts = [{"text": text}]
    return {"messageId": message_id, "role": "ROLE_USER", "parts": parts, **more}


def sending(budget: Json | None = None, **more: Any) -> Json:
    """Return the parameters of SendMessage.  more: members of the message."""
    request: Json = {"message": message(**more)}
    return request if budget is None else {**request, "metadata": {EXT: {"budget": budget}}}


def events_in(text: str) -> list[tuple[str, Json]]:
    """Return the id and the data of each event of a stream."""
    events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in fields:
            events.append((fields.get("id", fields.get("event", "")), json.loads(fields["data"])))
    return events


@contextmanager
def a2a_bench(
    folder: Path, *manifests: Json, with_tokens: bool = False, **settings: Any
) -> Iterator[A2aBench]:
    tokens = folder / "tokens.jsonl" if with_tokens else None
    if tokens is not None:
        tokens.write_text("")
        settings["tokens"] = tokens
    with SummitBench(folder, **settings) as bench, bench.at_work():
        each = A2aBench(bench, tokens)
        operator = None if tokens is None else each.new_token(Role.OPERATOR, principal="ops")
        headers = {"prefer": "wait=20"}
        sent = [manifest(), *manifests]
        response = each.ask("POST", MANIFESTS, operator, headers=headers, json=sent)
        assert response.status_code == 200, response.text
        yield each


def start(bench: A2aBench, **more: Any) -> str:
    """Send a message, a ms later, without waiting for its end; return the id of its task."""
    bench.bench.bench.tick()
    task_id: str = bench.result("SendMessage", {**sending(**more), **AT_ONCE})["task"]["id"]
    return task_id


def reply(bench: A2aBench, *replies: Json) -> None:
    """Reply as the agent, and wait until the view has seen the verdicts."""
    (*_, last) = bench.bench.bench.append(REPLIES, *replies)
    bench.bench.get("/v1/summit/agents", after=last)


def state_of(bench: A2aBench, task_id: str = TASK) -> str:
    state: str = bench.result("GetTask", {"id": task_id})["status"]["state"]
    return state.removeprefix("TASK_STATE_")


def finished(bench: A2aBench) -> str:
    """Make a task of four versions: queued, two messages of progress, completed."""
    task_id = start(bench)
    half = progress(task_id, "p-1", message="half", metrics={"tokens": 3, "cost_usd": 0.5})
    reply(bench, half, progress(task_id, "p-2", message="most"), result(task_id))
    return task_id


def subscribe(bench: A2aBench, task_id: str, last_id: str | None = None) -> list[tuple[str, Json]]:
    headers = {} if last_id is None else {"Last-Event-ID": last_id}
    response = bench.ask("GET", f"/a2a/word-stats/tasks/{task_id}:subscribe", headers=headers)
    assert response.headers["content-type"].startswith("text/event-stream"), response.text
    return events_in(response.text)
