"""Packets per second and per CPU-second of the apc processor, beside stock Faust.

python -m bench.throughput [--packets N] [--peer-packets N] [--rounds N]
Each round runs both, one after the other, on the same packets and the same broker.
"""

from __future__ import annotations

import argparse

from bench.cluster import Bench, Rate, bench, drain, medians, worker
from bench.packets import outputs
from topology.topics import APC_EVENTS

HEADRACE = "streams.cli worker"
STOCK_FAUST = "bench.stock_faust"


def measure(module: str, packets: int) -> Rate:
    """One run on fresh topics: packets first, then the process under test."""
    with bench() as own:
        load(own, packets)
        with worker(own, module, "worker") as running, own.reader(APC_EVENTS) as reader:
            return drain(reader, packets, running, limit_s=120)


def load(own: Bench, packets: int) -> None:
    records = outputs(packets, own.settings.prefix)
    own.log.append(records)
    size = sum(len(record.value or b"") for record in records) / len(records)
    print(f"  {packets} packets of {size:.0f} bytes (Avro)", flush=True)


def show(name: str, rate: Rate) -> None:
    print(
        f"  {name:12} {rate.per_s:8.0f} packets/s {rate.per_cpu_s:8.0f} packets/CPU-s"
        f" {rate.peak_mb:6.0f} MB peak",
        flush=True,
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=60_000)
    parser.add_argument("--peer-packets", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    print("throughput: backlog of packets, one worker, four partitions")
    ours: list[Rate] = []
    theirs: list[Rate] = []
    for _ in range(options.rounds):
        ours.append(measure(HEADRACE, options.packets))
        show("headrace", ours[-1])
        theirs.append(measure(STOCK_FAUST, options.peer_packets))
        show("stock Faust", theirs[-1])
    mine, peer = medians(ours), medians(theirs)
    print("medians")
    show("headrace", mine)
    show("stock Faust", peer)
    print(
        f"  ratio        {mine.per_s / peer.per_s:.1f} in packets/s,"
        f" {mine.per_cpu_s / peer.per_cpu_s:.1f} in packets/CPU-s"
    )


if __name__ == "__main__":
    main()
