"""Records as clients produce them, and what is read back, in JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schemas import decode, encode, from_json, to_json
from streams.engine.records import Output, Record
from topology import topics
from topology.apc import APC_PACKETS
from topology.declarations import Topic
from topology.keys import key_of

Json = dict[str, Any]

PARTITIONS = 4


class Outputs:
    """For topics with this prefix."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def name(self, topic: Topic) -> str:
        return topics.full_name(topic, self.prefix)

    def packet(self, packet: Json, **fields: Any) -> Output:
        """A packet as its sender produces it; fields of the record may be given instead."""
        return self.record(APC_PACKETS, packet, **fields)

    def record(self, topic: Topic, value: Json, **fields: Any) -> Output:
        assert topic.record is not None
        body = encode(topic.record, from_json(topic.record, value))
        key = key_of(topic, value).encode()
        return Output(self.name(topic), key, body)._replace(**fields)

    def raw(self, key: bytes | None, value: bytes | None) -> Output:
        """Bytes on the topic of packets."""
        return Output(self.name(APC_PACKETS), key, value)


def value_as_json(topic: Topic, record: Record) -> Json:
    """A record's value in JSON."""
    assert topic.record is not None
    return to_json(topic.record, decode(record.value, topic.record).value)


def latest(records: Sequence[Record]) -> dict[tuple[int, bytes], bytes]:
    """What compaction keeps, by partition and key."""
    rows: dict[tuple[int, bytes], bytes] = {}
    for record in records:
        place = record.partition, record.key or b""
        if record.value is None:
            rows.pop(place, None)
        else:
            rows[place] = record.value
    return rows
