"""The list of tools with those of many agents, and what `/mcp` adds to the start of a gateway."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

from bench.cluster import Bench, bench, percentiles, worker
from bench.gateway import gateway_url
from bench.mcp_client import McpClient
from bench.results import Recorder
from streams import Client

GATEWAY = "streams.cli gateway --listen 127.0.0.1:0"
TOOLS_OF_AN_AGENT = 2
"""That of its runs, and one of its own."""
_WAIT_S = 120


def manifest(number: int) -> dict[str, Any]:
    text = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 10_000}}}
    tool = {"name": "count", "description": "Counts the words of a text.", "arguments": text}
    return {
        "apiVersion": "summit.io/v1",
        "kind": "Agent",
        "metadata": {"name": f"agent-{number}", "version": "1.0.0", "description": "Counts."},
        "spec": {
            "role": "x-text",
            "capabilities": ["text:count"],
            "interface": {"inputSchema": text, "outputSchema": {"type": "object"}},
            "tools": [tool],
        },
    }


async def register(env: Bench, count: int) -> None:
    async with Client(settings=env.settings) as client:
        await asyncio.gather(
            *(client.register(manifest(number), wait=_WAIT_S) for number in range(count))
        )


def lists(runs: Recorder, env: Bench, url: str, calls: int, tools: int) -> None:
    """Ask for the first page of a list that has so many tools of agents."""
    agents = tools // TOOLS_OF_AN_AGENT
    print(f"  registering {agents} agents", flush=True)
    asyncio.run(register(env, agents))
    mcp, took = McpClient(url), list[float]()
    wait_listed(mcp, tools)
    for _ in range(calls):
        began = time.perf_counter()
        mcp.ask("tools/list", {})
        took.append((time.perf_counter() - began) * 1000)
    runs.add("tools/list, first page", tools=tools, calls=calls, **percentiles(took))


def wait_listed(mcp: McpClient, tools: int) -> None:
    """Wait until all agents' tools are listed.  Raises TimeoutError."""
    until = time.monotonic() + _WAIT_S
    while (listed := count_listed(mcp)) < tools:
        if time.monotonic() > until:
            raise TimeoutError(f"{listed} of {tools} tools are listed")
        time.sleep(0.1)


def count_listed(mcp: McpClient) -> int:
    """Return how many tools of agents there are on all pages."""
    count, page = 0, mcp.ask("tools/list", {})
    while True:
        count += sum("dev.headrace/agent" in (tool.get("_meta") or {}) for tool in page["tools"])
        if page.get("nextCursor") is None:
            return count
        page = mcp.ask("tools/list", {"cursor": page["nextCursor"]})


def starts(runs: Recorder, count: int) -> None:
    """Start gateways with and without `/mcp` in turn, over empty topics."""
    took: dict[str, list[float]] = {"true": [], "false": []}
    with bench() as env:
        for number in range(count):
            for served, seconds in took.items():
                name = f"gateway-{served}-{number}"
                began = time.perf_counter()
                with worker(env, GATEWAY, name, more={"MCP": served}):
                    gateway_url(env, name=name)
                    seconds.append(time.perf_counter() - began)
    for served, seconds in took.items():
        name = "gateway's start" if served == "true" else "gateway's start without /mcp"
        runs.add(name, starts=count, median_s=statistics.median(seconds))
