"""Chains of checkpoints: one per partition of facts.

The running hash begins with the partition's name; each record is hashed with the hash before it,
whole: offset, time, key, value and headers, each with its length.  So no record can be changed,
left out, added or moved without changing all hashes behind it.  Transaction markers are no records
and are not hashed.

A checkpoint names the checkpoint before it by its hash and is signed: the chain as a whole
stands or falls with its last one.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from schemas import Undecodable, canonical_json, decode, sha256_hex
from streams.engine.records import Record, TopicPartition
from streams.ops.audit.keys import Keys, Signer
from topology import topics
from topology.core import AUDIT_CHECKPOINTS
from topology.declarations import Kind, Topic

ZEROS = "0" * 64
"""What the first checkpoint of a chain follows."""
_GENESIS = b"headrace-audit-1\0"
_LENGTH = struct.Struct(">q")
_ABSENT = _LENGTH.pack(-1)

COVERED: tuple[Topic, ...] = tuple(
    topic
    for topic in topics.ALL
    if topic.kind in (Kind.FACT, Kind.AUDIT) and topic is not AUDIT_CHECKPOINTS
)
"""What is kept for ever and never rewritten: the facts, and what operators' tools did."""


@dataclass(frozen=True, slots=True)
class Head:
    """How far a partition is hashed.

    start: the offset that the chain begins at.  offset: the next one.  records: how many there
    were.  digest: the running hash.  sequence, previous: of the last checkpoint, and its hash.
    """

    tp: TopicPartition
    start: int
    offset: int
    records: int
    digest: bytes
    sequence: int = 0
    previous: str = ZEROS

    @classmethod
    def genesis(cls, tp: TopicPartition, start: int) -> Self:
        return cls(tp, start, start, 0, _first(tp))

    def over(self, records: Iterable[Record]) -> Head:
        """After more records of the partition, in their order."""
        digest, offset, count = self.digest, self.offset, self.records
        for record in records:
            digest = hashlib.sha256(digest + _bytes(record)).digest()
            offset, count = record.offset + 1, count + 1
        return replace(self, digest=digest, offset=offset, records=count)

    def sealed(self, signer: Signer, at_ms: int) -> tuple[Head, dict[str, Any]]:
        """The next checkpoint (AuditCheckpoint), and the head behind it."""
        checkpoint: dict[str, Any] = {
            "topic": self.tp.topic,
            "partition": self.tp.partition,
            "sequence": self.sequence + 1,
            "start": self.start,
            "offset": self.offset,
            "records": self.records,
            "running_sha256": self.digest.hex(),
            "previous_sha256": self.previous,
            "at": at_ms,
            "key_id": signer.verifier.id,
        }
        checkpoint["signature"] = signer.sign(canonical_json(checkpoint))
        return self.behind(checkpoint), checkpoint

    def behind(self, checkpoint: Mapping[str, Any]) -> Head:
        """The head that a checkpoint leaves."""
        return Head(
            self.tp,
            checkpoint["start"],
            checkpoint["offset"],
            checkpoint["records"],
            bytes.fromhex(checkpoint["running_sha256"]),
            checkpoint["sequence"],
            sha256_hex(canonical_json(dict(checkpoint))),
        )


def signature_fault(checkpoint: Mapping[str, Any], keys: Keys) -> str | None:
    """Why a checkpoint is not one that a holder of these keys has made; None if it is."""
    said = {name: value for name, value in checkpoint.items() if name != "signature"}
    verifier = keys.get(checkpoint["key_id"])
    if verifier is None:
        return f"is signed with the key {checkpoint['key_id']}, not with {', '.join(keys)}"
    if not verifier.holds(checkpoint["signature"], canonical_json(said)):
        return "has a signature that does not hold"
    return None


def read(record: Record) -> Mapping[str, Any] | None:
    """The checkpoint (AuditCheckpoint) that a record holds; None for bytes that are none."""
    try:
        found: Mapping[str, Any] = decode(record.value, AUDIT_CHECKPOINTS.record or "").value
    except Undecodable:
        return None
    return found


def partition_of(checkpoint: Mapping[str, Any]) -> TopicPartition:
    """Of what a checkpoint is about."""
    return TopicPartition(checkpoint["topic"], checkpoint["partition"])


def _first(tp: TopicPartition) -> bytes:
    return hashlib.sha256(_GENESIS + f"{tp.topic}/{tp.partition}".encode()).digest()


def _bytes(record: Record) -> bytes:
    headers = [part for name, value in record.headers or () for part in (name.encode(), value)]
    parts = [record.key, record.value, *headers]
    places = _LENGTH.pack(record.offset) + _LENGTH.pack(record.timestamp)
    return places + b"".join(map(_part, parts))


def _part(part: bytes | None) -> bytes:
    return _ABSENT if part is None else _LENGTH.pack(len(part)) + part
