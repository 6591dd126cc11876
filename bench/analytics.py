"""What an export as Parquet costs a record, and how soon SQL over it answers.

python -m bench.analytics [--facts N] [--asked N] [--sample N] [--files N] [--rounds N]
Facts of APC with their packets on a real broker, four in ten of them TRANSFERs.  The first `asked`
are exported, and asked for the effectiveness of all protocols by SQL and by a program that pages
the gateway's lists of packets and asks the facts of each transfer and evaluation; of these a sample
is asked, and its time multiplied.  The others are exported into the same folder, and all asked for
the figures of lineage, with one thread.  Exports are processes of their own: their memory and CPU
are the kernel's figures.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.cluster import Bench, bench, broker, percentile, worker
from bench.gateway import Client, gateway_url
from bench.lineage_queries import SESSIONS, batches
from bench.results import ROOT, Recorder, parse, record_runs
from streams.engine.headers import constant_headers, output_headers
from streams.engine.records import LogRecord, Output
from tests.processes import named
from topology.apc import APC_EVENTS

PAGE = 1000
LIMIT_S = 600.0
TICKS = os.sysconf("SC_CLK_TCK")
FIGURES = {
    "protocols": """
        SELECT protocol_id, count(*) AS packets, count(DISTINCT run_id) AS runs,
          count(DISTINCT (session_id, run_id, task_id)) AS tasks,
          count(*) FILTER (cross_use_case) AS crossing, max(accepted_at) AS last_at
        FROM packets WHERE counted AND protocol_id IS NOT NULL
        GROUP BY protocol_id ORDER BY packets DESC, last_at DESC, protocol_id LIMIT 100
    """,
    "propagation": """
        SELECT protocol_id, cross_use_case, transfer_mode, packet_id, packet_type, run_phase,
          run_id, project_id, task_id, trace_id
        FROM packets WHERE counted AND protocol_id IS NOT NULL
        ORDER BY accepted_at DESC LIMIT 200
    """,
    "transfer quality": """
        SELECT coalesce(transfer_mode, mode) AS mode, count(*) AS transfers,
          count(*) FILTER (taken) AS taken, avg(sender_score), avg(receiver_score)
        FROM transfers WHERE counted GROUP BY ALL ORDER BY transfers DESC
    """,
    "evaluation by crossing": """
        SELECT cross_use_case, count(*), avg(task_outcome_nano), avg(task_drift_nano)
        FROM transfers WHERE counted GROUP BY ALL
    """,
    "effectiveness": "SELECT * FROM effectiveness() LIMIT 50",
}


class Export(NamedTuple):
    """An export that has ended."""

    took_s: float
    cpu_s: float
    peak_mb: float
    records: int


def write(env: Bench, parts: Iterator[list[LogRecord]]) -> int:
    """Write facts onto the topic, with the headers of facts; return how many."""
    topic = env.settings.prefix + APC_EVENTS.name
    constant, count = constant_headers(APC_EVENTS, "apc"), 0
    for part in parts:
        env.log.append([_output(topic, record, constant) for record in part])
        count += len(part)
    return count


def _output(topic: str, record: LogRecord, constant: Any) -> Output:
    cause = f"apc.packets/0/{record.offset}"
    key = record.key or b""
    heads = output_headers(constant, key, f"{cause}/0", record.timestamp, cause, None)
    return Output(topic, key, record.value, heads)


def export(env: Bench, into: Path, *more: str) -> Export:
    """Run `headrace export parquet`, and return what it took."""
    command = ["export", "parquet", "--into", str(into), *more]
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "streams.cli", *command],
        cwd=ROOT,
        env=_environ(env),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"the export ended with {process.returncode}: {output[-500:]}")
    records = int(output.rpartition("exported ")[2].split()[0].replace(",", ""))
    took_s, cpu_s = time.perf_counter() - started, usage.ru_utime + usage.ru_stime
    return Export(took_s, cpu_s, usage.ru_maxrss / 1024, records)


def _environ(env: Bench) -> dict[str, str]:
    base = env.settings
    settings = {
        "BOOTSTRAP": base.bootstrap or "",
        "PREFIX": base.prefix,
        "PARTITIONS": str(base.partitions),
        "STATE_DIR": str(env.directory / "export"),
    }
    return {**os.environ, **named(settings)}


def add_export(runs: Recorder, name: str, done: Export) -> None:
    runs.add(
        name,
        records=done.records,
        took_s=done.took_s,
        cpu_s=done.cpu_s,
        records_per_cpu_s=done.records / done.cpu_s,
        peak_mb=done.peak_mb,
    )


def sql_s(lake: Path, query: str, rounds: int) -> list[float]:
    """Return the seconds of each round of a query, with one thread, after one to warm up."""
    from streams.analytics import connect

    took = []
    with connect(lake, threads=1) as connection:
        for _ in range(rounds + 1):
            began = time.perf_counter()
            connection.execute(query).fetchall()
            took.append(time.perf_counter() - began)
    return took[1:]


def http_s(env: Bench, sample: int) -> tuple[float, int]:
    """Return the seconds that a program over HTTP takes for the effectiveness, and its requests.

    The pages of packets are read in full; of the facts of transfers and evaluations `sample` are.
    """
    with worker(env, "streams.cli gateway --listen 127.0.0.1:0", "gateway"):
        client = Client(gateway_url(env, LIMIT_S))
        wait_view(client)
        began, pages, paths = time.perf_counter(), 0, list[str]()
        for number in range(SESSIONS):
            session = f"session-{number:03d}"
            cursor: str | None = ""
            while cursor is not None:
                query = f"session_id={session}&include_events=false&limit={PAGE}{cursor}"
                page = json.loads(client.ask("GET", f"/v1/apc/packets?{query}"))
                paths += [
                    f"/v1/apc/sessions/{session}/packets/{each['packet_id']}/events"
                    for each in page["packets"]
                    if each["packet_type"] in ("TRANSFER", "EVAL")
                ]
                cursor = None if page["next"] is None else f"&cursor={page['next']}"
                pages += 1
        paged_s, step = time.perf_counter() - began, max(1, len(paths) // sample)
        asked = paths[::step][:sample]
        began = time.perf_counter()
        for path in asked:
            client.ask("GET", path)
        each_s = (time.perf_counter() - began) / len(asked)
    return paged_s + each_s * len(paths), pages + len(paths)


def wait_view(client: Client, limit_s: float = LIMIT_S) -> None:
    """Wait until the view of a gateway has all facts."""
    deadline = time.monotonic() + limit_s
    while True:
        try:
            client.ask("GET", "/readyz")
            client.ask("GET", "/v1/apc/packets?limit=1&fresh=true")
            return
        except RuntimeError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def log_bytes(state_dir: Path, topic: str) -> int:
    """Return the bytes of a topic's segments on the broker that is kept there, 0 for another."""
    return sum(file.stat().st_size for file in state_dir.rglob(f"{topic}-*/*.log"))


