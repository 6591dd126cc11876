"""The log of the guide's test vectors: three entries, a key, a checkpoint."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from streams.ops.tlog.entries import GapEntry, RecordEntry, record_digest
from streams.ops.tlog.keys import sign_checkpoint, verifier_key
from streams.ops.tlog.merkle import Tree, leaf_hash, prove_inclusion
from streams.ops.tlog.note import Checkpoint, Note
from streams.ops.tlog.receipt import encode_receipt

ORIGIN = "example.com/headrace/test"
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = verifier_key(ORIGIN, PRIVATE)
HEADERS = [("ce_id", b"7f0c"), ("headrace-cause", b"apc.packets/0/0")]
FIRST = RecordEntry("apc.events", 0, 0, 1732435200123, record_digest(b"sess-1", b"\0\1\2", HEADERS))
ENTRIES = (
    FIRST,
    RecordEntry("apc.events", 0, 2, 1732435200125, record_digest(b"sess-1", None, [])),
    GapEntry("sap.acks", 3, 0, 17, 1732435200200),
)
LINES = tuple(entry.encode() for entry in ENTRIES)
TREE = Tree(map(leaf_hash, LINES))
POLICY = f"log {KEY}\nquorum none\n"


def signed(checkpoint: Checkpoint) -> Note:
    return Note(checkpoint.text, (sign_checkpoint(PRIVATE, checkpoint, 1_732_435_201),))


CHECKPOINT = Checkpoint(ORIGIN, TREE.size, TREE.root())
NOTE = signed(CHECKPOINT)


def receipt(index: int = 0, note: Note = NOTE) -> bytes:
    hashes = prove_inclusion(index, TREE.size, TREE.node)
    return encode_receipt(LINES[index], index, hashes, note.encode())
