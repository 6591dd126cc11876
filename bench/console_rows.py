"""The routes behind the console's pages, asked over a view of a million rows.

python -m bench.console_rows [--rows N] [--requests N]
A worker decides as many packets as make so many rows of a gateway's view, and the events of tasks
with 20 steps.  The routes are asked one after the other over one connection.  The rows are counted
when the gateway has ended.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench.cluster import Bench, bench, wait_ready, worker
from bench.console import LISTEN, fill, measure_routes, routes, thing_path
from bench.gateway import gateway_url
from bench.packets import outputs
from bench.results import Recorder, parse, record_runs
from bench.view_apply import START_MS, written
from schemas import encode, from_json
from streams.engine.memory import MemoryLog
from streams.engine.records import Output
from streams.engine.store import Store
from streams.ops.topics import create_topics
from streams.settings import Settings
from streams.settings.addresses import gateway_directory
from streams.view_store.view import View
from tests.e2e.outputs import PARTITIONS
from topology.core import RTES_RAW

SAMPLES = (500, 1500)
TASKS = 50
STEPS = 20
_STATES = (
    "PENDING",
    "IN_PROGRESS",
    *itertools.islice(itertools.cycle(("FAILED", "IN_PROGRESS")), 19),
)


def count_packets(rows: int) -> int:
    """Return how many packets make about so many rows of a view, by two samples in memory."""
    few, many = (_count_sample(packets) for packets in SAMPLES)
    each = (many - few) / (SAMPLES[1] - SAMPLES[0])
    return round(rows / each)


def _count_sample(packets: int) -> int:
    log = MemoryLog(lambda: START_MS)
    create_topics(log, Settings(partitions=PARTITIONS))
    log.append(written(outputs(packets, "")))
    with tempfile.TemporaryDirectory() as folder:
        with View(log, Path(folder)) as view:
            view.catch_up(0)
        return count_rows(Path(folder))


def count_rows(folder: Path) -> int:
    """Return the number of rows of a store that nobody has open.  Raises FileNotFoundError."""
    if not folder.is_dir():
        raise FileNotFoundError(folder)
    with Store(folder) as store:
        return sum(1 for _ in store.scan(b""))


def gateway_rows(env: Bench, name: str = "gateway") -> int:
    """Return the number of rows of the view of a gateway that has ended."""
    state_dir = replace(env.settings, state_dir=env.directory / name)
    return count_rows(gateway_directory(state_dir) / "view/rows")


def task_nodes() -> list[str]:
    """Return the nodes of the tasks that `moves` moves."""
    return [f"saop:task:task-{task}" for task in range(TASKS)]


def moves(prefix: str) -> Iterator[Output]:
    """Yield the events of tasks of so many steps each, a session each."""
    record = RTES_RAW.record or ""
    for task, step in itertools.product(range(TASKS), range(STEPS)):
        session = f"session-{task}"
        event = {
            "event_id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{task} {step}")),
            "session_id": session,
            "payload": {
                "type": "TASK_TRANSITION",
                "task_id": f"task-{task}",
                "from_state": _STATES[step],
                "to_state": _STATES[step + 1],
                "timestamp": "2026-01-01T00:00:00Z",
            },
        }
        yield Output(
            prefix + RTES_RAW.name, session.encode(), encode(record, from_json(record, event))
        )


def measure(runs: Recorder, rows: int, requests: int) -> None:
    """Fill the view with about so many rows, and ask each route so many times."""
    packets = count_packets(rows)
    with bench() as env:
        with worker(env, "streams.cli worker", "worker"), worker(env, LISTEN, "gateway"):
            wait_ready(env, "worker")
            url, began = gateway_url(env), time.monotonic()
            env.log.append(list(moves(env.settings.prefix)))
            fill(env, url, packets)
            took_s = time.monotonic() - began
            tasks = {f"a thing of {STEPS} steps": [thing_path(node) for node in task_nodes()]}
            measure_routes(runs, url, {**routes(packets), **tasks}, requests)
        runs.add("view", rows=gateway_rows(env), packets=packets, filled_s=took_s)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the view")
    parser.add_argument("--requests", type=int, default=300, help="of each route")
    options = parse(parser, arguments, {"rows": 20_000, "requests": 30})
    with record_runs("console_rows", __doc__, options) as runs:
        measure(runs, options.rows, options.requests)


if __name__ == "__main__":
    main()
