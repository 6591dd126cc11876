"""The position of a writer's folder, `.state/position`, so that a restart reads only what is new.

{"origin": …, "offset": 412, "batch_sha256": …, "heads_offset": 380, "size": 109482,
 "edge": ["base64", …], "partitions": {"apc.events/0": 1207, …}}
"""

from __future__ import annotations

from base64 import b64decode
from typing import NamedTuple, Self

import orjson

from streams.engine.records import TopicPartition
from streams.ops.tlog.merkle import HASH_BYTES
from streams.ops.tlog.note import to_base64


class LogPosition(NamedTuple):
    """The state of a log whose tiles are in the folder.

    offset: the next one of `audit.entries`.  batch_sha256: hex, of the value of the batch before
    it, which signs the tree that it follows on.  heads_offset: the next one of `audit.tree-heads`;
    the heads below it were compared with the tree.  edge: the right edge of the tree.
    due: the next offset of each partition that has entries.
    """

    origin: str
    offset: int
    batch_sha256: str
    heads_offset: int
    size: int
    edge: tuple[bytes, ...]
    due: dict[TopicPartition, int]

    def encode(self) -> bytes:
        members = self._asdict()
        del members["due"]
        members["edge"] = [to_base64(node) for node in self.edge]
        members["partitions"] = {f"{tp.topic}/{tp.partition}": n for tp, n in self.due.items()}
        return orjson.dumps(members, option=orjson.OPT_APPEND_NEWLINE)

    @classmethod
    def parse(cls, data: bytes | None) -> Self | None:
        """Return the position in a file, None if there is none in it."""
        try:
            members = orjson.loads(data or b"")
            due = {_parse_partition(name): int(n) for name, n in members["partitions"].items()}
            edge = tuple(b64decode(node, validate=True) for node in members["edge"])
            numbers = [int(members[name]) for name in ("offset", "heads_offset", "size")]
            texts = [str(members[name]) for name in ("origin", "batch_sha256")]
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        offset, heads_offset, size = numbers
        is_whole = len(edge) == size.bit_count() and all(len(node) == HASH_BYTES for node in edge)
        if offset < 1 or heads_offset < 0 or size < 1 or not is_whole:
            return None
        return cls(texts[0], offset, texts[1], heads_offset, size, edge, due)


def _parse_partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("/")
    return TopicPartition(topic, int(number))
