"""Test `headrace export parquet` as a process on a real Kafka, killed again and again."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from streams.engine.records import Record
from tests.integration.test_sink import Cluster, Writer
from tests.processes import environ_of, wait_for

pytestmark = pytest.mark.slow
TOPICS = "saop.log,rtes.events"
RECORDS, KILLS = 8_000, 5


@pytest.fixture
def cluster(broker: str) -> Iterator[Cluster]:
    cluster = Cluster(broker)
    yield cluster
    cluster.close()


def start(cluster: Cluster, path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "streams.cli", "export", "parquet", "--into", str(path)]
    return subprocess.Popen(
        [*command, "--topics", TOPICS, "--offsets-per-file", "100"],
        env=environ_of(cluster.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def file_count(path: Path) -> int:
    return sum(1 for _ in path.rglob("*.parquet"))


def test_each_record_is_exported_once_over_kills(cluster: Cluster, tmp_path: Path) -> None:
    """DuckDB and polars read the same figures from the files."""
    pytest.importorskip("pyarrow", reason="needs pip install 'headrace[analytics]'")
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    path, seed = tmp_path / "lake", random.randrange(2**32)
    scans, stopped = [0], threading.Event()
    scanning = threading.Thread(target=scan, args=(path, scans, stopped))
    scanning.start()
    chance = random.Random(seed)
    writer, killed = Writer(cluster.prefix, chance), 0
    for _ in range(KILLS):
        for _ in range(RECORDS // KILLS // 200):
            cluster.commit(writer.some(200))
        process = start(cluster, path)
        target = file_count(path) + chance.randint(1, 8)
        wait_for(
            partial(has_files_or_ended, path, target, process), f"{target} files of seed {seed}"
        )
        process.kill()
        process.communicate(timeout=60)
        killed += process.returncode == -signal.SIGKILL
    stopped.set()
    scanning.join()
    assert scans[0] > 0, "a reader has met what is no whole file, or a record twice"
    assert killed, f"every export ended before it was killed, with seed {seed}"
    for count in (1, 0):
        process = start(cluster, path)
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
        assert count or "exported 0 records of 2 topics" in output
    records = cluster.records()
    for topic in TOPICS.split(","):
        expected = sorted(
            (each.partition, each.offset) for each in records if is_of(cluster, topic, each)
        )
        pattern = f"{path}/records/{topic}/*/*.parquet"
        query = f"SELECT _partition, _offset FROM '{pattern}' ORDER BY ALL"
        with duckdb.connect() as connection:
            assert connection.execute(query).fetchall() == expected
        frame = polars.scan_parquet(pattern).select("_partition", "_offset").collect()
        assert sorted(frame.rows()) == expected


def scan(path: Path, scans: list[int], stopped: threading.Event) -> None:
    """Read all files again and again, until one is torn or a record is there twice."""
    import pyarrow.parquet as pq

    while not stopped.is_set():
        for topic in TOPICS.split(","):
            rows: list[tuple[int, int]] = []
            for file in (path / "records" / topic).glob("*/*.parquet"):
                table = pq.read_table(file, columns=["_partition", "_offset"])
                rows += zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
            if len(rows) != len(set(rows)):
                scans[0] = -(2**62)
        scans[0] += 1


def has_files_or_ended(path: Path, count: int, process: subprocess.Popen[str]) -> bool:
    return file_count(path) >= count or process.poll() is not None


def is_of(cluster: Cluster, topic: str, record: Record) -> bool:
    return record.topic == cluster.prefix + topic
