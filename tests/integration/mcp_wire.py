"""A client of MCP that writes its messages itself: of the extensions that no SDK has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.unit.doors.mcp.bench import MODERN
from tests.unit.doors.mcp.test_tasks import message

Json = dict[str, Any]
_TYPES = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class Wire:
    """One client of a gateway, which knows tasks.  url: the gateway's."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/mcp"

    @contextmanager
    def open(self, method: str, params: Json) -> Iterator[Iterator[Json]]:
        """Yield the messages of an answer as they come; they raise httpx.TransportError."""
        headers = {**_TYPES, "mcp-protocol-version": MODERN, "mcp-method": method}
        name = params.get("name") or params.get("taskId")
        if method.startswith(("tools/", "tasks/")):
            headers["mcp-name"] = str(name)
        content = message(method, params)
        with httpx.stream("POST", self._url, content=content, headers=headers, timeout=60) as got:
            yield _messages(got)

    def ask(self, method: str, params: Json) -> Json:
        """Return the result of a request."""
        with self.open(method, params) as messages:
            answer = next(each for each in messages if "id" in each)
        assert "result" in answer, answer
        outcome: Json = answer["result"]
        return outcome

    def send(self, topic: str, envelope: Json, wait: str = "verdict") -> Json:
        arguments = {"topic": topic, "envelope": envelope, "wait": wait, "wait_s": 50}
        return self.ask("tools/call", {"name": "send", "arguments": arguments})

    def task(self, task_id: str) -> Json:
        return self.ask("tasks/get", {"taskId": task_id})


def _messages(response: httpx.Response) -> Iterator[Json]:
    """Yield the JSON of an answer, which is one message or a stream of them."""
    if not response.headers["content-type"].startswith("text/event-stream"):
        yield json.loads(response.read())
        return
    for line in response.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))
