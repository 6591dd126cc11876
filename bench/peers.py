"""headrace, Kafka Streams, Quix Streams and stock Faust on a neutral workload, each in its own way.
Nothing of it is headrace's: a small state machine over Avro records (`bench.neutral`).

python -m bench.peers [--events N] [--rounds N] [--rate N] [--steps STEP ...] [--only NAME]
Of each, in turn, on one broker and the same records, with its own best codec and idiom:
`throughput` over a backlog that is there before it starts: events between the first and the last
outcome; events per CPU-second of its whole life, start included, and of its warm half (the second
half of the outcomes); peak memory.  `latency` from producing a change to reading its outcome,
read_committed, at a steady rate.  `kill`: two workers under a steady load, SIGKILL to one; the
pause is the time until each partition has an outcome of a change sent after the kill.  Every
committed outcome is counted beside what the changes demand; the figures of a run that is not
exact do not count.  The table holds medians, and headrace's figures as parts of each peer's.
About 35 minutes; with --quick four.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from bench import peers_table
from bench.cluster import Bench, Crew, bench, broker, percentile
from bench.neutral import check, kafka_streams
from bench.neutral.headrace_worker import topics
from bench.neutral.systems import System, systems
from bench.neutral.traffic import Outcomes, Traffic, fill, finish, pause_after, race
from bench.neutral.workload import expected
from bench.results import Recorder, parse, record_runs, versions_in
from bench.scaling import await_members
from bench.systems import PEERS
from streams.docs.markdown import grid
from streams.settings import Settings

FEWEST = 2000
"""The fewest events of a system that gets a part of them."""
KILL_AFTER_S = 10
QUICK = {"events": 10_000, "rounds": 1, "seconds": 4, "warm_up": 3}
Step = Callable[[Bench, System, argparse.Namespace, Recorder], None]


def throughput(env: Bench, system: System, options: argparse.Namespace, runs: Recorder) -> None:
    events = max(int(options.events * system.share), min(FEWEST, options.events))
    fill(env, events)
    with system.running(env) as process:
        with Outcomes(env, "read_uncommitted") as reader:
            rate = race(reader, events, process)
        with Outcomes(env) as reader:
            finish(reader, events, process)
    with Outcomes(env) as reader:
        values = reader.until_end(env)
    counts = check.count(values, expected(events))
    _record(runs, system, "throughput", counts, {"events": events, **rate._asdict()})


def latency(env: Bench, system: System, options: argparse.Namespace, runs: Recorder) -> None:
    with system.running(env) as process, Outcomes(env) as reader:
        first = options.rate * options.warm_up
        with Traffic(env, options.rate, process) as traffic:
            traffic.follow(reader, first + options.rate * options.seconds)
        traffic.complete(reader)
    counts = check.count(traffic.values, expected(len(traffic.sent)))
    last = first + options.rate * options.seconds
    numbers = [n for n in range(first, last) if n in traffic.arrived]
    times = [(traffic.arrived[n] - traffic.sent[n]) * 1000 for n in numbers]
    shares = {f"p{share}_ms": percentile(times, share / 100) for share in (50, 99)}
    _record(runs, system, "latency", counts, {"rate_per_s": options.rate, **shares})


def kill(env: Bench, system: System, options: argparse.Namespace, runs: Recorder) -> None:
    with (
        system.running(env, "one") as first,
        system.running(env, "two") as second,
        Outcomes(env) as reader,
    ):
        await_members(env, system.group(env), Crew([first, second]))
        with Traffic(env, options.rate, second) as traffic:
            traffic.follow(reader, options.rate * KILL_AFTER_S)
            first.process.kill()
            first.process.wait()
            killed_at = time.perf_counter()
            pause_s = pause_after(killed_at, traffic, reader, env.settings.partitions)
        traffic.complete(reader)
    counts = check.count(traffic.values, expected(len(traffic.sent)))
    figures = {"rate_per_s": options.rate, "pause_s": pause_s}
    _record(runs, system, "kill", counts, {**figures, **counts._asdict()}, duplicates=True)


def _record(
    runs: Recorder,
    system: System,
    step: str,
    counts: check.Count,
    figures: dict[str, int | float],
    *,
    duplicates: bool = False,
) -> None:
    """Record the figures if the outcomes are right, else what is wrong with them.

    duplicates: what is promised at least once may have been done again, from another state.
    """
    if counts.exact or (duplicates and system.repeats and not counts.losses):
        runs.add(system.name, step=step, delivery=system.delivery, **figures)
    else:
        runs.add(system.name, step=f"{step} wrong", **counts._asdict())


STEPS: dict[str, Step] = {"throughput": throughput, "latency": latency, "kill": kill}


def run(options: argparse.Namespace, runs: Recorder) -> None:
    """Run the chosen steps; record a system that fails in a step, and go on with the others."""
    chosen = _present(options, runs)
    with broker() as on:
        for step in options.steps:
            for _ in range(options.rounds):
                for system in chosen:
                    if step in system.steps:
                        _step(on, step, system, options, runs)


def _step(
    on: Settings, step: str, system: System, options: argparse.Namespace, runs: Recorder
) -> None:
    try:
        with bench(on, lambda prefix: topics(on.partitions, prefix)) as env:
            STEPS[step](env, system, options, runs)
    except (AssertionError, RuntimeError, TimeoutError) as exc:
        print(exc, flush=True)
        runs.add(system.name, step=f"{step} failed", why=str(exc).split("\n")[0])


def _present(options: argparse.Namespace, runs: Recorder) -> list[System]:
    """Return the systems that can run here; record why others cannot."""
    absent: dict[str, str] = {}
    peer_versions = versions_in(options.peers, "quixstreams", "confluent-kafka")
    runs.versions.update({f"{name} (peers)": version for name, version in peer_versions.items()})
    if not peer_versions:
        absent["Quix Streams"] = f"no quixstreams in {options.peers.name}"
    try:
        kafka_streams.build()
        runs.versions.update(kafka_streams.versions())
    except kafka_streams.NotBuilt as exc:
        absent["Kafka Streams"] = str(exc)
    for name, why in absent.items():
        runs.add(name, step="absent", why=why)
    known = [each for each in systems(options.peers) if each.name.startswith(options.only)]
    return [each for each in known if not any(each.name.startswith(name) for name in absent)]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="the backlog of each")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=100, help="changes a second")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=15, help="seconds")
    parser.add_argument("--peers", type=Path, default=PEERS, help="a Python with quixstreams")
    parser.add_argument("--steps", choices=tuple(STEPS), nargs="+", default=list(STEPS))
    parser.add_argument("--only", default="", help="systems whose names begin so")
    options = parse(parser, arguments, QUICK)
    began = time.monotonic()
    with record_runs("peers", __doc__, options) as runs:
        run(options, runs)
    print(f"\nin {time.monotonic() - began:.0f} s, medians:\n")
    print(grid(*peers_table.rows(runs.runs)))
    print(grid(*peers_table.ratios(runs.runs)))
    print(*peers_table.words(runs.runs), sep="\n")


if __name__ == "__main__":
    main()
