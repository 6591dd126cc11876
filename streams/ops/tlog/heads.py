"""Published checkpoints (AuditTreeHead) on `audit.tree-heads`, as far as the policy bears them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from schemas import Undecodable, decode
from streams.engine.log import Log
from streams.engine.records import Record
from streams.log.reading import partitions, records
from streams.ops.tlog.note import Checkpoint, Note, NoteMalformed, parse_note
from streams.ops.tlog.policy import Policy, SignatureInvalid
from topology.core import AUDIT_TREE_HEADS
from topology.topics import full_name

_RECORD = AUDIT_TREE_HEADS.record or ""


class SignedHead(NamedTuple):
    """A checkpoint that a key of its log has signed.

    offset: that of its record on `audit.tree-heads`, None of one that is read elsewhere.
    """

    checkpoint: Checkpoint
    note: Note
    offset: int | None = None


def parse_head(data: bytes | None, policy: Policy, origin: str) -> SignedHead | None:
    """Return the checkpoint in a note of that log, None if no key of the policy has signed it."""
    try:
        note = parse_note(data or b"")
        checkpoint = Checkpoint.parse(note.text)
        is_signed = checkpoint.origin == origin and policy.signed_by_log(note, checkpoint)
    except (NoteMalformed, SignatureInvalid):
        return None
    return SignedHead(checkpoint, note) if is_signed else None


def read_heads(
    log: Log, prefix: str, policy: Policy, origin: str, begin: int | None = None
) -> list[SignedHead]:
    """Return the published heads of a log, in the order of the topic; all others are skipped.

    begin: the offset to begin at, by default the first.  Raises TopicsMismatch, BrokerUnavailable.
    """
    tps = partitions(log, [full_name(AUDIT_TREE_HEADS, prefix)])
    begins = log.starts(tps) if begin is None else dict.fromkeys(tps, begin)
    stored = records(log, tps, log.high_watermarks(tps), begins)
    heads = ((parse_head(_note_of(record), policy, origin), record.offset) for record in stored)
    return [head._replace(offset=offset) for head, offset in heads if head is not None]


def choose_newest(heads: Iterable[SignedHead]) -> SignedHead | None:
    """Return the head of the largest tree, the first of several."""
    return max(heads, key=lambda head: head.checkpoint.size, default=None)


def _note_of(record: Record) -> bytes | None:
    try:
        note: str = decode(record.value, _RECORD).value["note"]
    except Undecodable:
        return None
    return note.encode()
