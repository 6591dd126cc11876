"""Tests of what a server of protocol version 2025-11-25 sends of its own accord."""

from __future__ import annotations

import asyncio
import shlex
import sys
from pathlib import Path

import pytest

from streams.doors.mcp.foreign_calls import CallFailed
from streams.doors.mcp.foreign_session import ForeignSession

SERVER = """
import json, sys

tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("ask", "tell", "grow")]


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if id is None:
        continue
    if method == "initialize":
        info = {"name": "older", "version": "1.0.0"}
        capabilities = {"tools": {"listChanged": True}}
        version = "2025-11-25"
        result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
        send(id=id, result=result)
    elif method == "tools/list":
        send(id=id, result={"tools": tools})
    elif method == "tools/call" and message["params"]["name"] in ("ask", "tell"):
        schema = {"type": "object", "properties": {}}
        send(id=7, method="elicitation/create", params={"message": "?", "requestedSchema": schema})
        refusal = json.loads(sys.stdin.readline())
        text = json.dumps(refusal["error"])
        if message["params"]["name"] == "ask":
            send(id=id, error={"code": -32603, "message": text})
        else:
            send(id=id, result={"content": [{"type": "text", "text": text}], "isError": True})
    elif method == "tools/call":
        tools.append({"name": "grown", "inputSchema": {"type": "object"}})
        send(method="notifications/tools/list_changed")
        send(id=id, result={"content": []})
    else:
        send(id=id, error={"code": -32601, "message": "unknown"})
"""


@pytest.mark.slow
def test_a_question_of_the_server_fails_its_call_and_a_changed_list_is_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "server.py"
    path.write_text(SERVER)

    async def story() -> None:
        source = shlex.join([sys.executable, str(path)])
        session = ForeignSession(source, (), None, str)
        connecting = asyncio.create_task(session.run())
        try:
            server = await session.connect()
            assert server.protocol_version == "2025-11-25"
            for name in ("ask", "tell"):  # an error of the protocol, and one of the tool
                with pytest.raises(CallFailed) as caught:
                    await session.call_tool(name, {}, 60.0)
                assert caught.value.failure.reason == "mcp_input_required"
            await session.call_tool("grow", {}, 60.0)
            async with asyncio.timeout(30):  # far below the minute after which it is listed anyhow
                while len((await session.describe(30)).tools) < 4:
                    await asyncio.sleep(0.01)
            assert [each["name"] for each in (await session.describe(30)).tools][-1] == "grown"
        finally:
            connecting.cancel()
            await asyncio.wait({connecting})

    asyncio.run(story())
