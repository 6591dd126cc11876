"""Bridges to a real MCP server on a real Kafka, killed in the middle of calls."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.asap import McpToolCall, make_envelope
from streams import Client
from tests.integration.system import Live, live
from tests.processes import Process, wait_for

pytestmark = pytest.mark.slow
Json = dict[str, Any]
WAIT_S = 120
URN, CALLER = "urn:asap:agent:ledger", "urn:asap:agent:caller"
SERVER = """
import asyncio
import pathlib
import sys

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("Ledger", version="1.0.0")
folder = pathlib.Path(sys.argv[1])


async def record(name: str, id: str) -> str:
    with (folder / "calls").open("a") as file:
        file.write(f"{name} {id}\\n")
    while (folder / "wait").exists():
        await asyncio.sleep(0.05)
    return id


@server.tool()
async def pay(id: str) -> str:
    return await record("pay", id)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def look(id: str) -> str:
    return await record("look", id)


server.run()
"""


class Ledger:
    """A system with a bridge to a server that writes each call into a file."""

    def __init__(self, system: Live, folder: Path) -> None:
        self.system, self._folder, self._started = system, folder, 0
        (folder / "server.py").write_text(SERVER)
        command = shlex.join([sys.executable, str(folder / "server.py"), str(folder)])
        self._options = ("--command", command, "--summit", "ledger", "--asap", URN)

    def start(self, *options: str) -> Process:
        """Start a bridge in the state directory that all of them share; wait until it works."""
        arguments = ("mcp", "bridge", *self._options, *options)
        process = self.system.process("bridge", "streams.cli", *arguments)
        self._started += 1
        wait_for(
            lambda: process.text().count("bridging Ledger 1.0.0") == self._started,
            "the bridge is at work",
            WAIT_S,
        )
        return process

    def block(self) -> None:
        """Have calls take long from now on."""
        (self._folder / "wait").touch()

    def unblock(self) -> None:
        (self._folder / "wait").unlink()

    def calls(self) -> list[str]:
        """Return the ids of the calls that the server was asked, in its order."""
        path = self._folder / "calls"
        return [line.split()[1] for line in path.read_text().splitlines()] if path.exists() else []

    def use(self, story: Callable[[Client], Awaitable[Any]]) -> Any:
        settings = replace(self.system.settings, state_dir=self._folder / "client")

        async def work() -> Any:
            async with asyncio.timeout(2 * WAIT_S), Client(settings=settings) as client:
                return await story(client)

        return asyncio.run(work())

    def wait_calls(self, count: int) -> None:
        """Wait until the server was asked so many calls."""
        wait_for(lambda: len(self.calls()) >= count, f"{count} calls are made", WAIT_S)

    def send(self, tools: Mapping[str, str]) -> None:
        """Send calls of tools that nobody waits for, by the ids of their runs."""
        calls = [run_call(run_id, tool) for run_id, tool in tools.items()]
        self.use(lambda client: client.send("summit.calls", calls))

    def result(self, run_id: str, tool: str) -> Json:
        """Return the result of a run that was sent, which the same call gets again."""
        call = run_call(run_id, tool)
        result: Json = self.use(
            lambda client: client.ended(call["method"], call["params"], id=1, wait=WAIT_S)
        )
        return result

    def answer(self, request_id: str) -> Json:
        """Return the payload of the answer to an ASAP call, once it is there."""
        wait_for(lambda: self._call(request_id)["state"] == "answered", "it is answered", WAIT_S)
        payload: Json = self._call(request_id)["answer"]["payload"]
        return payload

    def _call(self, request_id: str) -> Json:
        with self.system.client as http:
            response = http.get(f"/v1/asap/calls/{request_id}")
        assert response.status_code == 200, response.text
        call: Json = response.json()
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


@pytest.fixture
def ledger(broker: str, tmp_path: Path) -> Iterator[Ledger]:
    with live(broker, tmp_path / "system") as system:
        yield Ledger(system, tmp_path)


def run_call(run_id: str, tool: str) -> Json:
    call = {"id": run_id, "name": tool, "arguments": {"id": run_id}}
    params = {"agentId": "ledger", "runId": run_id, "toolCall": call}
    return {"jsonrpc": "2.0", "id": 1, "method": "tool.call", "params": params}


def asap_call(request_id: str, tool: str) -> Json:
    call = McpToolCall(request_id=request_id, tool_name=tool, arguments={"id": request_id})
    return make_envelope(call, sender=CALLER, recipient=URN).model_dump(mode="json")


def test_a_bridge_killed_in_calls_repeats_only_what_may_be_repeated(ledger: Ledger) -> None:
    """Give each call one answer: read-only ones their result, others that they are in doubt."""
    unique = uuid.uuid4().hex[:8]
    run_pay, run_look, asap_pay, asap_look = ids = [
        f"{name}-{unique}" for name in ("run-pay", "run-look", "asap-pay", "asap-look")
    ]

    async def send(client: Client) -> None:
        runs = [run_call(run_pay, "pay"), run_call(run_look, "look")]
        await client.send("summit.calls", runs)
        envelopes = [asap_call(asap_pay, "pay"), asap_call(asap_look, "look")]
        await client.send("asap.envelopes", envelopes)

    first = ledger.start("--register")
    ledger.block()
    ledger.use(send)
    wait_for(lambda: sorted(ledger.calls()) == sorted(ids), "all calls are under way", WAIT_S)
    first.kill()
    ledger.unblock()
    second = ledger.start()
    error = ledger.result(run_pay, "pay")["error"]
    assert (error["code"], error["data"]) == (9, {"reason": "mcp_in_doubt"})
    content = ledger.result(run_look, "look")["output"]["content"]
    assert content == [{"type": "text", "text": run_look}]
    assert ledger.answer(asap_pay)["error"].startswith("mcp_in_doubt: ")
    assert ledger.answer(asap_look)["result"]["content"] == [{"type": "text", "text": asap_look}]
    assert [ledger.calls().count(each) for each in ids] == [1, 2, 1, 2]
    assert ledger.rules(run_pay).count("reply.error") == 1
    assert ledger.rules(run_look).count("reply.result") == 1
    second.signal(signal.SIGTERM)
    assert second.exit_code() == 0, second.text()
    assert second.text().endswith("stopped\n")
    ledger.verify()


def test_a_bridge_killed_again_and_again_pays_nothing_twice(ledger: Ledger) -> None:
    """Give each run exactly one final reply, and call no tool twice that may not be repeated."""
    ids = [f"run-{number}-{uuid.uuid4().hex[:8]}" for number in range(60)]
    tools = dict(zip(ids, ["pay", "look"] * 30, strict=True))
    bridge = ledger.start("--register")
    for first in range(0, len(ids), 20):
        begun = len(ledger.calls())
        ledger.send({each: tools[each] for each in ids[first : first + 20]})
        ledger.wait_calls(begun + 4)
        bridge.kill()
        bridge = ledger.start()
    for run_id, tool in tools.items():
        result = ledger.result(run_id, tool)
        in_doubt = (result.get("error") or {}).get("code") == 9
        assert in_doubt or result["output"]["content"][0]["text"] == run_id, result
        assert not (in_doubt and tool == "look"), result
    calls = ledger.calls()
    assert all(calls.count(each) <= 1 for each, tool in tools.items() if tool == "pay")
    assert all(calls.count(each) >= 1 for each, tool in tools.items() if tool == "look")
    for run_id in ids:
        final = [each for each in ledger.rules(run_id) if each in ("reply.result", "reply.error")]
        assert len(final) == 1, ledger.rules(run_id)
    bridge.signal(signal.SIGTERM)
    assert bridge.exit_code() == 0, bridge.text()
    ledger.verify()
