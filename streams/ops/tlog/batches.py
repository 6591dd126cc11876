"""Batches of entries (AuditEntries) on `audit.entries`: signed, and read into the log.

A batch counts only if it is of this log, begins at the size that the log has, and is signed by an
Ed25519 key of the log.  The signature covers the root of the tree before the batch, so a batch of
another history never counts.  All else is skipped: who may write there, but has no key, adds noise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from schemas import Undecodable, decode, sha256_hex
from streams.engine.records import Record, TopicPartition
from streams.ops.tlog.entries import parse_entry
from streams.ops.tlog.keys import VerifierKey, verifier_key, verify_message
from streams.ops.tlog.merkle import RightEdge, leaf_hash
from streams.ops.tlog.note import to_base64
from streams.ops.tlog.tiles import BundleMalformed, decode_bundle, encode_bundle
from topology.core import AUDIT_ENTRIES

MAX_ENTRIES = 4_000
MAX_BYTES = 512 * 1024
"""The largest batch: the number of its entries, and the bytes of their bundle."""
_RECORD = AUDIT_ENTRIES.record or ""
_LENGTH_BYTES = 2


class EntrySequence:
    """The log that the batches that count come to.

    keys: those of the log; only Ed25519 keys sign batches.
    sizes: the sizes whose roots are kept in `roots` when the log reaches them.
    due: the next offset of each covered partition that has entries.
    batch: the offset after the last record that counted, and the SHA-256 (hex) of its value.
    refused: the number of records that did not count.
    invalid: the offsets of those that a key has signed, and that hold no entries, or others.
    """

    def __init__(
        self, origin: str, keys: Iterable[VerifierKey], sizes: Collection[int] = ()
    ) -> None:
        self.origin, self._sizes = origin, frozenset(sizes)
        self._keys = {key.id: key for key in keys if not key.type.has_time}
        self.edge = RightEdge()
        self.roots = {0: self.edge.root()} if 0 in self._sizes else {}
        self.due: dict[TopicPartition, int] = {}
        self.batch: tuple[int, str] | None = None
        self.refused = 0
        self.invalid: list[int] = []

    @property
    def size(self) -> int:
        return self.edge.size

    def read(self, record: Record) -> list[bytes]:
        """Append the entries of a record that counts, and return them; none of one that does not.

        Records come in log order.
        """
        lines = self._accept(record)
        if lines is None:
            self.refused += 1
            return []
        self.append(lines)
        self.batch = record.offset + 1, sha256_hex(record.value or b"")
        return lines

    def resume(self, edge: RightEdge, due: Mapping[TopicPartition, int]) -> None:
        """Go on from the right edge of a tree, and the next offsets after its entries."""
        self.edge, self.due = edge, dict(due)
        self.roots = {edge.size: edge.root()} if edge.size in self._sizes else {}

    def append(self, lines: Iterable[bytes]) -> None:
        """Append entries."""
        for line in lines:
            self.edge.append(leaf_hash(line))
            if self.size in self._sizes:
                self.roots[self.size] = self.edge.root()
            entry = parse_entry(line)
            if entry is not None:
                self.due[TopicPartition(entry.topic, entry.partition)] = entry.end

    def _accept(self, record: Record) -> list[bytes] | None:
        try:
            batch = decode(record.value, _RECORD).value
        except Undecodable:
            return None
        key = self._keys.get(batch["key_id"])
        begins_here = (batch["origin"], batch["first"]) == (self.origin, self.size)
        if key is None or not begins_here:
            return None
        message = _signed_message(self.origin, self.edge, batch["entries"])
        if not verify_message(key, batch["signature"], message):
            return None
        try:
            lines = decode_bundle(batch["entries"])
        except BundleMalformed:
            lines = []
        if lines and batch["count"] == len(lines):
            return lines
        self.invalid.append(record.offset)
        return None


def sign_batch(
    private: Ed25519PrivateKey, origin: str, edge: RightEdge, lines: list[bytes]
) -> dict[str, Any]:
    """Return the batch (AuditEntries) of entries that follow on a tree."""
    bundle = encode_bundle(lines)
    return {
        "origin": origin,
        "first": edge.size,
        "count": len(lines),
        "key_id": verifier_key(origin, private).id,
        "signature": private.sign(_signed_message(origin, edge, bundle)),
        "entries": bundle,
    }


def split_entries(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield entries in the portions that batches hold."""
    portion: list[bytes] = []
    size = 0
    for line in lines:
        length = _LENGTH_BYTES + len(line)
        if portion and (len(portion) == MAX_ENTRIES or size + length > MAX_BYTES):
            yield portion
            portion, size = [], 0
        portion.append(line)
        size += length
    if portion:
        yield portion


def _signed_message(origin: str, edge: RightEdge, bundle: bytes) -> bytes:
    digest = to_base64(hashlib.sha256(bundle).digest())
    root = to_base64(edge.root())
    return f"headrace-audit-entries-1\n{origin}\n{edge.size}\n{root}\n{digest}\n".encode()
