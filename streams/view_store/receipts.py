"""The receipts of records, made from the rows of a view that follows the transparency log."""

from __future__ import annotations

from dataclasses import dataclass

from streams.engine.records import TopicPartition
from streams.errors import NotFound
from streams.ops.tlog.heads import SignedHead
from streams.ops.tlog.merkle import prove_inclusion
from streams.ops.tlog.receipt import encode_receipt
from streams.ops.tlog.tiles import Tile, TileNodes
from streams.view_store.transparency import (
    TransparencyLog,
    end_of_entries,
    find_entry,
    read_published_tile,
)
from streams.views.reads import RowReader


@dataclass(frozen=True, slots=True)
class PublishedEntry:
    """The entry of a record, with its index, and the newest checkpoint, which covers it."""

    head: SignedHead
    index: int
    line: bytes


def find_published(
    log: TransparencyLog, rows: RowReader, tp: TopicPartition, offset: int
) -> PublishedEntry | None:
    """Return the published entry of a record, None while there is none."""
    return _find_published(log, rows, find_entry(rows, tp, offset))


def find_receipt(
    log: TransparencyLog, rows: RowReader, tp: TopicPartition, offset: int
) -> bytes | None:
    """Return the receipt of a record of a logged topic, None while its entry is not published.

    Raises NotFound if it will never have one.
    """
    entry = find_entry(rows, tp, offset)
    if entry is None and offset < end_of_entries(rows, tp):
        place = f"{tp.topic}/{tp.partition}/{offset}"
        message = f"no record has an entry at {place}, and later ones have"
        raise NotFound(message, "record_unknown", advice="")
    published = _find_published(log, rows, entry)
    return None if published is None else _make_receipt(rows, published)


def _find_published(
    log: TransparencyLog, rows: RowReader, entry: tuple[int, bytes] | None
) -> PublishedEntry | None:
    """Return an entry with its index and the newest checkpoint, if that covers it."""
    head = log.read_head(rows)
    if entry is None or head is None or entry[0] >= head.checkpoint.size:
        return None
    return PublishedEntry(head, *entry)


def _make_receipt(rows: RowReader, published: PublishedEntry) -> bytes:
    """Return the receipt of an entry under the checkpoint that covers it."""
    head, index = published.head, published.index
    size = head.checkpoint.size

    def read_tile(tile: Tile) -> bytes:
        data = read_published_tile(rows, tile, size)
        assert data is not None, "the tile is one of the published tree"
        return data

    hashes = prove_inclusion(index, size, TileNodes(size, read_tile).node)
    return encode_receipt(published.line, index, hashes, head.note.encode())
