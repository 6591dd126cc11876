"""How many records a second one view applies, of what real traffic writes.

python -m bench.view_apply [--packets N] [--rounds N] Traffic goes through all processors on the
in-memory log first: the packets that the throughput benchmark sends (`ideas`), and those of the
exactly-once test, with every kind of packet, answer and fault, and events of sessions (`mixed`).
What they wrote to the topics that a view follows is then applied as `LiveView` applies it while it
catches up: polls, rows, positions, one write to RocksDB a batch.  Not in the figures: Kafka's
client, which reads in a thread of its own.  Groups of topics are measured alone too.  The median of
the rounds, records per second on the clock and per second of CPU (RocksDB's own threads included),
and the peak of the process's memory.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.packets import outputs
from bench.results import Recorder, parse, record_runs
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.records import Output, TopicPartition
from streams.ops.topics import create_topics
from streams.protocols.commands import all_processors
from streams.settings import Settings
from streams.view_store.rows import FOLLOWED
from streams.view_store.view import View
from tests.e2e import traffic
from tests.e2e.outputs import PARTITIONS, Outputs

START_MS = 1_767_225_600_000
AT_ONCE = 1000
GROUPS = {
    "facts": ("apc.events",),
    "states": ("apc.packet-states",),
    "edges": ("lineage.edges",),
    "rtes": ("rtes.events", "rtes.rejections", "saop.tasks"),
    "protocols": ("apc.throttling", "apc.coordination", "apc.lineage", "apc.decisions"),
}
"""Topics by subject."""


class Measured(NamedTuple):
    """The rates of one pass over the records."""

    per_s: float
    per_cpu_s: float


def written(sent: Sequence[Output]) -> list[Output]:
    """Return what the processors write to followed topics for these inputs, by partition."""
    now = itertools.count(START_MS)
    log = MemoryLog(lambda: next(now))
    settings = Settings(partitions=PARTITIONS)
    create_topics(log, settings)
    with tempfile.TemporaryDirectory() as folder:
        host = LocalHost(log, all_processors, settings, Path(folder))
        for first in range(0, len(sent), AT_ONCE):
            log.append(sent[first : first + AT_ONCE])
            host.run()
        host.close()
    outputs = []
    for name, info in log.topics().items():
        for partition in range(info.partitions):
            if name in FOLLOWED:
                records = filter(None, log.slots(TopicPartition(name, partition)))
                outputs += [
                    Output(name, r.key, r.value, r.headers, partition, r.timestamp) for r in records
                ]
    return outputs


def measure(records: Sequence[Output], rounds: int) -> Measured:
    """Return the median of rounds in which a new view reads these records."""
    log = MemoryLog(lambda: START_MS)
    create_topics(log, Settings(partitions=PARTITIONS))
    log.append(records)
    gc.collect()
    gc.freeze()
    passes = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder, View(log, Path(folder)) as view:
            began, began_cpu = time.perf_counter(), time.process_time()
            view.catch_up(0)
            took, cpu = time.perf_counter() - began, time.process_time() - began_cpu
        passes.append(Measured(len(records) / took, len(records) / cpu))
    per_s, per_cpu_s = zip(*passes, strict=True)
    return Measured(statistics.median(per_s), statistics.median(per_cpu_s))


def note(runs: Recorder, name: str, records: Sequence[Output], rounds: int) -> None:
    """Measure each group of topics, and all of them."""
    groups = {group: [r for r in records if r.topic in names] for group, names in GROUPS.items()}
    for group, selected in {**groups, "all": records}.items():
        if selected:
            per_s, per_cpu_s = measure(selected, rounds)
            runs.add(f"{name}: {group}", records=len(selected), per_s=per_s, per_cpu_s=per_cpu_s)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parse(parser, arguments, {"packets": 4000, "rounds": 1})
    with record_runs("view_apply", __doc__, options) as runs:
        note(runs, "ideas", written(outputs(options.packets, "")), options.rounds)
        mixed = traffic.outputs(Outputs(""), random.Random(7), options.packets)
        note(runs, "mixed", written(mixed), options.rounds)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        runs.add("this process, with the log in it", peak_mb=peak)


if __name__ == "__main__":
    main()
