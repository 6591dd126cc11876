"""A worker's resident memory at rest and under a steady load.

python -m bench.memory [--minutes N] [--rate N]
"""

from __future__ import annotations

import argparse
import time

from bench.cluster import bench, wait_ready, worker
from bench.packets import outputs
from bench.results import parse, record_runs


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=int, default=100)
    options = parse(parser, arguments, {"minutes": 0.2})
    with (
        record_runs("memory", __doc__, options) as runs,
        bench() as env,
        worker(env, "streams.cli worker", "worker") as running,
    ):
        wait_ready(env, "worker")
        runs.add("at rest", rss_mb=running.memory_mb())
        began = time.monotonic()
        seconds = int(options.minutes * 60)
        for second in range(seconds):
            env.log.append(outputs(options.rate, env.settings.prefix, seed=second))
            if second % max(1, seconds // 10) == 0:
                runs.add(f"after {second} s", rss_mb=running.memory_mb())
            time.sleep(max(0.0, began + second + 1 - time.monotonic()))
        runs.add("at the end", rss_mb=running.memory_mb())
        runs.add("peak", rss_mb=running.memory_mb("VmHWM"))


if __name__ == "__main__":
    main()
