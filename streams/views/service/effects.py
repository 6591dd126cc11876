"""The effects of each record: the positions of the facts, messages and dead letters it caused.

| key                                        | value                                             |
|--------------------------------------------|---------------------------------------------------|
| service effects, topic/partition, block    | JSON: by topic/partition of the effects, pairs of |
|                                            | the offsets of a cause and of its effect          |

A block is the number of whole sixty-fours of offsets; neighbours share a row, for they are decided
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
_SHIFT = 6
_MAX_DIGITS = 18
Pairs = list[list[int]]
Block = dict[str, Pairs]


def _load(row: bytes | None) -> Block:
    return {} if row is None else orjson.loads(row)


def _dump(block: Block) -> bytes:
    for pairs in block.values():
        pairs.sort()
    return orjson.dumps(block, option=orjson.OPT_SORT_KEYS)


_BLOCK: Cell[Block] = Cell(_load, _dump)


def add_effects(records: Sequence[Record], secret: frozenset[bytes], rows: WriteBatch) -> None:
    """Store the positions of records of one topic under the positions that caused them.

    secret: the full names of topics whose records are left out.
    """
    topic = records[0].topic
    pairs_of: dict[tuple[bytes, int, int], Pairs] = {}
    for record in records:
        headers = record.headers  # the service writes the cause first; a call for each costs much
        is_first = headers and headers[0][0] == CAUSE
        text = headers[0][1] if is_first else header(record, CAUSE) or b""
        source, _, digits = text.rpartition(b"/")
        if not digits.isdigit() or len(digits) > _MAX_DIGITS:
            continue
        cause = int(digits)
        name = source, record.partition, cause >> _SHIFT
        pairs = pairs_of.get(name)
        if pairs is None:
            pairs = pairs_of[name] = _pairs(topic, *name, secret, rows)
        pairs.append([cause, record.offset])


def _pairs(
    topic: str,
    source: bytes,
    partition: int,
    block: int,
    secret: frozenset[bytes],
    rows: WriteBatch,
) -> Pairs:
    """Return the pairs of a block, to be added to; a list that nobody reads for other sources."""
    if not _is_partition(source, secret):
        return []
    content = rows.cell(_row_key(source.decode(), block), _BLOCK)
    return content.setdefault(f"{topic}/{partition}", [])


def _is_partition(source: bytes, secret: frozenset[bytes]) -> bool:
    """Return whether this is `topic/partition` of a topic that may be looked at."""
    topic, slash, partition = source.rpartition(b"/")
    is_name = bool(slash) and topic.isascii() and b"/" not in topic
    return is_name and partition.isdigit() and topic not in secret


def _row_key(source: str, block: int) -> bytes:
    return _EFFECTS + text_key(source) + key(block)


def effects_of(view: ReadOnlyStore, cause: Position) -> list[Position]:
    """Return the positions of what a record caused, in their order."""
    source = f"{cause.topic}/{cause.partition}"
    (row,) = view.get_many([_row_key(source, cause.offset >> _SHIFT)])
    effects = []
    for place, pairs in _load(row).items():
        topic, partition = place.rsplit("/", 1)
        offsets = (effect for of, effect in pairs if of == cause.offset)
        effects += [Position(topic, int(partition), offset) for offset in offsets]
    return sorted(effects)
