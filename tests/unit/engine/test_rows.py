from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import decode, encode
from schemas.catalogue import LATEST_ID
from streams.engine.processor import AvroValue
from streams.engine.rows import Cause, TableRows, layered, store_key
from streams.errors import InternalUnreadable
from tests.toy import OPEN, RECORD

keys = st.sampled_from([b"a", b"b", b"c", b"d"])
layer = st.dictionaries(keys, st.none() | st.binary(max_size=2))


@given(st.lists(layer, max_size=3), layer, st.lists(keys, max_size=8))
def test_the_topmost_layer_that_has_a_key_hides_the_rest(
    layers: list[dict[bytes, bytes | None]],
    below: dict[bytes, bytes | None],
    read_keys: list[bytes],
) -> None:
    lookups: list[bytes] = []

    def store(keys: Sequence[bytes]) -> list[bytes | None]:
        lookups.extend(keys)
        return [below.get(key) for key in keys]

    rows = layered(layers, store)(read_keys)
    merged: dict[bytes, bytes | None] = dict(below)
    for each in reversed(layers):
        merged.update(each)
    assert rows == [merged.get(key) for key in read_keys]
    assert all(key not in each for key in lookups for each in layers)


def test_a_row_of_a_later_version_is_no_fault_of_the_record_that_asks_for_it() -> None:
    later = encode(RECORD, row("x"))[:1] + (LATEST_ID + 1).to_bytes(4, "big") + b"\0"
    rows = TableRows(OPEN, lambda keys: [later for _ in keys], Cause("c1"))
    with pytest.raises(InternalUnreadable, match=f"row a of {OPEN.name}"):
        rows.get("a")


def row(text: str) -> AvroValue:
    return {"data": {"t": text}}


class Table:
    """A table over some stored rows, counting reads."""

    def __init__(self, **stored: str) -> None:
        self.reads: list[list[bytes]] = []
        self.cause = Cause("c1")
        rows = {store_key(OPEN.name, k): encode(RECORD, row(v)) for k, v in stored.items()}

        def read(keys: Sequence[bytes]) -> list[bytes | None]:
            self.reads.append(list(keys))
            return [rows.get(key) for key in keys]

        self.rows = TableRows(OPEN, read, self.cause)


def test_loaded_rows_are_read_once() -> None:
    table = Table(a="1", b="2")
    table.rows.load(["a", "b", "a", "x"])
    table.rows.load(["a", "x"])
    assert table.rows.get("a") == row("1")
    assert table.rows.get("x") is None
    assert len(table.reads) == 1
    assert len(table.reads[0]) == 3


def test_a_row_that_is_read_is_the_callers_own() -> None:
    table = Table(a="1")
    mine = table.rows.get("a")
    assert mine is not None
    mine["data"]["t"] = "spoilt"
    assert table.rows.get("a") == row("1")
    assert table.rows.encoded() == []


def test_a_deleted_row_is_gone_and_may_come_back() -> None:
    table = Table(a="1")
    table.rows.delete("a")
    assert table.rows.get("a") is None
    table.rows.put("a", row("2"))
    assert table.rows.get("a") == row("2")
    table.cause.position = "c2"
    table.rows.delete("a")
    assert table.rows.encoded() == [("a", None, "c2")]


def test_changes_keep_the_order_of_their_first_change_and_the_last_cause() -> None:
    table = Table()
    table.rows.put("b", row("1"))
    table.rows.put("a", row("2"))
    table.cause.position = "c2"
    table.rows.put("b", row("3"))
    table.rows.delete("z")
    changes = [(k, v and decode(v, RECORD).value, cause) for k, v, cause in table.rows.encoded()]
    assert changes == [("b", row("3"), "c2"), ("a", row("2"), "c1"), ("z", None, "c2")]
