from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.engine.store import DirectoryLock, Store
from streams.errors import StateLocked, StoreFailed


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


@settings(max_examples=50)
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
