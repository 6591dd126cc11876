"""Events and turns of agents through the processors, beside packets, per second of CPU.

python -m bench.events [--records N] [--rounds N] Three kinds of traffic go through all processors
in turn, on the in-memory log, so that no client and no broker is in the figures, with the
collector of garbage set as a worker sets it: the packets that the throughput benchmark sends
(`packets`), what agents at work send to rtes.raw, one line in ten with a secret (`events`), and
their turns (`turns`).  The median of the rounds, records per second of CPU, and the ratio to
packets.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.packets import outputs
from bench.results import parse, record_runs
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.records import Output
from streams.engine.worker import tune_gc
from streams.ops.topics import create_topics
from streams.protocols.commands import all_processors
from streams.settings import Settings
from tests.e2e.agents import Agents
from tests.e2e.outputs import PARTITIONS, Outputs
from topology.core import RTES_RAW
from topology.declarations import Topic
from topology.saop import SAOP_TURNS

START_MS = 1_767_225_600_000
AT_ONCE = 1000
SEED = 7


def make_outputs(topic: Topic, count: int) -> list[Output]:
    """Return what agents send to one topic."""
    made = Outputs("")
    records = (
        made.record(topic, one.value)
        for one in Agents(random.Random(SEED)).messages()
        if one.topic is topic and isinstance(one.value, dict)
    )
    return list(itertools.islice(records, count))


def per_cpu_s(records: Sequence[Output]) -> float:
    """Return the number of records that the processors decide in a second of CPU."""
    now = itertools.count(START_MS)
    log = MemoryLog(lambda: next(now))
    settings = Settings(partitions=PARTITIONS)
    create_topics(log, settings)
    with tempfile.TemporaryDirectory() as folder:
        host = LocalHost(log, all_processors, settings, Path(folder))
        began = time.process_time()
        for first in range(0, len(records), AT_ONCE):
            log.append(records[first : first + AT_ONCE])
            host.run()
        took = time.process_time() - began
        host.close()
    return len(records) / took


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parse(parser, arguments, {"records": 2000, "rounds": 1})
    kinds = {
        "packets": outputs(options.records, ""),
        "events": make_outputs(RTES_RAW, options.records),
        "turns": make_outputs(SAOP_TURNS, options.records),
    }
    tune_gc()
    rates_by_kind: dict[str, list[float]] = {kind: [] for kind in kinds}
    with record_runs("events", __doc__, options) as runs:
        for number in range(options.rounds):
            for kind, records in kinds.items():
                rates_by_kind[kind].append(per_cpu_s(records))
                runs.add(f"{kind}, round {number + 1}", per_cpu_s=rates_by_kind[kind][-1])
        packets = statistics.median(rates_by_kind["packets"])
        for kind, rates in rates_by_kind.items():
            rate = statistics.median(rates)
            runs.add(f"{kind}, median", per_cpu_s=rate, of_packets=rate / packets)


if __name__ == "__main__":
    main()
