"""Receipts: files of tlog-proof that say that a record was in a log.

A receipt has the entry of the record (as `extra`), its index, the hashes of the inclusion proof,
and a checkpoint.  It is complete: the tree's root follows from the entry, so that another entry
leads to another root.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from streams.engine.records import Record
from streams.ops.tlog.entries import RecordEntry, entry_of, parse_entry
from streams.ops.tlog.merkle import HASH_BYTES, ProofInvalid, leaf_hash, root_by_inclusion
from streams.ops.tlog.note import (
    Checkpoint,
    Note,
    NoteMalformed,
    from_base64,
    parse_note,
    to_base64,
)
from streams.ops.tlog.policy import NO_QUORUM, Cosignature, Policy, SignatureInvalid

HEADER = "c2sp.org/tlog-proof@v1"
MAX_RECEIPT_BYTES = 1024 * 1024
MAX_HASHES = 63
_INDEX = re.compile("index (0|[1-9][0-9]{0,18})")
_EXTRA = "extra "
_MAX_INDEX = (1 << 63) - 1


class ReceiptMalformed(ValueError):
    """An error for bytes that are no receipt of a record."""


class ReceiptFault(StrEnum):
    """The codes of receipts that do not hold."""

    RECEIPT_MALFORMED = "receipt_malformed"
    LOG_UNKNOWN = "log_unknown"
    SIGNATURE_INVALID = "signature_invalid"
    QUORUM_NOT_MET = "quorum_not_met"
    PROOF_INVALID = "proof_invalid"
    RECORD_DIFFERS = "record_differs"
    LOG_SHORTER = "log_shorter"
    LOG_INCONSISTENT = "log_inconsistent"


class NoteJudgement(NamedTuple):
    """The result of verifying a checkpoint; a fault, or None if the policy accepts it."""

    fault: ReceiptFault | None
    detail: str
    cosignatures: tuple[Cosignature, ...] = ()


class RecordMatch(StrEnum):
    """The result of comparing a record with the entry of a receipt."""

    MATCHES = "matches"
    DIFFERS = "differs"
    NOT_GIVEN = "not_given"


@dataclass(frozen=True, slots=True)
class Receipt:
    """A parsed receipt.  line: the entry as it was hashed.  hashes: the leaf's sibling first."""

    line: bytes
    entry: RecordEntry
    index: int
    hashes: tuple[bytes, ...]
    note: Note
    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class ReceiptCheck:
    """The result of checking a receipt: a fault, or None if it holds.

    receipt: None if it is malformed.  cosignatures: those that verify.  quorum: its name.
    """

    fault: ReceiptFault | None
    detail: str
    receipt: Receipt | None = None
    cosignatures: tuple[Cosignature, ...] = ()
    quorum: str = NO_QUORUM
    quorum_met: bool = False
    record: RecordMatch = RecordMatch.NOT_GIVEN


def encode_receipt(line: bytes, index: int, hashes: Sequence[bytes], note: bytes) -> bytes:
    """Write a receipt.  note: the checkpoint with its signatures, as it is."""
    lines = [HEADER, _EXTRA + to_base64(line), f"index {index}", *map(to_base64, hashes), "", ""]
    return "\n".join(lines).encode() + note


def parse_receipt(data: bytes) -> Receipt:
    """Read a receipt of up to 1 MiB and 63 hashes.  Raises ReceiptMalformed."""
    if len(data) > MAX_RECEIPT_BYTES:
        raise ReceiptMalformed(f"a receipt has at most {MAX_RECEIPT_BYTES} bytes")
    head, separator, note_bytes = data.partition(b"\n\n")
    if not separator:
        raise ReceiptMalformed("there is no checkpoint after an empty line")
    try:
        header, *lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError as exc:
        raise ReceiptMalformed("the proof is not ASCII") from exc
    if header != HEADER:
        raise ReceiptMalformed(f"it does not begin with {HEADER}")
    line, entry = _parse_extra(lines[:1])
    index, hashes = _parse_proof(lines[1:])
    try:
        note = parse_note(note_bytes)
        checkpoint = Checkpoint.parse(note.text)
    except NoteMalformed as exc:
        raise ReceiptMalformed(f"its checkpoint: {exc}") from exc
    return Receipt(line, entry, index, hashes, note, checkpoint)


