"""Agents for tests, each a process: `python -m tests.integration.summit_agent HANDLER MANIFEST`.

A line is printed for each run that is begun, stopped or returned.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

from schemas.summit import load_manifest
from streams import AgentResult, serve_agent
from streams.agents.stopping import until_stopped

Json = dict[str, Any]
SEED_OUTPUT = {"summary": "...", "sources": ["..."], "confidence": 0.85}
SEED_METRICS = {"tokens": 4500, "latency_ms": 12000, "cost_usd": 0.04}


def say(*words: str) -> None:
    print(*words, flush=True)


async def seed(inputs: Json, run: Any) -> AgentResult:
    """Says what the response of the seed says."""
    return AgentResult(SEED_OUTPUT, "gpt-4o", SEED_METRICS)


async def hold(inputs: Json, run: Any) -> Json:
    """Until it is stopped or killed, unless there is nothing in the text."""
    say("begun", run.run_id)
    try:
        if inputs["text"]:
            await asyncio.Event().wait()
    except asyncio.CancelledError:
        say("cancelled", run.run_id)
        raise
    say("returned", run.run_id)
    return {"words": 0}


def hold_thread(inputs: Json, run: Any) -> Json:
    """As `hold`, in a thread."""
    say("begun", run.run_id)
    if inputs["text"]:
        run.stopped.wait()
        say("stopped", run.run_id)
    return {"words": 0}


async def slow(inputs: Json, run: Any) -> Json:
    """A moment for each run, so that some are at work whenever it is killed."""
    say("begun", run.run_id)
    await asyncio.sleep(0.02)
    return {"words": len(inputs["text"].split())}


def spend(inputs: Json, run: Any) -> Json:
    """As many tokens as there are words, a hundredth of a dollar each, reported one by one."""
    words = inputs["text"].split()
    for _ in words:
        run.charge(tokens=1, cost_usd=0.01)
        run.progress(f"at {time.time_ns()}")
    return {"words": len(words)}


async def wrong(inputs: Json, run: Any) -> Json:
    """Against its own output schema."""
    return {"words": "six"}


HANDLERS = {handler.__name__: handler for handler in (seed, hold, hold_thread, slow, spend, wrong)}


async def slugify(arguments: Json, run: Any) -> str:
    return "-".join(str(arguments["title"]).lower().split())


def main(name: str, path: str) -> None:
    manifest = load_manifest(Path(path))
    tools = {tool.name: slugify for tool in manifest.spec.tools}
    serving = serve_agent(
        manifest,
        HANDLERS[name],
        tools=tools,
        on_ready=lambda: say("agent", manifest.metadata.name),
    )
    asyncio.run(until_stopped(serving))


if __name__ == "__main__":
    main(*sys.argv[1:])
