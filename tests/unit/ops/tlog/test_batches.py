"""Batches: the signature of the contract's vector, and what does not count."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from schemas import encode
from streams.engine.records import LogRecord
from streams.ops.tlog.batches import (
    MAX_BYTES,
    MAX_ENTRIES,
    EntrySequence,
    sign_batch,
    split_entries,
)
from streams.ops.tlog.merkle import RightEdge
from streams.ops.tlog.tiles import encode_bundle
from tests.unit.ops.tlog.example_log import CHECKPOINT, KEY, LINES, ORIGIN, PRIVATE
from topology.core import AUDIT_ENTRIES

SIGNATURE = (
    "EvFTGVKi/8vOnPqGXFXSa39sq2TNjmDN7omHXe61NWq1LuG2xZnLhYWP+NLsDut+mWJZeEHzRP/wjbG5zccrCA=="
)
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
Batch = dict[str, Any]


def batch_of(lines: tuple[bytes, ...] = LINES, edge: RightEdge | None = None) -> Batch:
    return sign_batch(PRIVATE, ORIGIN, edge or RightEdge(), list(lines))


def record_of(value: bytes | None) -> LogRecord:
    return LogRecord(AUDIT_ENTRIES.name, 0, 0, 0, ORIGIN.encode(), value)


def encoded(batch: Batch) -> LogRecord:
    return record_of(encode(AUDIT_ENTRIES.record or "", batch))


def test_the_signature_is_the_one_of_the_vector() -> None:
    batch = batch_of()
    assert b64encode(batch["signature"]).decode() == SIGNATURE
    assert (batch["first"], batch["count"], batch["key_id"]) == (0, 3, KEY.id)


def test_batches_come_to_the_tree_of_their_entries() -> None:
    state = EntrySequence(ORIGIN, [KEY], {0, 2})
    assert state.read(encoded(batch_of(LINES[:1]))) == [LINES[0]]
    state.read(encoded(batch_of(LINES[1:], state.edge)))
    assert (state.size, state.edge.root(), state.refused) == (3, CHECKPOINT.root, 0)
    assert state.due == {("apc.events", 0): 3, ("sap.acks", 3): 18}
    tree = RightEdge()
    tree.extend(LINES[:2])
    assert state.roots == {0: RightEdge().root(), 2: tree.root()}


@pytest.mark.parametrize(
    "change",
    [
        lambda batch: batch | {"origin": "example.com/other"},
        lambda batch: batch | {"first": 1},
        lambda batch: batch | {"count": 2},
        lambda batch: batch | {"key_id": "00000000"},
        lambda batch: batch | {"signature": bytes(64)},
        lambda batch: batch | {"signature": b""},
        lambda batch: batch | {"entries": encode_bundle(LINES[::-1])},
        lambda batch: batch | {"entries": batch["entries"][:-1]},
        lambda batch: batch | {"entries": b"", "count": 0},
        lambda _: sign_batch(OTHER, ORIGIN, RightEdge(), list(LINES)),
        lambda _: sign_batch(PRIVATE, ORIGIN, RightEdge(), []),
    ],
)
def test_what_does_not_count_changes_nothing(change: Callable[[Batch], Batch]) -> None:
    state = EntrySequence(ORIGIN, [KEY])
    assert state.read(encoded(change(batch_of()))) == []
    assert (state.size, state.refused, state.due) == (0, 1, {})
    assert state.read(encoded(batch_of())) == list(LINES)


def test_a_batch_counts_once_and_in_its_own_history_only() -> None:
    state = EntrySequence(ORIGIN, [KEY])
    state.read(encoded(batch_of()))
    assert state.read(encoded(batch_of())) == []
    other = RightEdge()
    other.extend(LINES[::-1])
    assert state.read(encoded(batch_of(LINES, other))) == []
    assert (state.size, state.refused) == (3, 2)


@given(st.one_of(st.none(), st.binary(max_size=200)))
def test_any_bytes_are_refused(value: bytes | None) -> None:
    state = EntrySequence(ORIGIN, [KEY])
    assert state.read(record_of(value)) == []
    assert state.refused == 1


def test_portions_fit_batches_and_lose_nothing() -> None:
    short = [b"x\n"] * (2 * MAX_ENTRIES + 1)
    assert [len(each) for each in split_entries(short)] == [MAX_ENTRIES, MAX_ENTRIES, 1]
    long = [b"x" * 65_535] * 17
    portions = list(split_entries(long))
    assert [line for portion in portions for line in portion] == long
    assert all(len(encode_bundle(portion)) <= MAX_BYTES for portion in portions)
    assert list(split_entries([])) == []
