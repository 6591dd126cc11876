"""A worker's resident memory at rest and under a steady load.

python -m bench.memory [--minutes N] [--rate N]
"""

from __future__ import annotations

import argparse
import time

from bench.cluster import bench, wait_ready, worker
from bench.packets import outputs


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=int, default=100)
    options = parser.parse_args(arguments)
    print(f"memory: one worker, {options.rate} packets/s for {options.minutes:g} minutes")
    with bench() as own, worker(own, "streams.cli worker", "worker") as running:
        wait_ready(own, "worker")
        print(f"  at rest      {running.memory_mb():6.0f} MB", flush=True)
        began = time.monotonic()
        seconds = int(options.minutes * 60)
        for second in range(seconds):
            own.log.append(outputs(options.rate, own.settings.prefix, seed=second))
            if second % max(1, seconds // 10) == 0:
                print(f"  after {second:5} s {running.memory_mb():6.0f} MB", flush=True)
            time.sleep(max(0.0, began + second + 1 - time.monotonic()))
        print(
            f"  at the end   {running.memory_mb():6.0f} MB, peak {running.memory_mb('VmHWM'):.0f}"
        )


if __name__ == "__main__":
    main()
