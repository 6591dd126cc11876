"""How soon a warm view answers the lineage summary, when a million packets stand behind it.

python -m bench.lineage_queries [--packets N] [--protocols N] [--rounds N]
Facts are applied as a view applies them, in batches of its size, without a broker: what is
measured is the question.  Four in ten packets are TRANSFERs, three EVALs that bear lineage, three
IDEAs; protocols are drawn from a skewed distribution, as fleets have favourites.
"""

from __future__ import annotations

import argparse
import gc
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from bench.cluster import percentile
from bench.results import parse, record_runs
from schemas import encode_many
from streams.engine.records import LogRecord
from streams.engine.store import Store
from streams.protocols.apc.queries.lineage.summary import summary
from streams.protocols.apc.queries.lineage.universe import select_universe
from streams.view_store.rows import FOLLOWED
from streams.views.changes import WriteBatch
from topology.apc import APC_EVENTS

START_MS = 1_767_225_600_000
AT_ONCE = 1000
SESSIONS, RUNS, PROJECTS, TASKS = 500, 50, 20, 400
QUESTIONS: tuple[dict[str, str], ...] = (
    {},
    {"run_id": "run-01"},
    {"project_id": "project-01"},
    {"session_id": "session-001"},
    {"session_id": "session-001", "run_id": "run-01"},
)
Json = dict[str, Any]


def _envelope(rnd: random.Random, number: int, protocol: str) -> Json:
    packet_id = f"00000000-0000-4000-8000-{number:012d}"
    session = rnd.randrange(SESSIONS)
    return {
        "protocol_version": "apc/1.0",
        "packet_id": packet_id,
        "channel": "INTER_AGENT",
        "created_at": "2026-01-01T00:00:00Z",
        "sender": {"agent_id": "builder-1", "role": "builder", "swarm_id": "swarm-a"},
        "recipients": [{"agent_id": "sentinel-1"}],
        "trace": {
            "session_id": f"session-{session:03d}",
            "run_id": f"run-{session % RUNS:02d}",
            "task_id": f"task-{rnd.randrange(TASKS)}",
            "root_packet_id": packet_id,
            "generation": 22,
            "step": 1,
        },
        "routing": {
            "delivery_mode": "DIRECT",
            "priority": 5,
            "ttl_ms": 60_000,
            "requires_ack": False,
        },
        "confidence": 0.74,
        "symbolic_keys": [],
        "lineage": {"protocol_id": protocol, "cross_use_case": rnd.random() < 0.2},
        "metadata_json": f'{{"project_id":"project-{rnd.randrange(PROJECTS):02d}"}}',
    }


def _transfer(rnd: random.Random, protocol: str) -> tuple[str, str, tuple[str, Json]]:
    policy = {"mode": "WINNER_TO_LOSERS", "min_generation": 21, "top_k": 2}
    payload = {
        "protocol_id": protocol,
        "from_swarm": "swarm-a",
        "to_swarm": "swarm-b",
        "sender_score": rnd.randrange(50, 100) / 100,
        "receiver_score": rnd.randrange(50) / 100,
        "transfer_policy": policy,
        "accepted": rnd.random() < 0.7,
    }
    return "TRANSFER", "REFINEMENT", ("headrace.apc.TransferPayload", payload)


def _evaluation(rnd: random.Random) -> tuple[str, str, tuple[str, Json]]:
    six = ("rtf", "stability", "audit", "outcome", "learnability", "generalization_ratio")
    metrics = {**dict.fromkeys(six, 1.0), "outcome": rnd.randrange(100) / 100}
    payload = {
        "metric_set": {**metrics, "drift_risk": rnd.randrange(100) / 100},
        "thresholds": dict.fromkeys(six, 0.5),
        "pass": True,
    }
    return "EVAL", "EXECUTION", ("headrace.apc.EvalPayload", payload)


def _idea() -> tuple[str, str, tuple[str, Json]]:
    impact = {"quality_gain": 0.1, "cost_change": 0.0, "risk_change": 0.0}
    payload = {
        "method_id": "m1",
        "intent": "Calibrate.",
        "assumptions": [],
        "required_capabilities": [],
        "expected_impact": impact,
        "failure_modes": [],
    }
    return "IDEA", "DISCOVERY", ("headrace.apc.IdeaPayload", payload)


