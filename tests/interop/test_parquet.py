"""Programs that nobody of us wrote read an export: each sees the same rows, with every digit."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from schemas import decode
from streams.engine.records import TopicPartition
from streams.ops.broker.kafka_distribution import java
from tests.interop.maven import HERE, files_of
from tests.interop.python_tools import PythonTools
from tests.unit.analytics.lake import files, run
from tests.unit.analytics.test_lineage_figures import log_of
from tests.unit.protocols.apc.queries.facts import story
from topology.apc import APC_EVENTS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
pytest.importorskip("pyarrow", reason="needs pip install 'headrace[analytics]'")
TOPIC = APC_EVENTS.name
RUN_LIMIT_S = 240
Row = tuple[int, int, float | None, int | None]
"""Partition, offset, the score of a TRANSFER's sender, and how many recipients its packet has."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an export of many small files."""
    path = tmp_path_factory.mktemp("exported") / "lake"
    run(LOG, path, TOPIC, offsets_per_file=16)
    assert len(files(path, TOPIC)) > 3
    return path


LOG = log_of(story(11, 80))


def expected() -> list[Row]:
    """Return the rows by our own decoder."""
    rows = []
    for partition in range(2):
        for record in LOG.slots(TopicPartition(TOPIC, partition)):
            assert record is not None
            packet = decode(record.value, APC_EVENTS.record or "").value["packet"]
            rows.append((record.partition, record.offset, *_of(packet)))
    assert sum(row[2] is not None for row in rows) > 5
    return rows


def _of(packet: Any) -> tuple[float | None, int | None]:
    if packet is None:
        return None, None
    name, payload = packet["payload"]
    is_transfer = name.endswith("TransferPayload")
    return payload["sender_score"] if is_transfer else None, len(packet["recipients"])


def rows_of(values: Iterable[Any]) -> list[Row]:
    """Return the rows of records whose members are nested as in the schema."""
    rows = []
    for value in values:
        packet = value["packet"]
        transfer = packet and packet["payload"]["TransferPayload"]
        score = transfer["sender_score"] if transfer else None
        recipients = packet and len(packet["recipients"])
        rows.append((value["_partition"], value["_offset"], score, recipients))
    return rows


def pattern(lake: Path) -> str:
    return f"{lake}/records/{TOPIC}/*/*.parquet"


def test_pyarrow(lake: Path) -> None:
    import pyarrow.parquet as pq

    tables = [pq.read_table(file) for file in files(lake, TOPIC)]
    assert sorted(rows_of(row for table in tables for row in table.to_pylist())) == expected()


def test_polars(lake: Path) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.scan_parquet(pattern(lake)).select("_partition", "_offset", "packet").collect()
    assert sorted(rows_of(frame.iter_rows(named=True))) == expected()


def test_an_older_duckdb(lake: Path, tmp_path: Path) -> None:
    tools = PythonTools(tmp_path, "duckdb-cli==1.5.6")
    query = (
        "SELECT _partition, _offset, packet.payload.TransferPayload.sender_score AS score,"
        f" len(packet.recipients) AS recipients FROM '{pattern(lake)}' ORDER BY ALL"
    )
    ran = tools.run("duckdb", "-json", "-c", query)
    assert ran.returncode == 0, ran.stderr
    names = ("_partition", "_offset", "score", "recipients")
    assert [tuple(row[name] for name in names) for row in json.loads(ran.stdout)] == expected()


def test_datafusion(lake: Path, tmp_path: Path) -> None:
    tools = PythonTools(tmp_path, "datafusion==55.0.0")
    script = HERE / "parquet/datafusion_rows.py"
    ran = tools.run("python", str(script), f"{lake}/records/{TOPIC}/")
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert sorted(map(tuple, json.loads(ran.stdout))) == expected()


COLUMNS = ("_partition", "_offset", "_key", "rule", "at")


def test_apaches_own_reader_in_java(lake: Path, tmp_path: Path) -> None:
    """Read columns that are no records: parquet-cli fails at nullable ones, whoever wrote them."""
    paths = files_of(HERE / "parquet/pom.xml", tmp_path)
    main = "org.apache.parquet.cli.Main"
    options = [part for column in COLUMNS for part in ("--column", column)]
    rows: list[Any] = []
    for file in files(lake, TOPIC):
        ran = subprocess.run(
            [java(), "-Xmx512m", "-cp", ":".join(paths), main, "cat", *options, str(file)],
            capture_output=True,
            text=True,
            timeout=RUN_LIMIT_S,
            check=False,
        )
        assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]
        rows += map(json.loads, ran.stdout.splitlines())
    assert sorted((row["_partition"], row["_offset"], row["rule"]) for row in rows) == rules()


def rules() -> list[tuple[int, int, str]]:
    """Return the rule of each record by our own decoder."""
    return [
        (
            record.partition,
            record.offset,
            decode(record.value, APC_EVENTS.record or "").value["rule"],
        )
        for partition in range(2)
        for record in LOG.slots(TopicPartition(TOPIC, partition))
        if record is not None
    ]
