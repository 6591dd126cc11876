from __future__ import annotations

import gc
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.engine.store import DirectoryLock, Store, limit_block_cache, memory_use
from streams.errors import StateLocked, StoreFailed
from streams.settings import Settings
from tests.examples import example_count


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "db") as opened:
        yield opened


def test_writes_put_and_delete_at_once(store: Store) -> None:
    store.write({b"a": b"1", b"b": b"2"})
    store.write({b"a": None, b"c": b"", b"x": None})
    assert store.get_many([b"a", b"b", b"c", b"x", b"b"]) == [None, b"2", b"", None, b"2"]
    assert store.get_many([]) == []


def test_a_scan_stays_within_its_prefix(store: Store) -> None:
    store.write({key: key for key in (b"a\0x", b"b", b"b\0", b"b\0a", b"b\0b", b"b\0\xff", b"c\0")})
    assert [k for k, _ in store.scan(b"b\0")] == [b"b\0", b"b\0a", b"b\0b", b"b\0\xff"]
    assert [k for k, _ in store.scan(b"b\0", b"b\0aa")] == [b"b\0b", b"b\0\xff"]
    assert [k for k, _ in store.scan(b"b\0", reverse=True)] == [
        b"b\0\xff",
        b"b\0b",
        b"b\0a",
        b"b\0",
    ]
    assert [k for k, _ in store.scan(b"b\0", b"b\0aa", reverse=True)] == [b"b\0a", b"b\0"]
    assert list(store.scan(b"nothing")) == []
    assert list(store.scan(b"b\0", b"c\0", reverse=True)) == []


