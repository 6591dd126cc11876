"""The position in the writer's folder: what a restart reads, and when it reads the whole log."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from streams.engine.records import Record
from streams.ops.tlog.batches import EntrySequence
from streams.ops.tlog.errors import LogRolledBack
from streams.ops.tlog.position import LogPosition
from streams.ops.tlog.tile_directory import POSITION
from tests.unit.ops.tlog.logged import ENTRIES, Logged

COUNTS = (200, 107, 5)


@pytest.fixture
def logged(tmp_path: Path) -> Logged:
    """Return a log of three rounds, each of one batch."""
    system = Logged(tmp_path)
    for count in COUNTS:
        system.write_facts(count)
        run_round(system)
    return system


def run_round(logged: Logged) -> None:
    with logged.writer() as writer:
        writer.round()


@pytest.fixture
def batches_read(logged: Logged, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the offsets of the batches that are read from now on."""
    offsets: list[int] = []
    read = EntrySequence.read

    def count(state: EntrySequence, record: Record) -> list[bytes]:
        offsets.append(record.offset)
        return read(state, record)

    monkeypatch.setattr(EntrySequence, "read", count)
    return offsets


def position_of(logged: Logged) -> LogPosition:
    position = LogPosition.parse((logged.folder / POSITION).read_bytes())
    assert position is not None
    return position


def test_a_restart_reads_only_the_batches_after_the_position(
    logged: Logged, batches_read: list[int]
) -> None:
    position = (logged.folder / POSITION).read_bytes()
    run_round(logged)
    assert batches_read == []
    logged.write_facts(3)
    run_round(logged)
    (logged.folder / POSITION).write_bytes(position)
    run_round(logged)
    assert set(batches_read) == {position_of(logged).offset - 1}
    logged.check()


def test_the_position_says_what_the_log_says(logged: Logged) -> None:
    position = position_of(logged)
    logged.writer().__enter__().__exit__(None, None, None)
    whole = EntrySequence(position.origin, ())
    whole.append(logged.lines())
    assert position.size == sum(COUNTS)
    assert (position.edge, position.due) == (tuple(whole.edge.roots), whole.due)
    assert position_of(logged)._replace(heads_offset=0) == position._replace(heads_offset=0)


def change_member(name: str, value: object) -> Callable[[Logged], None]:
    def change(logged: Logged) -> None:
        path = logged.folder / POSITION
        path.write_text(json.dumps({**json.loads(path.read_bytes()), name: value}))

    return change


def change_file(name: str, place: int = -2) -> Callable[[Logged], None]:
    def change(logged: Logged) -> None:
        data = bytearray((logged.folder / name).read_bytes())
        data[place] ^= 1
        (logged.folder / name).write_bytes(data)

    return change


def remove_file(name: str) -> Callable[[Logged], None]:
    return lambda logged: (logged.folder / name).unlink()


@pytest.mark.parametrize(
    "damage",
    [
        remove_file(POSITION),
        change_file(POSITION),
        change_member("size", 299),
        change_member("size", "x"),
        change_member("partitions", []),
        change_member("edge", ["AA=="]),
        change_member("offset", 10_000),
        change_member("offset", 1),
        change_member("heads_offset", 10_000),
        change_member("batch_sha256", "0" * 64),
        change_member("origin", "other.example"),
        change_file("tile/0/001.p/56"),
        change_file("tile/1/000.p/1"),
        change_file("tile/entries/001.p/56"),
        remove_file("tile/0/001.p/56"),
        remove_file("tile/entries/001.p/56"),
    ],
)
def test_whatever_is_damaged_the_whole_log_is_read(
    logged: Logged, batches_read: list[int], damage: Callable[[Logged], None]
) -> None:
    damage(logged)
    run_round(logged)
    assert len(set(batches_read)) == len(COUNTS)
    before = position_of(logged)
    logged.write_facts(2)
    run_round(logged)
    logged.check()
    assert position_of(logged).size == before.size + 2 == sum(COUNTS) + 2


def test_a_damaged_full_tile_does_not_make_a_head_look_forged(
    logged: Logged, batches_read: list[int]
) -> None:
    change_member("heads_offset", 0)(logged)
    change_file("tile/0/000", 0)(logged)
    run_round(logged)
    assert len(set(batches_read)) == len(COUNTS)
    logged.check()


def test_a_log_without_its_beginning_is_refused(logged: Logged) -> None:
    logged.log.truncate(ENTRIES, 1)
    with pytest.raises(LogRolledBack):
        run_round(logged)
