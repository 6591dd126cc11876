"""What more workers, partitions and live keys do to the rate; headrace, then Quix Streams.
The peer asks headrace's codec and decision about one record at a time: compare each with itself.

python -m bench.scaling [--records N] [--peers PYTHON] [--only headrace|quix]
The decision is small here, so that the host shows: a record of 30 bytes is counted in the row of
its key and leaves one fact, exactly once in both (`tests.toy`).  Every key has its row before the
measured records come, drawn evenly over the keys, all at one moment, while the workers are held.
From one worker, four partitions and 10,000 keys one thing at a time is varied.  Workers and broker
share the machine's cores.
About nine minutes; with --quick three.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient

from bench.cluster import Bench, Crew, Rate, bench, broker, drain, worker
from bench.results import Recorder, parse, record_runs, versions_in
from bench.systems import PEERS
from bench.written import Uncommitted, uncommitted
from streams.engine.log import NewTopic
from streams.engine.records import Output
from streams.engine.task import group_of
from streams.settings import Settings
from tests.processes import wait_for
from tests.toy import FACTS, toy_record, toy_topics

LIMIT_S = 1200.0
AT_ONCE = 50_000
SEED = 7
QUICK = {"records": 20_000, "workers": [1, 2], "partitions": [4, 12], "keys": [2000, 10_000]}


@dataclass(frozen=True)
class Host:
    """A system under test.

    module: what to run.  share: the part of the records that it gets; a slower one gets fewer.
    """

    name: str
    module: str
    python: str
    group: Callable[[Settings], str]
    share: float


@dataclass(frozen=True)
class Point:
    workers: int
    partitions: int
    keys: int


def hosts(peers: Path) -> dict[str, Host]:
    def quix_group(settings: Settings) -> str:
        return f"{settings.prefix}quix"

    quix = "bench.quix exactly-once --processor counts"
    return {
        "headrace": Host("headrace", "tests.toy_worker", sys.executable, group_of, 1.0),
        "quix": Host("Quix Streams EO", quix, str(peers), quix_group, 0.25),
    }


def points(options: argparse.Namespace) -> list[Point]:
    """Return the points that vary one parameter at a time, from the first value of each."""
    base = Point(options.workers[0], options.partitions[0], options.keys[0])
    result = [base]
    result += [replace(base, workers=n) for n in options.workers[1:]]
    result += [replace(base, partitions=n) for n in options.partitions[1:]]
    result += [replace(base, keys=n) for n in options.keys[1:]]
    return result


def measure(
    on: Settings, host: Host, point: Point, records: int
) -> tuple[Rate, dict[str, int | float]]:
    """Return the rate, and the threads and open files of a worker that has the most of them."""
    settings = replace(on, partitions=point.partitions)
    with bench(settings, partial(topics, point.partitions)) as env, ExitStack() as stack:
        names = [f"worker-{number}" for number in range(point.workers)]
        crew = Crew([stack.enter_context(worker(env, host.module, n, host.python)) for n in names])
        reader = stack.enter_context(uncommitted(env, FACTS))
        await_members(env, host.group(env.settings), crew)
        _fill(env, point.keys, reader, crew)
        rnd = random.Random(SEED)
        drawn = [_record(env, rnd.randrange(point.keys)) for _ in range(records)]
        with crew.held():
            env.log.append(drawn)
        rate = drain(reader, records, crew, LIMIT_S)
        threads = max(each.threads() for each in crew.workers)
        return rate, {"threads": threads, "files": max(each.files() for each in crew.workers)}


def topics(partitions: int, prefix: str) -> list[NewTopic]:
    """Return the toy's topics with a higher size limit, which accepts batches of any client."""
    limit = {"max.message.bytes": str(4 << 20)}
    return [t._replace(config={**t.config, **limit}) for t in toy_topics(partitions, prefix)]


def await_members(env: Bench, group: str, crew: Crew) -> None:
    """Wait until the group is stable and has as many members as there are workers."""
    admin = AdminClient({"bootstrap.servers": env.settings.bootstrap, "log_level": 2})

    def settled() -> bool:
        assert not crew.ended(), "a worker has ended"
        try:
            group_info = admin.describe_consumer_groups([group])[group].result()
        except KafkaException:  # its coordinator is not known yet
            return False
        stable = group_info.state == ConsumerGroupState.STABLE
        return bool(stable and len(group_info.members) == len(crew.workers))

    wait_for(settled, f"{len(crew.workers)} members of {group}", 180, 0.2)


def _fill(env: Bench, keys: int, reader: Uncommitted, crew: Crew) -> None:
    """Write a row for each key."""
    last_report = time.monotonic()
    for first in range(0, keys, AT_ONCE):
        some = range(first, min(first + AT_ONCE, keys))
        env.log.append([_record(env, number) for number in some])
        drain(reader, len(some), crew, LIMIT_S)
        if time.monotonic() - last_report > 10:
            last_report = time.monotonic()
            print(f"    {first + len(some):,} of {keys:,} keys have their row", flush=True)


def _record(env: Bench, number: int) -> Output:
    return toy_record(f"key-{number:08d}", prefix=env.settings.prefix)


def scale(options: argparse.Namespace, runs: Recorder) -> None:
    peer_versions = versions_in(options.peers, "quixstreams", "confluent-kafka")
    runs.versions.update({f"{name} (peers)": version for name, version in peer_versions.items()})
    with broker() as on:
        for host in _chosen(options, runs, bool(peer_versions)):
            for point in points(options):
                at = asdict(point)
                records = int(options.records * host.share)
                try:
                    rate, resources = measure(on, host, point, records)
                except (AssertionError, RuntimeError, TimeoutError) as exc:
                    print(exc, flush=True)
                    runs.add(host.name, **at, failed=str(exc).split("\n")[0])
                    continue
                runs.add(
                    host.name,
                    **at,
                    records=records,
                    records_per_s=rate.per_s,
                    records_per_cpu_s=rate.per_cpu_s,
                    peak_mb=rate.peak_mb,
                    **resources,
                )


def _chosen(options: argparse.Namespace, runs: Recorder, peers: bool) -> Iterator[Host]:
    for name, host in hosts(options.peers).items():
        if options.only not in (None, name):
            continue
        if name == "quix" and not peers:
            runs.add(host.name, why=f"no quixstreams in {options.peers.name}")
            continue
        yield host


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000, help="headrace's; a peer's quarter")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--partitions", type=int, nargs="+", default=[4, 12, 48, 256])
    parser.add_argument("--keys", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--only", choices=("headrace", "quix"))
    parser.add_argument("--peers", type=Path, default=PEERS, help="a Python with quixstreams")
    options = parse(parser, arguments, QUICK)
    with record_runs("scaling", __doc__, options) as runs:
        scale(options, runs)


if __name__ == "__main__":
    main()
