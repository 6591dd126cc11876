"""headrace, stock Faust and Quix Streams on the same packets, with the same codec and decision.
Peers ask headrace's processor about one record at a time, as their interfaces have it, and what a
call costs beside the decision is part of their figures.

python -m bench [--packets N] [--rounds N] [--rate N] [--seconds N] [--killed N] [--steps STEP ...]
Of each, in turn and on one broker: `throughput` over a backlog that is there before it starts
(records as they are written, between the first and the last); `latency` from producing a packet to
reading its verdict, read_committed, at a steady rate; `kill`: SIGKILL once half of the facts are
written, a new start, and then the committed verdicts counted by command; `restore`: the empty
state directory filled from what that run left in the changelogs, timed as each system tells it
(headrace by its metric, Faust and Quix Streams between assignment and the end of recovery), so
that what a system takes however little there is weighs on a small state.  The table holds medians.
About twelve minutes; with --quick four.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from bench import latency
from bench.cluster import Bench, Rate, bench, broker, drain, percentile
from bench.comparison_table import rows
from bench.packets import outputs
from bench.results import Recorder, parse, record_runs, versions_in
from bench.systems import PEERS, System, restored, restoring, systems
from bench.written import account, goes_on, settle, uncommitted
from streams.docs.markdown import grid
from streams.settings import Settings
from topology.apc import APC_EVENTS

WARM_UP_S = 20
"""The warm-up of one system; the broker is warm by then."""
Step = Callable[[Settings, System, argparse.Namespace, Recorder], None]
LIMIT_S = 600.0
QUIET_S = 90.0
"""Verdicts that are missing after this silence are lost; it exceeds every session timeout."""
QUICK = {"packets": 8000, "rounds": 1, "seconds": 5, "warm_up": 3, "killed": 6000}


def throughput(on: Settings, system: System, packets: int) -> Rate:
    """Measure the rate on new topics; all packets are sent before the process under test starts."""
    with bench(on) as env:
        env.log.append(outputs(packets, env.settings.prefix))
        with system.running(env) as process, uncommitted(env, APC_EVENTS) as reader:
            return drain(reader, packets, process, LIMIT_S)


def steady(on: Settings, system: System, options: argparse.Namespace) -> list[float]:
    """Return the latency of each packet behind the warm-up, in ms."""
    with bench(on) as env, system.running(env) as process:
        first = outputs(50, env.settings.prefix, seed=1)
        env.log.append(first)
        settle(env, len(first), process, LIMIT_S, QUIET_S)
        return latency.measure(env, options.rate, options.seconds, 2, options.warm_up)


def killed(on: Settings, system: System, options: argparse.Namespace, runs: Recorder) -> None:
    """Kill the process, count duplicates and losses, then measure the restore of what is left."""
    packets = options.killed
    with bench(on) as env:
        env.log.append(outputs(packets, env.settings.prefix))
        with system.running(env) as process, uncommitted(env, APC_EVENTS) as reader:
            drain(reader, packets // 2, process, LIMIT_S)
            process.process.kill()
            process.process.wait()
        with system.running(env) as process:
            pause = settle(env, packets, process, LIMIT_S, QUIET_S)
        counts = account(env, packets)
        runs.add(
            system.name,
            step="kill",
            packets=packets,
            duplicates=counts.duplicates,
            losses=counts.losses,
            pause_s=-1.0 if pause is None else pause,
        )
        _restore(env, system, runs)


def _restore(env: Bench, system: System, runs: Recorder) -> None:
    with restoring(env, system) as process:
        goes_on(env, process, outputs(int(QUIET_S), env.settings.prefix, seed=3), LIMIT_S)
        got = restored(env, system, process)
    runs.add(
        system.name,
        step="restore",
        records=got.records,
        restore_s=got.seconds,
        records_per_s=got.records / max(got.seconds, 1e-9),
    )


def timed(on: Settings, system: System, options: argparse.Namespace, runs: Recorder) -> None:
    took = steady(on, system, options)
    shares = {f"p{share}_ms": percentile(took, share / 100) for share in (50, 99)}
    runs.add(system.name, step="latency", rate_per_s=options.rate, **shares)


def rated(on: Settings, system: System, options: argparse.Namespace, runs: Recorder) -> None:
    rate = throughput(on, system, options.packets)
    runs.add(
        system.name,
        step="throughput",
        delivery=system.delivery,
        packets=options.packets,
        packets_per_s=rate.per_s,
        packets_per_cpu_s=rate.per_cpu_s,
        peak_mb=rate.peak_mb,
    )


STEPS: dict[str, Step] = {"throughput": rated, "latency": timed, "kill": killed}


def compare(options: argparse.Namespace, runs: Recorder) -> None:
    """Run the chosen steps; record a system that fails in a step, and go on with the others."""
    peer_versions = versions_in(options.peers, "quixstreams", "confluent-kafka")
    runs.versions.update({f"{name} (peers)": version for name, version in peer_versions.items()})
    if not peer_versions:
        runs.add("Quix Streams", step="absent", why=f"no quixstreams in {options.peers.name}")
    chosen = [s for s in systems(options.peers) if peer_versions or s.python != str(options.peers)]
    rounds = {"throughput": options.rounds}
    with broker() as on:
        for step in options.steps:
            for _ in range(rounds.get(step, 1)):
                for system in chosen:
                    try:
                        STEPS[step](on, system, options, runs)
                    except (RuntimeError, TimeoutError) as exc:
                        print(exc, flush=True)
                        runs.add(system.name, step=f"{step} failed", why=str(exc).split("\n")[0])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=40_000, help="the backlog of each")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=50, help="packets a second")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--warm-up", type=int, default=WARM_UP_S, help="seconds")
    parser.add_argument("--killed", type=int, default=30_000, help="packets of the kill")
    parser.add_argument("--peers", type=Path, default=PEERS, help="a Python with quixstreams")
    parser.add_argument("--steps", choices=tuple(STEPS), nargs="+", default=list(STEPS))
    options = parse(parser, arguments, QUICK)
    began = time.monotonic()
    with record_runs("comparison", __doc__, options) as runs:
        compare(options, runs)
    print(f"\nin {time.monotonic() - began:.0f} s, medians:\n")
    print(grid(*rows(runs.runs)))


if __name__ == "__main__":
    main()