def _fact(rnd: random.Random, number: int, protocols: int) -> Json:
    protocol = f"protocol-{min(int(rnd.paretovariate(0.5)) - 1, 10**9) % protocols:05d}"
    packet, draw = _envelope(rnd, number, protocol), rnd.random()
    made = _transfer(rnd, protocol) if draw < 0.4 else _evaluation(rnd) if draw < 0.7 else _idea()
    packet["packet_type"], packet["run_phase"], packet["payload"] = made
    trace = packet["trace"]
    return {
        "event_id": f"apc.packets/0/{number}/0",
        "verdict": "accepted",
        "rule": "accepted",
        "message": "Accepted.",
        "errors": [],
        "at": START_MS + number,
        "cause": f"apc.packets/0/{number}",
        "session_id": trace["session_id"],
        "packet_id": packet["packet_id"],
        "packet_type": packet["packet_type"],
        "run_id": trace["run_id"],
        "task_id": trace["task_id"],
        "trace_id": trace["run_id"],
        "packet": packet,
        "transitions": [],
        "state": "ARCHIVED",
        "coordination": [],
        "warnings": [],
    }


def batches(packets: int, protocols: int, seed: int = 7) -> Iterator[list[LogRecord]]:
    rnd = random.Random(seed)
    record = APC_EVENTS.record or ""
    for first in range(0, packets, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, packets))
        facts = [_fact(rnd, number, protocols) for number in numbers]
        values = encode_many(record, facts)
        yield [
            LogRecord(APC_EVENTS.name, 0, number, fact["at"], fact["session_id"].encode(), value)
            for number, fact, value in zip(numbers, facts, values, strict=True)
        ]


def fill(store: Store, packets: int, protocols: int) -> float:
    """Fill the store and return the seconds spent in applying facts."""
    apply = FOLLOWED[APC_EVENTS.name]
    assert apply is not None
    took = 0.0
    for records in batches(packets, protocols):
        began = time.perf_counter()
        rows = WriteBatch(store)
        apply(APC_EVENTS, records, rows)
        store.write(rows.settle())
        took += time.perf_counter() - began
    return took


class Asked(NamedTuple):
    """Milliseconds of each round on the clock, and of CPU; the counts of the answer."""

    wall: list[float]
    cpu: list[float]
    counts: Json


def ask(store: Store, filters: dict[str, str], rounds: int) -> Asked:
    """Run the query for two rounds to warm up, then for those that are measured."""
    timings = Asked([], [], {})
    for number in range(-2, rounds):
        began, began_cpu = time.perf_counter(), time.thread_time()
        answer = summary(select_universe(store, filters), None, 100, dict(filters))
        orjson.dumps(answer)
        if number >= 0:
            timings.wall.append((time.perf_counter() - began) * 1000)
            timings.cpu.append((time.thread_time() - began_cpu) * 1000)
        timings.counts.update(answer["summary"])
    return timings


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--protocols", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    options = parse(parser, arguments, {"packets": 20_000, "rounds": 20})
    with (
        record_runs("lineage_queries", __doc__, options) as runs,
        tempfile.TemporaryDirectory() as folder,
        Store(Path(folder)) as store,
    ):
        took = fill(store, options.packets, options.protocols)
        runs.add("facts applied", records=options.packets, took_s=took)
        gc.collect()
        gc.freeze()  # as a ready server does: full collections skip existing objects
        for filters in QUESTIONS:
            rounds = options.rounds if len(filters) < 2 else 5
            wall, cpu, counts = ask(store, filters, rounds)
            runs.add(
                " ".join(f"{k}={v}" for k, v in filters.items()) or "unfiltered",
                p50_ms=percentile(wall, 0.5),
                p99_ms=percentile(wall, 0.99),
                p50_cpu_ms=percentile(cpu, 0.5),
                p99_cpu_ms=percentile(cpu, 0.99),
                packets=counts["transfer_count"],
                protocols=counts["protocol_count"],
            )


if __name__ == "__main__":
    main()
