"""What the transparency log costs a fact, and how long its writer takes to start again.

python -m bench.audit [--facts N]

Facts of 700 bytes with nine headers, in two partitions of a log in memory: sequenced, with tiles
and signatures; the writer started again, with its folder, without its position and without the
folder; receipts made from a view; the whole verified.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.results import Recorder, parse, record_runs
from streams.engine.records import Output, TopicPartition
from streams.log.reading import partitions
from streams.ops.tlog.logged_topics import LOGGED
from streams.ops.tlog.policy import parse_policy
from streams.ops.tlog.verify import verify_log
from streams.view_store.receipts import find_receipt
from streams.view_store.transparency import TransparencyLog
from streams.view_store.view import View
from tests.unit.ops.tlog.example_log import ORIGIN, POLICY
from tests.unit.ops.tlog.logged import EVENTS, Logged

PARTITIONS = 2
VALUE = b"v" * 700
HEADERS = tuple((f"header-{number}", b"x" * 16) for number in range(9))
AT_ONCE = 10_000
RECEIPTS = 2_000


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=7)
    options = parse(parser, arguments, {"facts": 20_000})
    with (
        record_runs("audit", __doc__, options) as runs,
        tempfile.TemporaryDirectory(prefix="headrace-audit-") as folder,
    ):
        logged = Logged(Path(folder))
        _write_facts(logged, options.facts)
        _run(runs, "sequence", options.facts, lambda: _sequence(logged))
        runs.add("size", bytes_per_fact=_size_of(logged.folder) / options.facts)
        _run(runs, "start with the folder", options.facts, lambda: _sequence(logged))
        (logged.folder / ".state/position").unlink()
        _run(runs, "start without the position", options.facts, lambda: _sequence(logged))
        shutil.rmtree(logged.folder)
        _run(runs, "start without the folder", options.facts, lambda: _sequence(logged))
        _run(runs, "verify", options.facts, lambda: _verify(logged))
        _time_receipts(runs, logged, Path(folder) / "view", options.seed)


def _write_facts(logged: Logged, count: int) -> None:
    producer = logged.log.producer("facts")
    producer.open()
    for first in range(0, count, AT_ONCE):
        numbers = range(first, min(count, first + AT_ONCE))
        producer.commit(
            [Output(EVENTS.topic, b"session-1", VALUE, HEADERS, n % PARTITIONS) for n in numbers]
        )


def _run(runs: Recorder, name: str, facts: int, do: Callable[[], object]) -> None:
    """Record the time of a step, and the facts that it takes a second of CPU."""
    began, began_cpu = time.perf_counter(), time.process_time()
    do()
    cpu_s = time.process_time() - began_cpu
    elapsed_s = time.perf_counter() - began
    runs.add(name, seconds=elapsed_s, cpu_s=cpu_s, facts_per_cpu_s=facts / cpu_s)


def _sequence(logged: Logged) -> None:
    with logged.writer() as writer:
        while writer.round().records:
            pass


def _verify(logged: Logged) -> None:
    covered = partitions(logged.log, [topic.name for topic in LOGGED])
    policy = parse_policy(POLICY.encode())
    result = verify_log(logged.log, "", policy, ORIGIN, covered, covered)
    assert not result.findings, result.findings


def _time_receipts(runs: Recorder, logged: Logged, folder: Path, seed: int) -> None:
    """Record how long a view takes to follow the log, and receipts made from it."""
    log, drawn = TransparencyLog(parse_policy(POLICY.encode()), ORIGIN), random.Random(seed)
    ends = logged.log.ends([TopicPartition(EVENTS.topic, n) for n in range(PARTITIONS)])
    with View(logged.log, folder, transparency=log) as view:
        began = time.perf_counter()
        view.catch_up(60)
        runs.add("view", seconds=time.perf_counter() - began)
        taken = []
        for _ in range(RECEIPTS):
            tp = drawn.choice(list(ends))
            offset = drawn.randrange(min(AT_ONCE // PARTITIONS, ends[tp] - 1))
            began_cpu = time.thread_time()
            receipt = find_receipt(log, view, tp, offset)
            taken.append(time.thread_time() - began_cpu)
            assert receipt is not None
        runs.add("receipts", per_cpu_s=RECEIPTS / sum(taken), slowest_ms=max(taken) * 1000)


def _size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
