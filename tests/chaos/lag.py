"""A backlog that was written before any worker was there, worked off: exactly once, in bounded
memory, with the lag falling as lag tools see it.

python -m tests.chaos.lag [--records 1000000] [--workers 1] [--pad 0] [--into DIRECTORY]
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.results import parse, record_runs
from schemas import decode
from streams.engine.headers import CAUSE
from streams.engine.records import Record, TopicPartition, header
from streams.ops.broker import running_broker
from streams.settings import Settings
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.chaos.workers import Worker
from tests.processes import wait_for
from tests.toy import FACTS, INPUT, RECORD, ROWS
from topology.declarations import Topic

_CHUNK = 20_000
_LOOK_S = 0.5
_LONG_S = 3600.0


@dataclass
class Sample:
    """after_s: since the workers were started.  rss_mb: of all of them."""

    after_s: float
    lag: int
    rss_mb: float


@dataclass
class Outcome:
    """What a run has left.  wrong: ids whose counts do not run 1, 2, 3…, or whose row differs."""

    records: int
    took_s: float = 0.0
    rest_mb: float = 0.0
    peak_mb: float = 0.0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    samples: list[Sample] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        return self.lost == self.doubled == self.wrong == 0


def work_off(
    cluster: Cluster, records: int, dice: random.Random, workers: int = 1, pad: int = 0
) -> Outcome:
    """pad: bytes of text in each record besides what is decided on."""
    outcome = Outcome(records)
    outcome.rest_mb = _at_rest(cluster)
    _write(cluster, records, dice, pad)
    began = time.monotonic()
    running = [cluster.start(f"worker-{n}", BATCH="1000") for n in range(workers)]

    def drained() -> bool:
        assert all(worker.running for worker in running)
        sample = Sample(round(time.monotonic() - began, 2), lag(cluster), _rss_mb(running))
        outcome.samples.append(sample)
        print(f"after {sample.after_s} s: lag {sample.lag}, {sample.rss_mb} MB", flush=True)
        return sample.lag == 0

    wait_for(drained, f"{records} records are decided", _LONG_S, _LOOK_S)
    outcome.took_s = time.monotonic() - began
    outcome.peak_mb = max(_memory_mb(worker, "VmHWM") for worker in running)
    cluster.end_all()
    _judge(cluster, outcome)
    return outcome


def lag(cluster: Cluster) -> int:
    """As lag tools see it, by the offsets of the group; markers count."""
    tps = [TopicPartition(cluster.prefix + INPUT.name, p) for p in range(PARTITIONS)]
    ends, committed = cluster.log.high_watermarks(tps), cluster.log.committed(tps)
    return sum(end - committed.get(tp, 0) for tp, end in ends.items())


def _at_rest(cluster: Cluster) -> float:
    worker = cluster.start("at-rest")
    worker.wait_ready(*range(PARTITIONS))
    memory_mb = _memory_mb(worker, "VmRSS")
    worker.end()
    return memory_mb


def _write(cluster: Cluster, records: int, dice: random.Random, pad: int) -> None:
    keys = max(1, records // 50)
    for first in range(0, records, _CHUNK):
        many = range(first, min(records, first + _CHUNK))
        text = dice.randbytes(pad // 2).hex()
        cluster.log.append([cluster.record(f"k{dice.randrange(keys)}", pad=text) for _ in many])


def _judge(cluster: Cluster, outcome: Outcome) -> None:
    """By the causes of the facts, the counts in them, and the table."""
    name = cluster.prefix + INPUT.name
    tps = [TopicPartition(name, p) for p in range(PARTITIONS)]
    facts_of = {
        f"{tp.topic}/{tp.partition}": bytearray(end) for tp, end in cluster.log.ends(tps).items()
    }
    counts: Counter[str] = Counter()
    wrong: set[str] = set()
    for records in _read(cluster, FACTS):
        for record in records:
            place, _, offset = (header(record, CAUSE) or b"").decode().rpartition("/")
            seen = facts_of[place]
            outcome.doubled += seen[int(offset)] > 0
            seen[int(offset)] = 1
            data = decode(record.value, RECORD).value["data"]
            counts[data["id"]] += 1
            if counts[data["id"]] != int(data["n"]):
                wrong.add(data["id"])
    outcome.lost = sum(seen.count(0) for seen in facts_of.values())
    table: dict[str, int] = {}
    for records in _read(cluster, ROWS):
        for record in records:
            data = decode(record.value, RECORD).value["data"]
            table[(record.key or b"").decode()] = int(data["n"])
    wrong |= {ident for ident, _ in table.items() ^ counts.items()}
    outcome.wrong = len(wrong)


def _read(cluster: Cluster, topic: Topic) -> Iterator[Sequence[Record]]:
    """All that is committed by now, some at a time."""
    tps = [TopicPartition(cluster.prefix + topic.name, p) for p in range(PARTITIONS)]
    ends = cluster.log.ends(tps)
    with cluster.log.reader(dict.fromkeys(tps, 0)) as reader:
        while any(reader.position(tp) < end for tp, end in ends.items()):
            yield reader.poll(0.1)


def _rss_mb(workers: Sequence[Worker]) -> float:
    return sum(_memory_mb(worker, "VmRSS") for worker in workers)


def _memory_mb(worker: Worker, what: str) -> float:
    lines = Path(f"/proc/{worker.pid}/status").read_text(encoding="utf-8").splitlines()
    size_line = next(line for line in lines if line.startswith(f"{what}:"))
    return round(int(size_line.split()[1]) / 1024, 1)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--pad", type=int, default=0, help="bytes that each record has besides")
    parser.add_argument("--seed", type=int, default=1)
    options = parse(parser, arguments, {"records": 50_000})
    with (
        record_runs("lag", __doc__, options) as runs,
        tempfile.TemporaryDirectory() as directory,
        running_broker(Settings.load(state_dir=Path(directory, "broker"))) as bootstrap,
        Cluster(bootstrap, Path(directory)) as cluster,
    ):
        dice = random.Random(options.seed)
        outcome = work_off(cluster, options.records, dice, options.workers, options.pad)
        for sample in outcome.samples[:: max(1, len(outcome.samples) // 20)]:
            runs.add(f"after {sample.after_s} s", lag=sample.lag, rss_mb=sample.rss_mb)
        runs.add(
            "the whole",
            records=outcome.records,
            took_s=round(outcome.took_s, 1),
            records_per_s=round(outcome.records / outcome.took_s),
            rss_at_rest_mb=outcome.rest_mb,
            rss_peak_mb=outcome.peak_mb,
            lost=outcome.lost,
            doubled=outcome.doubled,
            wrong=outcome.wrong,
        )
        assert outcome.exact


if __name__ == "__main__":
    main()