def _parse_extra(lines: Sequence[str]) -> tuple[bytes, RecordEntry]:
    if not lines or not lines[0].startswith(_EXTRA):
        raise ReceiptMalformed("it has no line `extra` with the entry")
    try:
        line = from_base64(lines[0].removeprefix(_EXTRA))
    except ValueError as exc:
        raise ReceiptMalformed("its line `extra` is not base64") from exc
    entry = parse_entry(line)
    if not isinstance(entry, RecordEntry):
        raise ReceiptMalformed("its line `extra` has no entry of a record")
    return line, entry


def _parse_proof(lines: Sequence[str]) -> tuple[int, tuple[bytes, ...]]:
    match = _INDEX.fullmatch(lines[0]) if lines else None
    if match is None or int(match[1]) > _MAX_INDEX:
        raise ReceiptMalformed("it has no line `index` with a number")
    if len(lines) - 1 > MAX_HASHES:
        raise ReceiptMalformed(f"it has {len(lines) - 1} hashes, at most {MAX_HASHES} are allowed")
    try:
        hashes = tuple(map(from_base64, lines[1:]))
    except ValueError as exc:
        raise ReceiptMalformed("one of its hashes is not base64") from exc
    if any(len(each) != HASH_BYTES for each in hashes):
        raise ReceiptMalformed(f"one of its hashes has not {HASH_BYTES} bytes")
    return int(match[1]), hashes


def check_receipt(data: bytes, policy: Policy, record: Record | None = None) -> ReceiptCheck:
    """Check a receipt by a policy, and hold a record against its entry.

    It is checked in the order of ReceiptFault; the first fault is the result.
    """
    try:
        receipt = parse_receipt(data)
    except ReceiptMalformed as exc:
        return ReceiptCheck(ReceiptFault.RECEIPT_MALFORMED, str(exc), quorum=policy.quorum)
    match = RecordMatch.NOT_GIVEN if record is None else compare_record(record, receipt.entry)
    judgement = judge_note(receipt.note, receipt.checkpoint, policy)
    fault, detail = judgement.fault, judgement.detail
    if fault is None:
        fault, detail = _check_proof(receipt)
    if fault is None and match is RecordMatch.DIFFERS:
        fault = ReceiptFault.RECORD_DIFFERS
        detail = f"the record is not the one that was logged at {receipt.entry.position}"
    return ReceiptCheck(
        fault,
        detail,
        receipt,
        judgement.cosignatures,
        policy.quorum,
        quorum_met=judgement.fault is None,
        record=match,
    )


def judge_note(note: Note, checkpoint: Checkpoint, policy: Policy) -> NoteJudgement:
    """Verify the signatures of a checkpoint: of its log, and of a quorum of witnesses."""
    try:
        if not policy.signed_by_log(note, checkpoint):
            detail = f"the policy has no key that signed for {checkpoint.origin}"
            return NoteJudgement(ReceiptFault.LOG_UNKNOWN, detail)
        cosignatures = policy.cosignatures(note, checkpoint)
    except SignatureInvalid as exc:
        return NoteJudgement(ReceiptFault.SIGNATURE_INVALID, str(exc))
    names = {each.name for each in cosignatures}
    if policy.is_met_by(names):
        return NoteJudgement(None, "", cosignatures)
    missing = [name for name in policy.witnesses_of_quorum() if name not in names]
    detail = f"quorum {policy.quorum} is not met, without {', '.join(missing)}"
    return NoteJudgement(ReceiptFault.QUORUM_NOT_MET, detail, cosignatures)


def _check_proof(receipt: Receipt) -> tuple[ReceiptFault | None, str]:
    size, leaf = receipt.checkpoint.size, leaf_hash(receipt.line)
    try:
        root = root_by_inclusion(leaf, receipt.index, size, receipt.hashes)
    except ProofInvalid as exc:
        return ReceiptFault.PROOF_INVALID, str(exc)
    if root != receipt.checkpoint.root:
        return ReceiptFault.PROOF_INVALID, "the proof leads to another root than the checkpoint's"
    return None, f"{receipt.entry.position} was in the log"


def compare_record(record: Record, entry: RecordEntry) -> RecordMatch:
    """Compare position, time and digest of a record with those of an entry."""
    return RecordMatch.MATCHES if entry == entry_of(record) else RecordMatch.DIFFERS
