"""RocksDB is a cache of the changelog: whatever happens to it, the same rows come back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from streams.engine import state
from streams.errors import StoreFailed
from tests.contract.driver import Driver
from tests.contract.test_task import OpenTask, seen, send
from tests.contract.twins import Twin
from tests.toy import ROWS
from topology.core import CHANGELOG
from topology.retention import DELETE_RETENTION_MS, HOUR_MS

Rows = dict[str, dict[bytes, bytes]]


def filled(twin: Twin, task: OpenTask) -> Rows:
    """A closed task with rows in all tables; returns them."""
    send(twin, *(f"k{n}" for n in range(30)), timer=90_000_000)
    send(twin, "k3", "k4", answer=1)
    with task() as driver:
        driver.drain()
        return driver.rows()


def spoil(path: Path, pattern: str, change: Callable[[bytes], bytes]) -> None:
    files = list((path / "state" / "0").glob(pattern))
    assert files
    for file in files:
        file.write_bytes(change(file.read_bytes()))


@pytest.mark.parametrize(
    ("pattern", "change"),
    [
        ("CURRENT", lambda data: b"rubbish"),
        ("MANIFEST-*", lambda data: data[: len(data) // 2]),
        ("MANIFEST-*", lambda data: b""),
        ("*.sst", lambda data: data[:-20]),
        ("*.sst", lambda data: bytes(b ^ 0xFF for b in data)),
    ],
    ids=["current", "half-manifest", "empty-manifest", "short-table", "garbled-table"],
)
def test_a_directory_that_does_not_open_is_rebuilt(
    twin: Twin,
    task: OpenTask,
    tmp_path: Path,
    pattern: str,
    change: Callable[[bytes], bytes],
) -> None:
    rows = filled(twin, task)
    spoil(tmp_path, pattern, change)
    with task() as rebuilt:
        assert rebuilt.rows() == rows
        rebuilt.drain()
        assert rebuilt.cycles == 0


def test_a_bad_block_met_while_running_is_gone_after_opening_again(
    twin: Twin, task: OpenTask, tmp_path: Path
) -> None:
    """It opens, and its position can be read; only the rows cannot."""
    send(twin, *(f"k{n:05}" for n in range(4000)))
    with task() as driver:
        driver.drain()
        rows = driver.rows()
    spoil(tmp_path, "*.sst", lambda data: data[:9000] + b"\xff" * 30000 + data[39000:])
    opened: list[Driver] = []

    def all_rows() -> Rows:
        opened.append(task())
        with opened[-1] as driver:
            return driver.rows()

    try:
        rows_again = all_rows()
    except StoreFailed:
        rows_again = all_rows()
    assert rows_again == rows


@pytest.mark.parametrize("missing", [False, True])
def test_a_directory_that_is_gone_is_rebuilt(
    twin: Twin, task: OpenTask, tmp_path: Path, missing: bool
) -> None:
    rows = filled(twin, task)
    shutil.rmtree(tmp_path / "state" / "0")
    if not missing:
        (tmp_path / "state" / "0").mkdir()
    with task() as rebuilt:
        assert rebuilt.rows() == rows


def test_another_row_format_is_rebuilt(
    twin: Twin, task: OpenTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = filled(twin, task)
    monkeypatch.setattr(state, "ROW_FORMAT", 2)
    with task() as rebuilt:
        assert rebuilt.task.restored > 30
        assert rebuilt.rows() == rows


def test_the_store_of_another_cluster_is_not_used(
    twin: Twin, task: OpenTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = filled(twin, task)
    monkeypatch.setattr(twin.log, "cluster_id", lambda: "another")
    with task() as rebuilt:
        assert rebuilt.task.restored > 30
        assert rebuilt.rows() == rows


def test_the_table_of_a_changelog_created_again_is_rebuilt(twin: Twin, task: OpenTask) -> None:
    rows = filled(twin, task)
    twin.recreate(ROWS)
    with task() as rebuilt:
        assert rebuilt.rows() == rows | {"toy.rows": {}}
        send(twin, "k1")
        rebuilt.drain()
    assert seen(twin)[-1] == "k11"


def test_a_position_below_the_start_of_the_changelog_is_rebuilt(
    twin: Twin, task: OpenTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has not read may be gone, and with it tombstones: nothing of it can be trusted."""
    send(twin, "a", timer=90_000_000)
    with task() as driver:
        driver.drain()
    shutil.copytree(tmp_path / "state", tmp_path / "old")
    send(twin, "a", answer=1)
    with task() as driver:
        driver.drain()
    rows = twin.tp(ROWS)
    end = twin.high_watermark(rows)
    send(twin, "b")
    with task() as driver:
        driver.drain()
    starts = twin.log.starts
    monkeypatch.setattr(  # Kafka refuses to cut a compacted topic
        twin.log, "starts", lambda tps: {**starts(tps), **({rows: end} if rows in tps else {})}
    )
    with task("old") as rebuilt:
        assert list(rebuilt.rows()["toy.rows"]) == [b"b"]


@pytest.mark.parametrize(("late_ms", "rebuilt"), [(-HOUR_MS, False), (HOUR_MS, True)])
def test_a_store_behind_for_longer_than_tombstones_last_is_rebuilt(
    twin: Twin, task: OpenTask, tmp_path: Path, late_ms: int, rebuilt: bool
) -> None:
    filled(twin, task)
    shutil.copytree(tmp_path / "state", tmp_path / "old")
    send(twin, "k5", answer=1)
    with task() as driver:
        driver.drain()
        rows = driver.rows()
    twin.pass_ms(DELETE_RETENTION_MS + late_ms)
    with task("old") as old:
        assert (old.task.restored > 30) is rebuilt
        assert old.rows() == rows


def test_the_changelog_holds_what_the_store_holds(twin: Twin, task: OpenTask) -> None:
    rows = filled(twin, task)
    latest = {r.key: r.value for r in twin.read(CHANGELOG)}
    live = {f"{t}\0".encode() + k: v for t in rows if t != "toy.rows" for k, v in rows[t].items()}
    assert {key: value for key, value in latest.items() if value is not None} == live
    public = {r.key: r.value for r in twin.read(ROWS)}
    assert public == rows["toy.rows"]
