"""Calls of MCP tools in ms, each beside the HTTP route it stands on, polls, streams and lists.

python -m bench.mcp [--calls N] [--packets N] [--tools N] [--idle N] [--streams N] [--starts N]
`state` is asked in turn with the route of a thing; `send` with `POST` and a query `?after=` its
position, all on persistent connections that read bytes, so that no client's own work counts.  The
official Python client shows what that adds.  A poll that matches nothing reads the facts of all
packets, as `headrace tail --json` does.  `tools/list` shows those of many agents.  Idle streams
cost the gateway memory; the others have each event, from its fact's writing in a transaction to the
client.  Gateways start with and without `/mcp`.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench.cluster import Bench, bench, percentiles, wait_ready, worker
from bench.gateway import Client, gateway_url
from bench.mcp_client import McpClient
from bench.mcp_lists import GATEWAY, lists, starts
from bench.mcp_streams import streams
from bench.packets import outputs, packets
from bench.results import ROOT, Recorder, parse, record_runs
from tests.processes import named

FACTS = "apc.events"
_LONG_AGO_MS = 10**9
Call = Callable[[], object]


def in_turn(calls: int, *kinds: Call) -> list[list[float]]:
    """Return the ms of each call by kind; the kinds take turns, so all meet the same machine."""
    latencies: list[list[float]] = [[] for _ in kinds]
    for _ in range(calls):
        for kind, took in zip(kinds, latencies, strict=True):
            began = time.perf_counter()
            kind()
            took.append((time.perf_counter() - began) * 1000)
    return latencies


def add(runs: Recorder, name: str, took: list[float]) -> None:
    runs.add(name, calls=len(took), **percentiles(took))


def states(runs: Recorder, url: str, nodes: list[str], calls: int) -> None:
    client, mcp, turn = Client(url), McpClient(url), itertools.cycle(nodes)
    route, tool = in_turn(
        calls,
        lambda: client.ask("GET", f"/v1/things/{next(turn)}"),
        lambda: mcp.call("state", node=next(turn)),
    )
    add(runs, "GET a thing", route)
    add(runs, "tool state", tool)
    add(runs, "tool state, official client", asyncio.run(official(url, nodes, calls)))


async def official(url: str, nodes: list[str], calls: int) -> list[float]:
    """Return the ms of calls by the official Python client."""
    from mcp.client import Client as OfficialClient

    took = []
    async with OfficialClient(f"{url}/mcp") as client:
        for node in itertools.islice(itertools.cycle(nodes), calls):
            began = time.perf_counter()
            await client.call_tool("state", {"node": node})
            took.append((time.perf_counter() - began) * 1000)
    return took


def sends(runs: Recorder, url: str, calls: int) -> None:
    client, mcp = Client(url), McpClient(url)
    by_route, by_tool = (packets(calls, seed=seed) for seed in (21, 22))

    def post() -> None:
        packet = next(by_route)
        body = json.dumps(packet).encode()
        position = json.loads(client.ask("POST", "/v1/apc/packets", body))["positions"][0]
        session, packet_id = packet["trace"]["session_id"], packet["packet_id"]
        path = f"/v1/apc/sessions/{session}/packets/{packet_id}"
        client.ask("GET", f"{path}?after={position}")

    def send() -> None:
        sent = mcp.call("send", topic="apc.packets", envelope=next(by_tool), wait_s=60)
        if sent["verdict"] == "pending":
            raise RuntimeError(f"no verdict: {sent}")

    route, tool = in_turn(calls, post, send)
    add(runs, "POST and ?after=", route)
    add(runs, "tool send", tool)


def polls(runs: Recorder, env: Bench, url: str) -> None:
    """Read all facts by a poll that matches none of them, and by the command that prints them."""
    count = sum(env.log.ends(env.partitions(facts_topic())).values())
    mcp, params = McpClient(url), {"name": "fact", "arguments": {"topic": FACTS, "key": "none"}}
    began = time.perf_counter()
    page = mcp.ask("events/poll", {**params, "maxAgeMs": _LONG_AGO_MS})
    while page["hasMore"]:
        page = mcp.ask("events/poll", {**params, "cursor": page["cursor"]})
    runs.add("poll that matches nothing", records_per_s=count / (time.perf_counter() - began))
    runs.add("tail --json", records_per_s=tailed(env))


def facts_topic() -> Any:
    from topology import topics

    return topics.BY_NAME[FACTS]


def tailed(env: Bench) -> float:
    """Return the records a second that the command prints, from its first to its last."""
    base = env.settings
    settings = {"BOOTSTRAP": base.bootstrap or "", "PREFIX": base.prefix}
    command = [sys.executable, "-m", "streams.cli", "tail", FACTS, "--until-end", "--json"]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **named(settings)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        times = [time.perf_counter() for _ in process.stdout]
    return len(times) / (times[-1] - times[0])


def fill(env: Bench, url: str, count: int) -> Iterator[str]:
    """Send packets over Kafka, wait until the view has them, and yield their nodes."""
    placed = env.log.append(outputs(count, env.settings.prefix))
    client = Client(url)
    last = {r.partition: f"{r.topic}/{r.partition}/{r.offset}" for r in placed}
    for position in last.values():
        while not is_applied(client, position):
            time.sleep(0.1)
    for packet in packets(count):
        yield f"apc:packet:{packet['packet_id']}"


def is_applied(client: Client, position: str) -> bool:
    try:
        client.ask("GET", f"/v1/apc/packets?limit=1&after={position}")
    except RuntimeError as exc:
        if "not_seen" in str(exc):
            return False
        raise
    return True


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--packets", type=int, default=20_000)
    parser.add_argument("--warm-up", type=int, default=300, help="calls")
    parser.add_argument("--tools", type=int, default=500, help="of agents, in tools/list")
    parser.add_argument("--idle", type=int, default=500, help="streams that nothing matches")
    parser.add_argument("--streams", type=int, default=200, help="that have all events")
    parser.add_argument("--rate", type=int, default=50, help="events a second")
    parser.add_argument("--seconds", type=int, default=30, help="of these")
    parser.add_argument("--stream-warm-up", type=int, default=15, help="seconds before them")
    parser.add_argument("--starts", type=int, default=5, help="of a gateway, with and without /mcp")
    quick = {"calls": 60, "packets": 2000, "warm_up": 20, "tools": 20, "idle": 20, "streams": 10}
    quick_streams = {"seconds": 5, "stream_warm_up": 2, "starts": 1}
    options = parse(parser, arguments, {**quick, **quick_streams})
    with record_runs("mcp", __doc__, options) as runs:
        measure(runs, options)
        starts(runs, options.starts)


def measure(runs: Recorder, options: argparse.Namespace) -> None:
    with (
        bench() as env,
        worker(env, "streams.cli worker", "worker"),
        worker(env, GATEWAY, "gateway") as gateway,
    ):
        wait_ready(env, "worker")
        url = gateway_url(env)
        print(f"  sending {options.packets} packets, and warming up", flush=True)
        nodes = list(fill(env, url, options.packets))[:1000]
        unrecorded = Recorder("warm-up", "", {}, quick=True)
        states(unrecorded, url, nodes, options.warm_up)
        states(runs, url, nodes, options.calls)
        sends(runs, url, options.calls)
        polls(runs, env, url)
        lists(runs, env, url, options.calls, options.tools)
        streams(runs, env, gateway, url, options)


if __name__ == "__main__":
    main()
