"""Webhooks of MCP: deliveries a second of one gateway to receivers on this machine.

python -m bench.webhooks [--webhooks N] [--packets N]
Each webhook has the facts of all packets, one POST after the other, each noted on the log before
the next.  The receivers answer at once, in a process of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import httpx
import uvloop

from bench.cluster import bench, wait_ready, worker
from bench.gateway import gateway_url
from bench.mcp_client import message
from bench.mcp_lists import GATEWAY
from bench.packets import outputs
from bench.results import Recorder, parse, record_runs
from streams.access import Role
from streams.access.tokens import new_token

_SECRET = f"whsec_{base64.b64encode(b'k' * 32).decode()}"
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"
_PATIENCE_S = 60
_SILENCE_S = 5


async def serve(parent: Connection) -> None:
    """Answer each POST, and tell the parent of the first event and of each further hundred."""
    count = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        value = json.loads(await reader.readexactly(length))
        body = b""
        if value.get("type") == "verification":
            body = json.dumps({"challenge": value["challenge"]}).encode()
        else:
            count += 1
            if count == 1 or count % 100 == 0:
                parent.send((count, time.time()))
        writer.write(_ANSWER % (len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    parent.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def receive(parent: Connection) -> None:
    uvloop.run(serve(parent))


@contextmanager
def receivers() -> Iterator[tuple[Connection, int]]:
    """Start the process of the receivers; yield what it tells, and its port."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=receive, args=(theirs,), daemon=True
    )
    process.start()
    try:
        yield ours, ours.recv()
    finally:
        process.kill()
        process.join()


def subscribe(url: str, token: str, port: int, number: int) -> None:
    """Ask for a webhook.  Raises RuntimeError for a refusal."""
    delivery = {"mode": "webhook", "url": f"http://127.0.0.1:{port}/{number}", "secret": _SECRET}
    params = {"name": "fact", "arguments": {"topic": "apc.events"}, "delivery": delivery}
    content, headers = message("events/subscribe", params)
    named = {**headers, "authorization": f"Bearer {token}"}
    response = httpx.post(f"{url}/mcp", content=content, headers=named, timeout=60)
    if '"refreshBefore"' not in response.text:
        raise RuntimeError(response.text[:300])


def measure(runs: Recorder, options: argparse.Namespace) -> None:
    """Subscribe, send the packets, and time the deliveries from the first to the last."""
    with bench() as env, receivers() as (arrivals, port):
        tokens, token = _make_tokens(env.directory)
        settings = {
            "TOKENS": str(tokens),
            "GATEWAY_KEY": "k" * 32,
            "PUSH_ALLOW": "127.0.0.0/8",
            "MCP_WEBHOOKS": str(options.webhooks),
        }
        with (
            worker(env, "streams.cli worker", "worker"),
            worker(env, GATEWAY, "gateway", more=settings) as gateway,
        ):
            wait_ready(env, "worker")
            url = gateway_url(env)
            for number in range(options.webhooks):
                subscribe(url, token, port, number)
            print(f"  {options.packets} packets to {options.webhooks} webhooks", flush=True)
            env.log.append(outputs(options.packets, env.settings.prefix))
            cpu_s = gateway.cpu_s()
            deliveries_per_s = _follow(arrivals)
            runs.add(
                f"{options.webhooks} webhooks",
                deliveries_per_s=deliveries_per_s,
                cpu_s=gateway.cpu_s() - cpu_s,
                memory_mb=gateway.memory_mb(),
            )


def _make_tokens(folder: Path) -> tuple[Path, str]:
    token, record = new_token("bench", frozenset({Role.READER, Role.PRODUCER}))
    path = folder / "tokens.jsonl"
    path.write_text(f"{record.line()}\n")
    return path, token


def _follow(arrivals: Connection) -> float:
    """Return the deliveries a second, until no more come."""
    if not arrivals.poll(_PATIENCE_S):
        raise TimeoutError("no delivery came")
    first = last = arrivals.recv()
    while arrivals.poll(_SILENCE_S):
        last = arrivals.recv()
    if last == first:
        raise TimeoutError(f"{first[0]} deliveries came, too few to be timed")
    return float((last[0] - first[0]) / (last[1] - first[1]))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--webhooks", type=int, default=64)
    parser.add_argument("--packets", type=int, default=200)
    options = parse(parser, arguments, {"webhooks": 8, "packets": 50})
    with record_runs("webhooks", __doc__, options) as runs:
        measure(runs, options)


if __name__ == "__main__":
    main()
