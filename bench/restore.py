"""How fast an empty worker gets its tables back: rows/s and MB/s.

python -m bench.restore [--packets N] Four tasks restore in parallel, as they do when a worker
starts with an empty state directory.
"""

from __future__ import annotations

import argparse
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.cluster import Bench, bench, drain, worker
from bench.packets import outputs
from bench.results import parse, record_runs
from streams.engine.state import State
from topology import tables
from topology.apc import APC_EVENTS


def restore(env: Bench, directory: Path) -> tuple[int, int, float]:
    """Restore all tasks in parallel; return rows, bytes and seconds."""
    states = [
        State(directory / str(p), env.log, env.settings.prefix, p, tables.ALL)
        for p in range(env.settings.partitions)
    ]
    began = time.monotonic()
    with ThreadPoolExecutor(len(states)) as threads:
        rows = sum(threads.map(lambda state: state.open(0), states))
    took = time.monotonic() - began
    size = sum(len(k) + len(v) for s in states for t in tables.ALL for k, v in s.scan(t.name))
    for state in states:
        state.close()
    shutil.rmtree(directory)
    return rows, size, took


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parse(parser, arguments, {"packets": 6000, "rounds": 1})
    with record_runs("restore", __doc__, options) as runs, bench() as env:
        env.log.append(outputs(options.packets, env.settings.prefix))
        with (
            worker(env, "streams.cli worker", "worker") as running,
            env.reader(APC_EVENTS) as facts,
        ):
            drain(facts, options.packets, running, limit_s=300)
        for number in range(options.rounds):
            rows, size, took = restore(env, env.directory / "restored")
            runs.add(
                f"round {number + 1}",
                records=rows,
                took_s=took,
                records_per_s=rows / took,
                live_mb_per_s=size / took / 1e6,
            )


if __name__ == "__main__":
    main()
