from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.engine.store import Store
from streams.views.changes import Cell, MemoryStore, WriteBatch
from streams.views.keys import key, position_at_end

NAMES = ["a", "a\0", "b", "ü"]
KEYS = [key(name, number) for name in NAMES for number in (-1, 0, 1, 2**62)]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, MemoryStore]:
    """The same rows in RocksDB and in memory."""
    store, memory = Store(Path(tmp_path_factory.mktemp("store"))), MemoryStore()
    rows = WriteBatch(memory)
    rows.update({each: each[::-1] for each in KEYS})
    store.write(rows)
    memory.write(rows)
    return store, memory


@given(
    prefix=st.sampled_from([b"", *map(key, NAMES), b"zz"]),
    start=st.none() | st.sampled_from(KEYS),
    reverse=st.booleans(),
)
def test_memory_is_scanned_as_the_store_is(
    stores: tuple[Store, MemoryStore], prefix: bytes, start: bytes | None, reverse: bool
) -> None:
    store, memory = stores
    if start is not None and not start.startswith(prefix):
        start = None
    rows = list(memory.scan(prefix, start, reverse=reverse))
    assert rows == list(store.scan(prefix, start, reverse=reverse))


def test_the_rows_under_a_prefix_are_those_that_will_be_there() -> None:
    memory = MemoryStore()
    base = WriteBatch(memory)
    base.update({key("a", 1): b"1", key("a", 2): b"2", key("b", 1): b"3"})
    memory.write(base)
    rows = WriteBatch(memory)
    rows.update({key("a", 1): None, key("a", 2): b"new", key("a", 3): b"", key("b", 2): b"4"})
    assert dict(rows.under(key("a"))) == {key("a", 2): b"new", key("a", 3): b""}


def test_rows_are_read_through_what_is_changed() -> None:
    memory = MemoryStore()
    base = WriteBatch(memory)
    base.update({b"a": b"1", b"b": b"2"})
    memory.write(base)
    rows = WriteBatch(memory)
    rows.load([b"a", b"c"])
    assert [rows.read(each) for each in (b"a", b"b", b"c")] == [b"1", b"2", None]
    rows[b"a"] = None
    rows[b"c"] = b"3"
    assert [rows.read(each) for each in (b"a", b"b", b"c")] == [None, b"2", b"3"]
    memory.write(rows)
    assert memory.get_many([b"a", b"c"]) == [None, b"3"]


def test_the_last_row_of_an_index() -> None:
    memory = MemoryStore()
    prefix = key("at", "p")
    first, second, third = (prefix + key(n, 0, n) for n in (1, 2, 3))
    rows = WriteBatch(memory)
    assert rows.last(prefix) is None
    rows.index(prefix, first, b"")
    rows.index(prefix, third, b"")
    assert rows.last(prefix) == third
    memory.write(rows)
    rows = WriteBatch(memory)
    rows.index(prefix, second, b"")
    rows.index(prefix, third, None)
    assert rows.last(prefix) == second
    rows.index(prefix, second, None)
    assert rows.last(prefix) == first
    assert position_at_end(first) == (1, 0, 1)


def test_a_cell_is_read_once_and_becomes_a_row_in_the_end() -> None:
    memory = MemoryStore()
    base = WriteBatch(memory)
    base[b"a"] = b"1"
    memory.write(base)
    rows = WriteBatch(memory)
    count = Cell[list[int]](
        lambda row: [int(row or b"0")], lambda cell: b"%d" % cell[0] if cell[0] else None
    )
    rows.cell(b"a", count)[0] += 2
    rows.cell(b"a", count)[0] += 4
    rows.cell(b"b", count)[0] += 1
    rows.cell(b"b", count)[0] -= 1
    assert rows == {}
    assert rows.settle() == {b"a": b"7", b"b": None}
