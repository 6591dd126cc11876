"""Ten million rows of a changelog, restored once by a worker with an empty state directory.

python -m bench.restore_rows [--rows N]
A loader writes rows of 70 bytes, each under a key of its own, to the changelog of a table;
the worker that knew that table is started again without its state.  Seconds are its own, of the
slowest of four tasks, as `headrace_task_restore_seconds` says.  About a minute.
"""

from __future__ import annotations

import argparse
import shutil
import time
from functools import partial

import confluent_kafka as ck

from bench.cluster import Bench, bench, drain, wait_ready, worker
from bench.results import kept, parse
from bench.systems import Restored, scraped
from bench.written import uncommitted
from schemas import encode
from streams.engine.kafka_clients import APPENDER
from streams.ops.broker import network
from tests.toy import FACTS, RECORD, ROWS, toy_record, toy_topics

PARTITIONS = 4
KNOWN = 1000
"""Records that the worker decides first: a changelog without its positions is refused."""
PAD = "x" * 40
LIMIT_S = 1800.0
TOLD_S = 10.0


def known(own: Bench) -> None:
    """The worker once, so that the state knows its inputs."""
    own.log.append([toy_record(f"known-{n}", prefix=own.settings.prefix) for n in range(KNOWN)])
    with worker(own, "tests.toy_worker", "worker") as running, uncommitted(own, FACTS) as facts:
        drain(facts, KNOWN, running, LIMIT_S)


def load(own: Bench, rows: int) -> float:
    """Write them; returns the bytes of one, key and value."""
    client = ck.Producer({"bootstrap.servers": own.settings.bootstrap, **APPENDER, "linger.ms": 20})
    topic, told = own.settings.prefix + ROWS.name, time.monotonic()
    body = encode(RECORD, {"data": {"n": "1", "pad": PAD}})
    for number in range(rows):
        while True:
            try:
                client.produce(topic, body, b"row-%010d" % number, number % PARTITIONS)
                break
            except BufferError:
                client.poll(0.1)
        if number % 10_000 == 0:
            client.poll(0)
            if time.monotonic() - told > TOLD_S:
                told = time.monotonic()
                print(f"    {number:,} of {rows:,} rows are written", flush=True)
    left = client.flush(120)
    if left:
        raise TimeoutError(f"{left} rows were not written")
    return len(body) + len(b"row-%010d" % 0)


def restore(own: Bench, rows: int) -> tuple[Restored, float]:
    """What the worker says once it is ready, and the MB it took at the most."""
    shutil.rmtree(own.directory / "worker")
    (port,) = network.pick_ports([], 1)
    where = f"127.0.0.1:{port}"
    with worker(own, "tests.toy_worker", "worker", more={"METRICS": where}) as running:
        wait_ready(own, "worker", LIMIT_S)
        running.metrics = f"http://{where}/metrics"
        found = scraped(running)
        if found.records < rows:
            raise RuntimeError(f"{found.records} records were restored of {rows}")
        return found, running.memory_mb("VmHWM")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    options = parse(parser, arguments, {"rows": 200_000})
    with (
        kept("restore_rows", __doc__, options) as runs,
        bench(topics=partial(toy_topics, PARTITIONS)) as own,
    ):
        known(own)
        began = time.monotonic()
        size = load(own, options.rows)
        runs.add("written by the loader", rows=options.rows, took_s=time.monotonic() - began)
        found, peak = restore(own, options.rows)
        runs.add(
            "restored by the worker",
            rows=found.records,
            bytes_each=size,
            took_s=found.seconds,
            rows_per_s=found.records / found.seconds,
            mb_per_s=found.records * size / found.seconds / 1e6,
            peak_mb=peak,
        )


if __name__ == "__main__":
    main()
