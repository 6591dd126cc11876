"""A bridge to a real MCP server, with clients that call its agents."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from schemas.asap import Envelope
from streams import Client
from tests.integration.system import Live
from tests.processes import Process, wait_for

Json = dict[str, Any]
WAIT_S = 120
CALLER = "urn:asap:agent:caller"


class BridgeHarness:
    """Bridges to one server, one after the other, in a state directory that they share.

    source: the option that names the server, and its value.  agent, urn: of Summit and of ASAP.
    """

    def __init__(
        self, system: Live, folder: Path, source: tuple[str, str], agent: str, urn: str
    ) -> None:
        self.system, self.agent, self.urn = system, agent, urn
        self._folder, self._started = folder, 0
        self._options = (*source, "--summit", agent, "--asap", urn)

    def start(self, *options: str) -> Process:
        """Start a bridge; wait until it works."""
        arguments = ("mcp", "bridge", *self._options, *options)
        process = self.system.process(f"bridge-{self.agent}", "streams.cli", *arguments)
        self._started += 1
        wait_for(
            lambda: process.text().count("bridging ") == self._started,
            "the bridge is at work",
            WAIT_S,
        )
        return process

    def use(self, story: Callable[[Client], Awaitable[Any]]) -> Any:
        settings = replace(self.system.settings, state_dir=self._folder / f"client-{self.agent}")

        async def work() -> Any:
            async with asyncio.timeout(2 * WAIT_S), Client(settings=settings) as client:
                return await story(client)

        return asyncio.run(work())

    def send_runs(self, *runs: tuple[str, str, Json]) -> None:
        """Send calls that nobody waits for: run id, tool and arguments of each."""
        calls = [self._run_call(*each) for each in runs]
        self.use(lambda client: client.send("summit.calls", calls))

    def send_envelopes(self, *envelopes: Envelope) -> None:
        values = [each.model_dump(mode="json") for each in envelopes]
        self.use(lambda client: client.send("asap.envelopes", values))

    def _run_call(self, run_id: str, tool: str, arguments: Json) -> Json:
        call = {"id": run_id, "name": tool, "arguments": arguments}
        params = {"agentId": self.agent, "runId": run_id, "toolCall": call}
        return {"jsonrpc": "2.0", "id": 1, "method": "tool.call", "params": params}

    def result(self, run_id: str, tool: str, arguments: Json) -> Json:
        """Return the result of a run, which the same call gets again if it was sent before."""
        call = self._run_call(run_id, tool, arguments)
        result: Json = self.use(
            lambda client: client.ended(call["method"], call["params"], id=1, wait=WAIT_S)
        )
        return result

    def answer(self, key: str) -> Json:
        """Return the payload of the answer to an ASAP call, once it is there."""
        wait_for(lambda: self._call(key)["state"] == "answered", "it is answered", WAIT_S)
        payload: Json = self._call(key)["answer"]["payload"]
        return payload

    def _call(self, key: str) -> Json:
        with self.system.client as http:
            response = http.get(f"/v1/asap/calls/{key}")
        call: Json = response.json() if response.status_code == 200 else {"state": None}
        return call

    def rules(self, run_id: str) -> list[str]:
        """Return the rules of all verdicts on the replies of a run."""
        with self.system.client as http:
            response = http.get(f"/v1/summit/runs/{run_id}/events")
        assert response.status_code == 200, response.text
        rules = [each["rule"] for each in response.json()["items"]]
        return [rule for rule in rules if rule.startswith("reply.")]

    def verify(self) -> None:
        process = self.system.process("verify", "streams.cli", "verify")
        assert process.exit_code(WAIT_S) == 0, process.text()[-3000:]
