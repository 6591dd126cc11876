"""Files of a RocksDB that are damaged under the worker that has it open.

They are a cache of the changelog.  What is bad is noticed by its checksum before anything is
decided from it; the task opens again by itself, and its rows come back from the log.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from streams.engine.records import Output
from streams.engine.worker import worker_directory
from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.chaos.workers import Worker
from tests.toy import FACTS

pytestmark = pytest.mark.slow

IDS = 5000
"""So many that the rows of each task fill a dozen blocks and more."""
LONG, LONG_IDS = "x" * 12_000, 1000
"""Rows that are more than RocksDB keeps in memory."""
FAR_MS = 100_000_000


def garble(file: Path, start: int, end: int) -> None:
    """In place, so that who has it open reads it."""
    with file.open("r+b") as opened:
        opened.seek(start)
        bad = bytes(byte ^ 0xFF for byte in opened.read(end - start))
        opened.seek(start)
        opened.write(bad)


def store_of(cluster: Cluster, task: int) -> Path:
    return worker_directory(cluster.settings_of("only")) / str(task)


def files_of(cluster: Cluster, task: int) -> list[Path]:
    """That hold its rows."""
    files = list(store_of(cluster, task).glob("*.sst"))
    assert files, f"no row of task {task} lies in a file"
    return files


def on_files(cluster: Cluster) -> Worker:
    """In place of the one that runs, a worker that has all rows in files, and none in memory."""
    cluster.end_all()
    worker = cluster.start("only")
    worker.wait_ready(*range(PARTITIONS))
    return worker


def long_ones(cluster: Cluster, task: int) -> list[Output]:
    """For one task, to have it write a file."""
    return [cluster.record(f"{n}-{LONG}")._replace(partition=task) for n in range(LONG_IDS)]


def whys(worker: Worker, task: int) -> list[str]:
    """Why the task was closed to be opened again, each time."""
    mark = f"task {task} is closed and opens again"
    return [line for line in worker.text().splitlines() if mark in line]


@pytest.mark.parametrize("end", ["ends", "is killed"])
def test_a_worker_goes_on_though_its_files_are_damaged_and_so_does_the_next(
    cluster: Cluster, dice: random.Random, end: str
) -> None:
    cluster.send_counts(8000, dice, IDS)
    cluster.start("only")
    cluster.drain()
    worker = on_files(cluster)
    garbled, short, missing, bare = dice.sample(range(PARTITIONS), 4)
    for file in files_of(cluster, garbled):
        garble(file, 0, file.stat().st_size)
    for file in files_of(cluster, short):
        os.truncate(file, file.stat().st_size // 2)
    for file in files_of(cluster, missing):
        file.unlink()
    shutil.rmtree(store_of(cluster, bare))

    cluster.send_counts(8000, dice, IDS)
    cluster.send(long_ones(cluster, bare))
    cluster.drain()
    assert worker.running
    for task in (garbled, short):
        (why,) = whys(worker, task)
        assert "Corruption" in why
    assert "No such file or directory" in whys(worker, bare)[0]

    cluster.send_counts(4000, dice, IDS)
    if end == "ends":
        worker.end()
    else:
        worker.kill()
    worker = cluster.start("only")
    cluster.drain()
    rebuilt = f"store {store_of(cluster, missing)} is rebuilt from its changelog"
    assert rebuilt in worker.text()
    worker.end()
    exact.check(cluster)
    exact.check_stores(cluster, "only")


def test_a_worker_goes_on_though_timers_lie_in_bad_blocks(cluster: Cluster) -> None:
    """After a commit the next timer is looked for: where that fails, no row was read wrong."""
    timed = [f"t{n:05}" for n in range(6000)]
    cluster.send([cluster.record(ident, timer=FAR_MS + n) for n, ident in enumerate(timed)])
    cluster.start("only")
    cluster.tail(FACTS).until(len(timed))
    worker = on_files(cluster)
    for task in range(PARTITIONS):
        for file in files_of(cluster, task):  # which begins with timers; some are in memory by now
            garble(file, 4096, file.stat().st_size // 6)
    cluster.send([cluster.record(ident, answer=1) for ident in timed])
    cluster.drain()
    assert worker.running
    for task in range(PARTITIONS):
        (why,) = whys(worker, task)
        assert "Corruption" in why
    worker.end()
    facts = exact.check(cluster)
    assert {fact.id for fact in facts if fact.kind == "answered"} == set(timed)
    exact.check_stores(cluster, "only")


def test_a_worker_goes_on_though_its_state_directory_is_deleted(
    cluster: Cluster, dice: random.Random
) -> None:
    """It needs nothing of it before it writes a file: here, of one task."""
    cluster.send_counts(4000, dice, IDS)
    worker = cluster.start("only")
    cluster.drain()
    cluster.delete_state("only")
    full = dice.randrange(PARTITIONS)
    cluster.send(long_ones(cluster, full))
    cluster.send_counts(4000, dice, IDS)
    cluster.drain()
    assert [task for task in range(PARTITIONS) if whys(worker, task)] == [full]
    worker.end()
    cluster.send_counts(1000, dice, IDS)
    worker = cluster.start("only")
    cluster.drain()
    worker.end()
    exact.check(cluster)
    exact.check_stores(cluster, "only")
