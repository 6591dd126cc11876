"""The effects of each record: the positions of the facts, messages and dead letters it caused.

| key                                        | value                                             |
|--------------------------------------------|---------------------------------------------------|
| service effects, topic/partition, block    | JSON: by offset, the positions that it caused     |

A block is the number of whole sixteens of offsets; neighbours share a row because they are decided
together.  Records of secret topics are left out: nobody may look at them.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from streams.engine.headers import CAUSE
from streams.engine.records import Record, header
from streams.views.changes import Cell, WriteBatch
from streams.views.keys import key, text_key
from streams.views.positions import Position
from streams.views.reads import ReadOnlyStore

_EFFECTS = key("service effects")
_SHIFT = 4
_MAX_DIGITS = 18
Block = dict[str, list[str]]


def _load(row: bytes | None) -> Block:
    return {} if row is None else orjson.loads(row)


def _dump(block: Block) -> bytes:
    for positions in block.values():
        positions.sort()
    return orjson.dumps(block, option=orjson.OPT_SORT_KEYS)


_BLOCK: Cell[Block] = Cell(_load, _dump)


def add_effects(records: Sequence[Record], secret: frozenset[bytes], rows: WriteBatch) -> None:
    """Store the positions of records under the positions that caused them.

    secret: the full names of topics whose records are left out.
    """
    followed: dict[bytes, bool] = {}
    blocks: dict[tuple[bytes, int], Block] = {}
    for record in records:
        source, _, digits = (header(record, CAUSE) or b"").rpartition(b"/")
        follows = followed.get(source)
        if follows is None:
            follows = followed[source] = _is_partition(source, secret)
        if not follows or not digits.isdigit() or len(digits) > _MAX_DIGITS:
            continue
        offset = int(digits)
        name = source, offset >> _SHIFT
        block = blocks.get(name)
        if block is None:
            block = blocks[name] = rows.cell(_row_key(*name), _BLOCK)
        place = f"{record.topic}/{record.partition}/{record.offset}"
        block.setdefault(str(offset), []).append(place)


def _is_partition(source: bytes, secret: frozenset[bytes]) -> bool:
    """Return whether this is `topic/partition` of a topic that may be looked at."""
    topic, slash, partition = source.rpartition(b"/")
    return bool(slash) and partition.isdigit() and b"/" not in topic and topic not in secret


def _row_key(source: bytes, block: int) -> bytes:
    return _EFFECTS + text_key(source.decode(errors="replace")) + key(block)


def effects_of(view: ReadOnlyStore, position: Position) -> list[str]:
    """Return the positions of what a record caused, each once, in the order of their texts."""
    source = f"{position.topic}/{position.partition}".encode()
    (row,) = view.get_many([_row_key(source, position.offset >> _SHIFT)])
    return _load(row).get(str(position.offset), [])