@settings(max_examples=example_count(50), deadline=None)
@given(
    rows=st.dictionaries(st.text(max_size=4).map(lambda t: b"t\0" + t.encode()), st.binary()),
    start=st.text(max_size=4).map(lambda t: b"t\0" + t.encode()),
)
def test_scans_are_in_key_order_both_ways(
    rows: dict[bytes, bytes], start: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with Store(tmp_path_factory.mktemp("db")) as store:
        store.write({b"s": b"", b"u": b"", **rows})
        assert list(store.scan(b"t\0")) == sorted(rows.items())
        assert list(store.scan(b"t\0", reverse=True)) == sorted(rows.items(), reverse=True)
        at = [item for item in sorted(rows.items()) if item[0] >= start]
        assert list(store.scan(b"t\0", start)) == at
        before = [item for item in sorted(rows.items(), reverse=True) if item[0] <= start]
        assert list(store.scan(b"t\0", start, reverse=True)) == before


def test_who_keeps_the_error_of_a_bad_block_does_not_keep_the_store(tmp_path: Path) -> None:
    rows = {b"k%05d" % n: b"%d" % n for n in range(20_000)}
    with Store(tmp_path / "db") as store:
        store.write(rows)
    for file in (tmp_path / "db").glob("*.sst"):
        data = file.read_bytes()
        file.write_bytes(data[:9000] + b"\xff" * 3000 + data[12000:])
    store = Store(tmp_path / "db")
    with pytest.raises(StoreFailed) as failure:
        list(store.scan(b"k"))
    store.close()
    with Store(tmp_path / "db") as again:
        assert list(again.scan(b"k")) == []
    assert "Corruption" in str(failure.value)


def test_rows_survive_closing(tmp_path: Path) -> None:
    with Store(tmp_path / "db") as store:
        store.write({b"a": b"1"})
    with Store(tmp_path / "db") as store:
        assert store.get(b"a") == b"1"


def test_what_does_not_open_says_so(tmp_path: Path) -> None:
    (tmp_path / "db").write_text("a file")
    with pytest.raises(StoreFailed, match="does not open"):
        Store(tmp_path / "db")


def test_a_bad_block_raises_and_the_store_is_removed_when_closed(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with Store(path) as store:
        store.write({b"k%05d" % n: b"%d" % n * 10 for n in range(5000)})
    for table in path.glob("*.sst"):
        data = table.read_bytes()
        table.write_bytes(data[:9000] + b"\xff" * 20_000 + data[29_000:])
    store = Store(path)
    with pytest.raises(StoreFailed, match="cannot be read"):
        list(store.scan(b"k"))
    store.close()
    assert not path.exists()


def test_a_directory_belongs_to_one_holder(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path / "state")
    with pytest.raises(StateLocked, match=r"in use by pid \d+"):
        DirectoryLock(tmp_path / "state")
    DirectoryLock(tmp_path / "other").release()
    lock.release()
    DirectoryLock(tmp_path / "state").release()


def test_a_snapshot_does_not_change(store: Store) -> None:
    store.write({b"a": b"1", b"b": b"2"})
    snapshot = store.snapshot()
    store.write({b"a": None, b"b": b"3", b"c": b"4"})
    assert snapshot.get_many([b"a", b"b", b"c", b"a"]) == [b"1", b"2", None, b"1"]
    assert list(snapshot.scan(b"")) == [(b"a", b"1"), (b"b", b"2")]
    assert [k for k, _ in snapshot.scan(b"", b"a\0", reverse=True)] == [b"a"]
    assert store.snapshot().get_many([b"a", b"b", b"c"]) == [None, b"3", b"4"]


def test_scans_of_a_snapshot_may_be_read_in_turns(store: Store) -> None:
    keys = [b"%02d" % n for n in range(20)]
    store.write(dict.fromkeys(keys, b"1"))
    snapshot = store.snapshot()
    store.write(dict.fromkeys(keys[::2]))
    up, down, part = snapshot.scan(b""), snapshot.scan(b"", reverse=True), snapshot.scan(b"1")
    met = [(next(up)[0], next(down)[0]) for _ in range(10)]
    assert met == list(zip(keys[:10], reversed(keys[10:]), strict=True))
    assert [[k for k, _ in snapshot.scan(a, a)] for a, _ in part] == [[k] for k in keys[10:]]
    assert ([k for k, _ in up], [k for k, _ in down]) == (keys[10:], keys[9::-1])


def test_a_snapshot_never_sees_half_of_a_write(store: Store) -> None:
    keys = [b"%02d" % n for n in range(50)]
    done = threading.Event()

    def write() -> None:
        number = 0
        while not done.is_set():
            number += 1
            store.write(dict.fromkeys(keys, b"%d" % number))

    store.write(dict.fromkeys(keys, b"0"))
    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(300):
        snapshot = store.snapshot()
        seen = {*snapshot.get_many(keys), *(row for _, row in snapshot.scan(b""))}
        assert len(seen) == 1
    done.set()
    writer.join()


def test_a_store_of_which_snapshots_are_read_is_not_opened_again(tmp_path: Path) -> None:
    with Store(tmp_path / "db") as store:
        store.write({b"a": b"1"})
        snapshot = store.snapshot()
    assert snapshot.get_many([b"a"]) == [b"1"]
    with pytest.raises(StateLocked):
        Store(tmp_path / "db")
    del snapshot
    with Store(tmp_path / "db") as store:
        assert store.get(b"a") == b"1"
    with pytest.raises(StoreFailed):
        store.snapshot()


def test_a_store_that_is_open_is_not_opened_again(tmp_path: Path) -> None:
    with Store(tmp_path / "db"), pytest.raises(StateLocked):
        Store(tmp_path / "db")


def _flushed(tmp_path: Path) -> Store:
    with Store(tmp_path / "db") as store:
        store.write({b"a": b"1"})
    return Store(tmp_path / "db")


@pytest.mark.parametrize("what", ["LOCK", "*.sst", "."])
def test_files_that_go_missing_are_noticed(tmp_path: Path, what: str) -> None:
    store = _flushed(tmp_path)
    assert store.damage() is None
    for path in [store.path] if what == "." else list(store.path.glob(what)):
        path.rename(tmp_path / "away")
    assert str(store.path) in (store.damage() or "")


def test_another_directory_of_that_name_is_noticed(tmp_path: Path) -> None:
    store = _flushed(tmp_path)
    store.path.rename(tmp_path / "away")
    with Store(tmp_path / "db2") as other:
        other.write({b"b": b"1"})
    (tmp_path / "db2").rename(store.path)
    assert "another directory" in (store.damage() or "")


def test_a_file_that_was_cut_is_noticed(tmp_path: Path) -> None:
    store = _flushed(tmp_path)
    (path,) = store.path.glob("*.sst")
    path.write_bytes(b"")
    assert str(path) in (store.damage() or "")


def test_compaction_is_no_damage(store: Store) -> None:
    for number in range(12):
        store.write({b"%d-%d" % (number, n): b"x" for n in range(50)})
        store.flush()
        assert store.damage() is None
    assert store.size_bytes() > 0


@pytest.fixture
def small_cache() -> Iterator[int]:
    size = 1 << 20
    limit_block_cache(0)  # what other tests have left
    limit_block_cache(size)
    yield size
    limit_block_cache(Settings().block_cache_mib << 20)


def test_stores_share_one_block_cache_and_its_limit(tmp_path: Path, small_cache: int) -> None:
    body = random.Random(1).randbytes(1000)
    for name in ("one", "two"):
        with Store(tmp_path / name) as store:
            store.write({b"row-%05d" % n: body + b"%d" % n for n in range(4000)})
    with Store(tmp_path / "one") as one, Store(tmp_path / "two") as two:
        for store in (one, two):
            assert len(list(store.scan(b"row-"))) == 4000
            assert small_cache / 2 < memory_use().block_cache < small_cache * 1.1


def test_large_rows_find_a_place_in_a_small_cache(tmp_path: Path, small_cache: int) -> None:
    with Store(tmp_path / "large") as store:
        store.write({b"row": random.Random(1).randbytes(small_cache // 5)})
    with Store(tmp_path / "large") as store:
        store.get(b"row")
        assert memory_use().block_cache > small_cache / 5


def test_write_buffers_are_counted_until_they_are_flushed(tmp_path: Path) -> None:
    gc.collect()  # stores that other tests left open
    before = memory_use().write_buffers
    with Store(tmp_path / "one") as one, Store(tmp_path / "two") as two:
        opened = memory_use().write_buffers
        for store in (one, two):
            store.write({b"row-%d" % n: bytes(10_000) for n in range(300)})
        assert memory_use().write_buffers - opened >= 2 * 300 * 10_000
    assert memory_use().write_buffers <= before