def file_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.parquet"))


def starts_s(lake: Path, rounds: int) -> list[float]:
    """Return the seconds of `headrace sql "SELECT 1"` over an export, as a process."""
    command = [sys.executable, "-m", "streams.cli", "sql", "SELECT 1", "--from", str(lake)]
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        took.append(time.perf_counter() - began)
    return took


def measure(runs: Recorder, env: Bench, broker_dir: Path, options: argparse.Namespace) -> None:
    lake, parts = env.directory / "lake", batches(options.facts, options.protocols)
    few = [next(parts) for _ in range(max(1, options.asked // PAGE))]
    write(env, iter(few))
    add_export(runs, "export, the first", export(env, lake))
    by_sql = min(sql_s(lake, "SELECT * FROM effectiveness()", 3))
    by_http, requests = http_s(env, options.sample)
    runs.add("effectiveness by SQL", packets=len(few) * PAGE, took_s=by_sql)
    runs.add("effectiveness by HTTP", requests=requests, took_s=by_http, times=by_http / by_sql)
    many = env.directory / "many"
    size = max(1, len(few) * PAGE // options.files)
    topics = ("--topics", APC_EVENTS.name, "--offsets-per-file", str(size))
    export(env, many, *topics)
    count = sum(1 for _ in many.rglob("*.parquet"))
    runs.add("SELECT 1", files=count, took_s=percentile(starts_s(many, 5), 0.5))
    print("  writing the others", flush=True)
    write(env, parts)
    add_export(runs, "export, the others", export(env, lake))
    again = [export(env, lake).took_s for _ in range(3)]
    runs.add("export, nothing new", took_s=percentile(again, 0.5))
    for name, query in FIGURES.items():
        runs.add(f"figure: {name}", took_s=percentile(sql_s(lake, query, options.rounds), 0.5))
    on_broker = log_bytes(broker_dir, env.settings.prefix + APC_EVENTS.name)
    if on_broker:
        share = file_bytes(lake / "records" / APC_EVENTS.name) / on_broker
        runs.add("size", of_the_log=share, broker_mb=on_broker / 1e6)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--protocols", type=int, default=10_000)
    parser.add_argument("--asked", type=int, default=200_000, help="facts that are asked by HTTP")
    parser.add_argument("--sample", type=int, default=2_000, help="packets whose facts are asked")
    parser.add_argument("--files", type=int, default=1_000, help="of the export for SELECT 1")
    parser.add_argument("--rounds", type=int, default=5)
    quick = {"facts": 20_000, "asked": 5_000, "sample": 100, "files": 50, "rounds": 2}
    options = parse(parser, arguments, quick)
    with (
        record_runs("analytics", __doc__, options) as runs,
        broker() as settings,
        bench(settings) as env,
    ):
        measure(runs, env, settings.state_dir, options)


if __name__ == "__main__":
    main()
