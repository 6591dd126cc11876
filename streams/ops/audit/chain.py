"""Chains of checkpoints: one per partition of facts.

The running hash begins with the partition's name; each record is hashed together with the hash
before it: offset, time, key, value and headers, each with its length.  So no record can be changed,
removed, added or moved without changing all later hashes.  Transaction markers are not records and
are not hashed.

A checkpoint names the checkpoint before it by its hash and is signed: the last checkpoint proves
the whole chain.
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
from topology.declarations import Topic, TopicKind

ZEROS = "0" * 64
"""The `previous_sha256` of the first checkpoint of a chain."""
_GENESIS = b"headrace-audit-1\0"
_LENGTH = struct.Struct(">q")
_ABSENT = _LENGTH.pack(-1)

COVERED: tuple[Topic, ...] = tuple(
    topic
    for topic in topics.ALL
    if topic.kind in (TopicKind.FACT, TopicKind.AUDIT) and topic is not AUDIT_CHECKPOINTS
)
"""Topics that are never deleted or rewritten: the facts, and the audit of operators' tools."""


@dataclass(frozen=True, slots=True)
class Head:
    """The state of a chain: how far a partition is hashed.

    start: the offset at which the chain begins.  offset: the next one.  records: how many were
    hashed.
    digest: the running hash.  sequence, previous: number and hash of the last checkpoint.
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
        return cls(tp, start, start, 0, _genesis_digest(tp))

    def over(self, records: Iterable[Record]) -> Head:
        """Return the head after more records of the partition, in log order."""
        digest, offset, count = self.digest, self.offset, self.records
        for record in records:
            digest = hashlib.sha256(digest + _record_bytes(record)).digest()
            offset, count = record.offset + 1, count + 1
        return replace(self, digest=digest, offset=offset, records=count)

    def sealed(self, signer: Signer, at_ms: int) -> tuple[Head, dict[str, Any]]:
        """Return the next checkpoint (AuditCheckpoint), and the head after it."""
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
        """Return the head after a checkpoint."""
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
    """Return why these keys do not verify a checkpoint's signature, None if they do."""
    signed = {name: value for name, value in checkpoint.items() if name != "signature"}
    verifier = keys.get(checkpoint["key_id"])
    if verifier is None:
        return f"is signed with the key {checkpoint['key_id']}, not with {', '.join(keys)}"
    if not verifier.holds(checkpoint["signature"], canonical_json(signed)):
        return "has a signature that does not hold"
    return None


def read(record: Record) -> Mapping[str, Any] | None:
    """Decode a checkpoint (AuditCheckpoint), None if the record is not one."""
    try:
        checkpoint: Mapping[str, Any] = decode(record.value, AUDIT_CHECKPOINTS.record or "").value
    except Undecodable:
        return None
    return checkpoint


def partition_of(checkpoint: Mapping[str, Any]) -> TopicPartition:
    """Return the partition that a checkpoint covers."""
    return TopicPartition(checkpoint["topic"], checkpoint["partition"])


def _genesis_digest(tp: TopicPartition) -> bytes:
    return hashlib.sha256(_GENESIS + f"{tp.topic}/{tp.partition}".encode()).digest()


def _record_bytes(record: Record) -> bytes:
    headers = [part for name, value in record.headers or () for part in (name.encode(), value)]
    parts = [record.key, record.value, *headers]
    numbers = _LENGTH.pack(record.offset) + _LENGTH.pack(record.timestamp)
    return numbers + b"".join(map(_with_length, parts))


def _with_length(part: bytes | None) -> bytes:
    return _ABSENT if part is None else _LENGTH.pack(len(part)) + part
