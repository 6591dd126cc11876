"""Round trips of `agent.invoke` in ms, and runs a second over a backlog.

python -m bench.summit [--rate N] [--seconds N] [--calls N]
`http`: `POST /summit` to the RunResult, `kafka`: the client's `invoke` on Kafka itself; an agent
process counts the words.  `judged`: calls that are there before the worker starts, to their
verdicts; nobody answers.  `whole`: as many calls at once, through one agent process, to their ends.
"""

from __future__ import annotations

import argparse
import asyncio
import time
import uuid
from typing import Any

import uvloop

from bench.cluster import WARM_UP_S, Bench, Rate, bench, drain, percentiles, wait_ready, worker
from bench.gateway import gateway_url
from bench.results import Recorder, parse, record_runs
from schemas import encode, from_json
from streams import Client
from streams.agents.summit.__main__ import manifest_of
from streams.engine.records import Output
from topology.summit import SUMMIT_CALLS, SUMMIT_EVENTS

AGENT = "word-stats"
AGENT_PROCESS = f"streams.agents.summit {AGENT}"
WORKER = "streams.cli worker"
EVENTS_OF_A_RUN = 3
"""Verdicts on the call, on the reply at pick-up, on the final reply."""


def inputs(number: int) -> dict[str, Any]:
    return {"text": f"to be or not to be that is question {number} of many", "top": 5}


async def steady(hr: Client, rate: int, seconds: int) -> list[float]:
    """Return latencies in ms, each from when its call was due."""
    latencies: list[float] = []
    began = time.perf_counter()

    async def one(number: int) -> None:
        due = began + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        result = await hr.invoke(AGENT, inputs(number))
        latencies.append((time.perf_counter() - due) * 1000)
        if result["output"]["words"] != 12:
            raise RuntimeError(f"call {number} got {result}")

    await asyncio.gather(*(one(number) for number in range(rate * seconds)))
    return latencies


async def round_trips(hr: Client, rate: int, seconds: int, warm_up_s: int) -> dict[str, float]:
    async with hr:
        await steady(hr, rate, warm_up_s)
        took = await steady(hr, rate, seconds)
    return percentiles(took)


def latencies(runs: Recorder, options: argparse.Namespace) -> None:
    rate, seconds = options.rate, options.seconds
    with (
        bench() as env,
        worker(env, WORKER, "worker"),
        worker(env, "streams.cli gateway --listen 127.0.0.1:0", "gateway"),
    ):
        wait_ready(env, "worker")
        with worker(env, AGENT_PROCESS, "agent"):
            wait_agent(env)
            over_http = Client(gateway_url(env))
            took = uvloop.run(round_trips(over_http, rate, seconds, options.warm_up))
            runs.add("http", rate_per_s=rate, **took)
            over_kafka = Client(settings=env.settings)
            took = uvloop.run(round_trips(over_kafka, rate, seconds, min(10, options.warm_up)))
            runs.add("kafka", rate_per_s=rate, **took)


def wait_agent(env: Bench, limit_s: float = 60) -> None:
    log, deadline = env.directory / "agent.log", time.monotonic() + limit_s
    while f"agent {AGENT}\n" not in log.read_text():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the agent was not ready after {limit_s} s")
        time.sleep(0.05)


def append(env: Bench, calls: int) -> None:
    record = SUMMIT_CALLS.record or ""

    def output(number: int) -> Output:
        run_id = f"run-{uuid.uuid4()}"
        params = {"agentId": AGENT, "runId": run_id, "inputs": inputs(number)}
        call = {"jsonrpc": "2.0", "id": number, "method": "agent.invoke", "params": params}
        body = encode(record, from_json(record, call))
        return Output(env.settings.prefix + SUMMIT_CALLS.name, run_id.encode(), body)

    env.log.append([output(number) for number in range(calls)])


async def register(env: Bench) -> None:
    async with Client(settings=env.settings) as hr:
        await hr.register(manifest_of(AGENT))


def measure_verdicts(calls: int) -> Rate:
    with bench() as env:
        with worker(env, WORKER, "worker"):
            wait_ready(env, "worker")
            uvloop.run(register(env))
        append(env, calls)
        ends = env.log.ends(env.partitions(SUMMIT_EVENTS))
        with env.log.reader(ends) as reader, worker(env, WORKER, "worker") as running:
            return drain(reader, calls, running, limit_s=300)


def whole(calls: int) -> Rate:
    with bench() as env, worker(env, WORKER, "worker") as running:
        wait_ready(env, "worker")
        with worker(env, AGENT_PROCESS, "agent"):
            wait_agent(env)
            ends = env.log.ends(env.partitions(SUMMIT_EVENTS))
            with env.log.reader(ends) as reader:
                append(env, calls)
                rate = drain(reader, EVENTS_OF_A_RUN * calls, running, limit_s=300)
    return Rate(rate.per_s / EVENTS_OF_A_RUN, rate.per_cpu_s / EVENTS_OF_A_RUN, rate.peak_mb)


def note(runs: Recorder, name: str, rate: Rate) -> None:
    runs.add(name, calls_per_s=rate.per_s, cpu_ms_each=1000 / rate.per_cpu_s, peak_mb=rate.peak_mb)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--calls", type=int, default=8000)
    parser.add_argument("--warm-up", type=int, default=WARM_UP_S, help="seconds")
    options = parse(parser, arguments, {"seconds": 3, "warm_up": 3, "calls": 500})
    with record_runs("summit", __doc__, options) as runs:
        latencies(runs, options)
        note(runs, "judged", measure_verdicts(options.calls))
        note(runs, "whole", whole(options.calls))


if __name__ == "__main__":
    main()
