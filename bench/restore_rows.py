"""Ten million rows of a changelog, restored once by a worker with an empty state directory.

python -m bench.restore_rows [--rows N] A loader writes rows of 70 bytes, each under a key of its
own, to the changelog of a table;
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
from bench.results import parse, record_runs
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
REPORT_S = 10.0


def known(env: Bench) -> None:
    """Run the worker once, so that the state has its input positions."""
    env.log.append([toy_record(f"known-{n}", prefix=env.settings.prefix) for n in range(KNOWN)])
    with worker(env, "tests.toy_worker", "worker") as running, uncommitted(env, FACTS) as facts:
        drain(facts, KNOWN, running, LIMIT_S)


def load(env: Bench, rows: int) -> float:
    """Write the rows; return the bytes of one, key and value."""
    client = ck.Producer({"bootstrap.servers": env.settings.bootstrap, **APPENDER, "linger.ms": 20})
    topic, last_report = env.settings.prefix + ROWS.name, time.monotonic()
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
            if time.monotonic() - last_report > REPORT_S:
                last_report = time.monotonic()
                print(f"    {number:,} of {rows:,} rows are written", flush=True)
    left = client.flush(120)
    if left:
        raise TimeoutError(f"{left} rows were not written")
    return len(body) + len(b"row-%010d" % 0)


def restore(env: Bench, rows: int) -> tuple[Restored, float]:
    """Return what the worker reports once it is ready, and its peak memory in MB."""
    shutil.rmtree(env.directory / "worker")
    (port,) = network.pick_ports([], 1)
    where = f"127.0.0.1:{port}"
    with worker(env, "tests.toy_worker", "worker", more={"METRICS": where}) as running:
        wait_ready(env, "worker", LIMIT_S)
        running.metrics = f"http://{where}/metrics"
        stats = scraped(running)
        if stats.records < rows:
            raise RuntimeError(f"{stats.records} records were restored of {rows}")
        return stats, running.memory_mb("VmHWM")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    options = parse(parser, arguments, {"rows": 200_000})
    with (
        record_runs("restore_rows", __doc__, options) as runs,
        bench(topics=partial(toy_topics, PARTITIONS)) as env,
    ):
        known(env)
        began = time.monotonic()
        size = load(env, options.rows)
        runs.add("written by the loader", rows=options.rows, took_s=time.monotonic() - began)
        stats, peak = restore(env, options.rows)
        runs.add(
            "restored by the worker",
            rows=stats.records,
            bytes_each=size,
            took_s=stats.seconds,
            rows_per_s=stats.records / stats.seconds,
            mb_per_s=stats.records * size / stats.seconds / 1e6,
            peak_mb=peak,
        )


if __name__ == "__main__":
    main()
