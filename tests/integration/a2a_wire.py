"""Requests of A2A over HTTP as they are written, without an SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

from tests.integration.system import Live
from tests.unit.protocols.summit.queries.stage import progress

Json = dict[str, Any]
HEADERS = {"A2A-Version": "1.0"}


class WireEvent(NamedTuple):
    """A server-sent event.  id: empty for an error."""

    id: str
    data: Json


def message(message_id: str, text: str = "to be or not to be") -> Json:
    """Return the body of a send."""
    parts = [{"text": text}]
    return {"message": {"messageId": message_id, "role": "ROLE_USER", "parts": parts}}


class A2aWire:
    """One agent of a gateway, by HTTP+JSON.  timeout_s: of each answer, and between two events."""

    def __init__(self, url: str, agent_id: str, timeout_s: float = 60) -> None:
        self._base = f"{url}/a2a/{agent_id}"
        self._timeout_s = timeout_s

    def send(self, body: Json, wait_s: int) -> Json:
        """Return the task of a message.  Raises httpx.TransportError."""
        headers = {**HEADERS, "Prefer": f"wait={wait_s}"}
        path = f"{self._base}/message:send"
        response = httpx.post(path, json=body, headers=headers, timeout=self._timeout_s)
        assert response.status_code == 200, response.text
        task: Json = response.json()["task"]
        return task

    @contextmanager
    def stream(self, body: Json) -> Iterator[Iterator[WireEvent]]:
        """Send a message, and yield the events of its task.  They raise httpx.TransportError."""
        with self._open("POST", "message:stream", HEADERS, body) as events:
            yield events

    @contextmanager
    def subscribe(self, task_id: str, last_id: str) -> Iterator[Iterator[WireEvent]]:
        """Yield the events of a task after one, which comes first again."""
        headers = {**HEADERS, "Last-Event-ID": last_id}
        with self._open("GET", f"tasks/{task_id}:subscribe", headers) as events:
            yield events

    @contextmanager
    def _open(
        self, method: str, path: str, headers: Json, body: Json | None = None
    ) -> Iterator[Iterator[WireEvent]]:
        url = f"{self._base}/{path}"
        with httpx.stream(
            method, url, json=body, headers=headers, timeout=self._timeout_s
        ) as response:
            assert response.status_code == 200, response.read()
            yield _events(response)


def _events(response: httpx.Response) -> Iterator[WireEvent]:
    event_id = ""
    for line in response.iter_lines():
        name, _, value = line.partition(": ")
        if name == "id":
            event_id = value
        elif name == "data":
            yield WireEvent(event_id, json.loads(value))


def register(system: Live, manifest: Json) -> None:
    """Register an agent, and wait for the verdict."""
    headers = {"Prefer": "wait=30"}
    with system.client as http:
        response = http.post("/v1/summit/manifests", json=manifest, headers=headers)
        assert response.status_code == 200, response.text
        assert response.json()["verdicts"][0]["verdict"] == "accepted", response.text


def reply(system: Live, *replies: Json) -> None:
    """Send replies as an agent, and wait for the verdicts."""
    headers = {"Prefer": "wait=30"}
    with system.client as http:
        response = http.post("/v1/summit/replies", json=list(replies), headers=headers)
        assert response.status_code == 200, response.text
        verdicts = [each["verdict"] for each in response.json()["verdicts"]]
        assert verdicts == ["accepted"] * len(replies), response.text


def steps(task_id: str, numbers: range) -> list[Json]:
    """Return progress replies of word-stats, each with a message."""
    return [progress(task_id, f"p-{number}", message=f"step {number}") for number in numbers]


def rules_of(system: Live, task_id: str) -> list[str]:
    """Return the rules by which a task's calls and replies were decided."""
    with system.client as http:
        facts = http.get(f"/v1/summit/runs/{task_id}/events").json()["items"]
    return sorted(fact["rule"] for fact in facts)
