"""A limit on the rows of copied tables leaves out the groups that were written longest ago."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.engine.copy_limits import CopyLimit, LimitStatus
from streams.engine.rows import Bytes, store_key
from streams.engine.store import Store
from tests.examples import example_count
from topology.sap import SAP_CACHE_TABLE, SAP_STORED_VERSIONS, SAP_TASK_STATES_TABLE

TABLES = (SAP_CACHE_TABLE, SAP_STORED_VERSIONS)
ELSEWHERE = store_key(SAP_TASK_STATES_TABLE.name, "a/1")


def row(table: int, group: str, number: int) -> bytes:
    return store_key(TABLES[table].name, f"{group}/{number}")


def stored(store: Store) -> set[bytes]:
    return {key for table in TABLES for key, _ in store.scan(store_key(table.name, ""))}


def write(limit: CopyLimit, store: Store, rows: Bytes) -> None:
    store.write({**rows, **limit.apply(rows, store)})


def test_the_group_with_the_oldest_last_row_goes_with_all_its_rows(tmp_path: Path) -> None:
    size = len(row(0, "a", 1)) + 100
    with Store(tmp_path) as store:
        limit = CopyLimit("LIMIT", 4 * size, TABLES)
        for group, number in (("a", 1), ("b", 1), ("a", 2), ("c", 1)):
            write(limit, store, {row(0, group, number): bytes(100), ELSEWHERE: bytes(9000)})
        write(limit, store, {row(0, "c", 2): bytes(100)})
        assert stored(store) == {row(0, *one) for one in (("a", 1), ("a", 2), ("c", 1), ("c", 2))}
        write(limit, store, {row(0, "d", 1): bytes(100)})
        assert stored(store) == {row(0, *one) for one in (("c", 1), ("c", 2), ("d", 1))}
        assert limit.status() == LimitStatus("LIMIT", 3 * size, 2)
        assert store.get(ELSEWHERE) == bytes(9000)


def test_the_group_goes_from_all_tables(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        limit = CopyLimit("LIMIT", 300, TABLES)
        write(limit, store, {row(0, "a", 1): bytes(50), row(1, "a", 1): bytes(50)})
        write(limit, store, {row(1, "b", 1): bytes(150)})
        assert stored(store) == {row(1, "b", 1)}


def test_a_smaller_limit_counts_when_the_copy_is_opened(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        write(CopyLimit("LIMIT", 10_000, TABLES), store, {row(0, "a", n): b"x" for n in range(9)})
        limit = CopyLimit("LIMIT", 20, TABLES)
        store.write(limit.load(store))
        assert stored(store) == set()
        assert limit.status() == LimitStatus("LIMIT", 0, 1)


STEPS = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from("abcd"), st.integers(0, 400), st.booleans()),
    max_size=30,
)


@settings(max_examples=example_count(60), deadline=None)
@given(STEPS, st.integers(0, 1500), st.integers(1, 4))
def test_what_is_there_is_counted_and_never_more_than_the_limit(
    steps: list[tuple[int, str, int, bool]], max_bytes: int, batch: int
) -> None:
    """Write rows; where a step's last value is true, count the store anew as after a failure."""
    with TemporaryDirectory() as folder, Store(Path(folder)) as store:
        limit = CopyLimit("LIMIT", max_bytes, TABLES)
        rows: Bytes = {}
        last_written: list[str] = []
        for number, (table, group, size, again) in enumerate(steps):
            rows[row(table, group, number)] = bytes(size)
            last_written = [one for one in last_written if one != group] + [group]
            if len(rows) >= batch:
                write(limit, store, rows)
                rows = {}
                keys = stored(store)
                sizes = (len(key) + len(store.get(key) or b"") for key in keys)
                assert limit.status().size_bytes == sum(sizes) <= max_bytes
                groups = {key.partition(b"\0")[2].partition(b"/")[0].decode() for key in keys}
                if not any(one[3] for one in steps):
                    assert groups == set(last_written[len(last_written) - len(groups) :])
                if again:
                    store.write(limit.load(store))
