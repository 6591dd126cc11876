"""A desk with agents of Summit as processes, and a client that calls them."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from streams import Client
from streams.agents.summit.__main__ import manifest_of
from tests.integration.system import Live
from tests.processes import Process, wait_for

Json = dict[str, Any]
TEXT = "to be or not to be"
WAIT_S = 60
MODULE = "tests.integration.summit_agent"
EXAMPLES = "streams.agents.summit"


class SummitHarness:
    """Agents under names of their own, and a client."""

    def __init__(self, system: Live, folder: Path) -> None:
        self.system, self._folder = system, folder
        self.name = f"a-{uuid.uuid4().hex[:8]}"
        self._started: list[Process] = []

    def manifest(self, example: str = "word-stats", **spec: Any) -> Json:
        made = manifest_of(example).to_json()
        made["metadata"]["name"] = self.name
        made["spec"].update(spec)
        return made

    def start(self, handler: str, manifest: Json | None = None) -> Process:
        """At once; `ready` waits until it reads its inbox."""
        path = self._folder / f"{self.name}.json"
        path.write_text(json.dumps(manifest or self.manifest()))
        name = f"{self.name}-{len(self._started)}"
        self._started.append(self.system.process(name, MODULE, handler, str(path)))
        return self._started[-1]

    def agent(self, handler: str, manifest: Json | None = None) -> Process:
        agent_process = self.start(handler, manifest)
        agent_process.wait_text(f"agent {self.name}\n")
        return agent_process

    def example(self, agent: str) -> Process:
        name = f"{agent}-{uuid.uuid4().hex[:8]}"
        self._started.append(self.system.process(name, EXAMPLES, agent))
        self._started[-1].wait_text(f"agent {agent}\n")
        return self._started[-1]

    def client(self, way: str = "kafka") -> Client:
        if way == "http":
            return Client(self.system.url)
        return Client(settings=replace(self.system.settings, state_dir=self._folder))

    def run(self, story: Callable[[Client], Coroutine[Any, Any, Any]], way: str = "kafka") -> Any:
        async def run_story() -> Any:
            async with self.client(way) as hr:
                return await story(hr)

        return asyncio.run(asyncio.wait_for(run_story(), 2 * WAIT_S))

    def invoke(self, run_id: str, text: str = TEXT, **more: Any) -> Json:
        more = {"wait": WAIT_S, **more}
        response: Json = self.run(lambda hr: hr.invoke(self.name, {"text": text}, run_id, **more))
        return response

    def send(self, *run_ids: str, text: str = TEXT, context: Json | None = None) -> None:
        """Calls that nobody waits for."""
        more = {} if context is None else {"context": context}
        calls = [
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "agent.invoke",
                "params": {"agentId": self.name, "runId": run, "inputs": {"text": text}, **more},
            }
            for run in run_ids
        ]
        self.run(lambda hr: hr.send("summit.calls", calls))

    def get(self, path: str, **params: Any) -> Json:
        with self.system.client as http:
            answer = http.get(path, params=params)
        assert answer.status_code == 200, answer.text
        body: Json = answer.json()
        return body

    def state(self, run_id: str) -> str | None:
        with self.system.client as http:
            answer = http.get(f"/v1/summit/runs/{run_id}")
        return str(answer.json()["status"]) if answer.status_code == 200 else None

    def has_come(self, *run_ids: str, state: str = "completed") -> None:
        """Until all of them are in that state."""
        for run_id in run_ids:
            wait_for(partial(self._is, run_id, state), f"{run_id} is {state}", 120)

    def _is(self, run_id: str, state: str) -> bool:
        return self.state(run_id) == state

    def rules(self, run_id: str) -> list[str]:
        """Of all verdicts on a run, as the service made them."""
        return [event["rule"] for event in self.get(f"/v1/summit/runs/{run_id}/events")["items"]]

    def end(self) -> None:
        for process in self._started:
            process.kill()


def run_ids(count: int) -> list[str]:
    return [f"run-{uuid.uuid4().hex[:12]}" for _ in range(count)]


def new_id() -> str:
    return run_ids(1)[0]


def finals(rules: list[str]) -> list[str]:
    return [rule for rule in rules if rule not in ("call.accepted", "reply.progress")]
