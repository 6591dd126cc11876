"""Bridges to a real MCP server on a real Kafka, killed in the middle of calls."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from schemas.asap import Envelope, McpToolCall, make_envelope
from tests.integration.mcp_bridges import CALLER, WAIT_S, BridgeHarness
from tests.integration.system import Live, live
from tests.processes import wait_for
from tests.unit.doors.mcp.foreign import GrowingServer, serving

pytestmark = pytest.mark.slow
Json = dict[str, Any]
RUN_IDS = {"run-id": f"run-{uuid.uuid4().hex[:8]}"}
SERVER = """
import asyncio
import pathlib
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
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


@server.tool()
async def refuse(id: str, context: Context) -> str:
    await context.report_progress(1, None, f"asking about {id}")
    while not (folder / "refuse").exists():
        await asyncio.sleep(0.05)
    raise ValueError(f"{id} is refused")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def look(id: str) -> str:
    return await record("look", id)


server.run()
"""


class Ledger(BridgeHarness):
    """A bridge to a server that writes each call into a file."""

    def __init__(self, system: Live, folder: Path) -> None:
        (folder / "server.py").write_text(SERVER)
        command = shlex.join([sys.executable, str(folder / "server.py"), str(folder)])
        super().__init__(system, folder, ("--command", command), "ledger", "urn:asap:agent:ledger")
        self._files = folder

    def let_refuse(self) -> None:
        """Have the calls end that are to be refused."""
        (self._files / "refuse").touch()

    def block(self) -> None:
        """Have calls take long from now on."""
        (self._files / "wait").touch()

    def unblock(self) -> None:
        (self._files / "wait").unlink()

    def calls(self) -> list[str]:
        """Return the ids of the calls that the server was asked, in its order."""
        path = self._files / "calls"
        return [line.split()[1] for line in path.read_text().splitlines()] if path.exists() else []

    def wait_calls(self, count: int) -> None:
        """Wait until the server was asked so many calls."""
        wait_for(lambda: len(self.calls()) >= count, f"{count} calls are made", WAIT_S)


@pytest.fixture
def ledger(broker: str, tmp_path: Path) -> Iterator[Ledger]:
    with live(broker, tmp_path / "system") as system:
        yield Ledger(system, tmp_path)


def test_a_client_of_the_gateway_calls_the_tools_of_the_server(ledger: Ledger) -> None:
    """Pass on the server's own results, its progress and its refusal, each a recorded run."""
    process = ledger.start("--register")
    reports: list[str | None] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append(message)
        if message is not None and message.endswith("asking about b"):
            ledger.let_refuse()

    async def work() -> tuple[Json, Any, Any]:
        async with Client(f"{ledger.system.url}/mcp", read_timeout_seconds=WAIT_S) as client:
            listed = {each.name: each for each in (await client.list_tools()).tools}
            meta: Any = {f"dev.headrace/{name}": id for name, id in RUN_IDS.items()}
            looked = await client.call_tool("ledger__look", {"id": "a"}, meta=meta)
            refused = await client.call_tool(
                "ledger__refuse", {"id": "b"}, progress_callback=report
            )
            hints = listed["ledger__look"].annotations
            return {} if hints is None else hints.model_dump(), looked, refused

    hints, looked, refused = asyncio.run(work())
    assert hints["read_only_hint"] is True
    assert [each.text for each in looked.content] == ["a"]
    assert (looked.is_error, looked.structured_content) == (False, {"result": "a"})
    run = looked.meta["dev.headrace/run"]
    assert (run["runId"], run["status"]) == (RUN_IDS["run-id"], "completed")
    assert run["provenance"]["mcp"]["tool"] == "look"
    assert run["evidence"]["callPosition"] == looked.meta["dev.headrace/position"]
    assert refused.is_error
    assert refused.content[0].text == "Error executing tool refuse"
    assert refused.structured_content["rule"] == "mcp_tool_error"
    assert "running: 1: asking about b" in reports
    assert ledger.rules(RUN_IDS["run-id"]).count("reply.result") == 1
    process.signal(signal.SIGTERM)
    assert process.exit_code() == 0, process.text()
    ledger.verify()


def asap_call(ledger: Ledger, request_id: str, tool: str) -> Envelope:
    call = McpToolCall(request_id=request_id, tool_name=tool, arguments={"id": request_id})
    return make_envelope(call, sender=CALLER, recipient=ledger.urn)


def test_a_bridge_killed_in_calls_repeats_only_what_may_be_repeated(ledger: Ledger) -> None:
    """Give each call one answer: read-only ones their result, others that they are in doubt."""
    unique = uuid.uuid4().hex[:8]
    run_pay, run_look, asap_pay, asap_look = ids = [
        f"{name}-{unique}" for name in ("run-pay", "run-look", "asap-pay", "asap-look")
    ]
    first = ledger.start("--register")
    ledger.block()
    ledger.send_runs(
        (run_pay, "pay", {"id": run_pay}),
        (run_look, "look", {"id": run_look}),
    )
    ledger.send_envelopes(asap_call(ledger, asap_pay, "pay"), asap_call(ledger, asap_look, "look"))
    ledger.wait_calls(len(ids))
    assert sorted(ledger.calls()) == sorted(ids)
    first.kill()
    ledger.unblock()
    second = ledger.start()
    error = ledger.result(run_pay, "pay", {"id": run_pay})["error"]
    assert (error["code"], error["data"]) == (9, {"reason": "mcp_in_doubt"})
    content = ledger.result(run_look, "look", {"id": run_look})["output"]["content"]
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
        ledger.send_runs(*[(each, tools[each], {"id": each}) for each in ids[first : first + 20]])
        ledger.wait_calls(begun + 4)
        bridge.kill()
        bridge = ledger.start()
    for run_id, tool in tools.items():
        result = ledger.result(run_id, tool, {"id": run_id})
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


def test_a_running_bridge_serves_a_tool_that_is_registered_later(
    broker: str, tmp_path: Path
) -> None:
    """Call a tool that the server has said is new, once a new version of the agent has it."""
    with serving(GrowingServer().server) as url, live(broker, tmp_path / "system") as system:
        urn = "urn:asap:agent:growing"
        growing = BridgeHarness(system, tmp_path, ("--url", url), "growing", urn)
        growing.start("--register")
        assert not growing.result(f"run-0-{uuid.uuid4().hex[:8]}", "grow_0", {})["output"][
            "isError"
        ]
        arguments = ("summit", "register", "--from-mcp", url, "--bump")
        registering = system.process("register", "streams.cli", *arguments)
        assert registering.exit_code(WAIT_S) == 0, registering.text()
        result = growing.result(f"run-1-{uuid.uuid4().hex[:8]}", "grow_1", {})
        assert not result["output"]["isError"], result
        growing.verify()
