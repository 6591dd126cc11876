"""Checks of the audit's checkpoints over single records and partitions, by the rows of a view."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from schemas import canonical_json, sha256_hex
from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.errors import SettingsError
from streams.ops.audit.chain import Head, signature_fault
from streams.ops.audit.keys import Keys, keys_of
from streams.view_store.seals import Checkpoint, checkpoints_back, checkpoints_over
from streams.views.reads import ReadOnlyStore

MAX_SPAN = 20_000
"""The most offsets between two checkpoints whose records are hashed again for one request."""
PATIENCE_S = 3.0
_POLL_S = 0.1
_MAX_CANDIDATES = 50
"""Checkpoints over one offset that are looked at: anybody may have written some of them."""


class Signature(StrEnum):
    """The result of checking a signature."""

    VALID = "valid"
    INVALID = "invalid"
    NOT_CHECKED = "not_checked"


class RecordsMatch(StrEnum):
    """The result of hashing the records of a checkpoint again."""

    MATCH = "match"
    DIFFER = "differ"
    NOT_CHECKED = "not_checked"


class Seal(NamedTuple):
    """A checkpoint over a record.

    begin: the first offset that the checkpoint adds to the one before it.
    signature: also invalid if the records are not those that were signed.
    """

    checkpoint: Checkpoint
    begin: int
    signature: Signature
    records: RecordsMatch


def load_keys(path: Path | None) -> Keys:
    """Load the auditor's public key; no keys if none is set, or none can be read there."""
    try:
        return keys_of([] if path is None else [path])
    except SettingsError:
        return {}


def check_signature(checkpoint: Checkpoint, keys: Keys) -> Signature:
    if not keys:
        return Signature.NOT_CHECKED
    fault = signature_fault(checkpoint, keys)
    return Signature.VALID if fault is None else Signature.INVALID


def seal_of(
    view: ReadOnlyStore, log: Log, tp: TopicPartition, offset: int, keys: Keys
) -> Seal | None:
    """Return the checkpoint over a record, with all of it checked; None if there is none."""
    checkpoint = _choose(checkpoints_over(view, tp, offset), keys)
    if checkpoint is None:
        return None
    signature = check_signature(checkpoint, keys)
    before = _head_before(view, tp, checkpoint)
    begin = checkpoint["start"] if before is None else before.offset
    if before is None or signature is not Signature.VALID:
        return Seal(checkpoint, begin, signature, RecordsMatch.NOT_CHECKED)
    match = _compare_records(log, before, checkpoint)
    if match is RecordsMatch.DIFFER:
        signature = Signature.INVALID
    return Seal(checkpoint, begin, signature, match)


def last_checkpoint(view: ReadOnlyStore, tp: TopicPartition, keys: Keys) -> Checkpoint | None:
    """Return the checkpoint of a partition that covers the most, a valid one if there is one."""
    return _choose(checkpoints_back(view, tp), keys)


def _choose(candidates: Iterator[Checkpoint], keys: Keys) -> Checkpoint | None:
    """Return the first candidate with a valid signature; else, or without keys, the first."""
    first: Checkpoint | None = None
    for candidate in islice(candidates, _MAX_CANDIDATES):
        if not keys or signature_fault(candidate, keys) is None:
            return candidate
        first = first or candidate
    return first


def _head_before(view: ReadOnlyStore, tp: TopicPartition, checkpoint: Checkpoint) -> Head | None:
    """Return the head that a checkpoint continues, None if what it names is not there."""
    if checkpoint["sequence"] == 1:
        return Head.genesis(tp, checkpoint["start"])
    for candidate in islice(checkpoints_back(view, tp, checkpoint["offset"]), _MAX_CANDIDATES):
        if sha256_hex(canonical_json(dict(candidate))) == checkpoint["previous_sha256"]:
            return Head.genesis(tp, 0).behind(candidate)
    return None


def _compare_records(log: Log, before: Head, checkpoint: Checkpoint) -> RecordsMatch:
    tp, end = before.tp, checkpoint["offset"]
    if not 0 <= end - before.offset <= MAX_SPAN:
        return RecordsMatch.NOT_CHECKED
    if before.offset < log.starts([tp])[tp] or end > log.ends([tp])[tp]:
        return RecordsMatch.DIFFER
    records = read_span(log, {tp: before.offset}, {tp: end})
    if records is None:
        return RecordsMatch.NOT_CHECKED
    digest = before.over(records).digest.hex()
    same = digest == checkpoint["running_sha256"]
    return RecordsMatch.MATCH if same else RecordsMatch.DIFFER


def read_span(
    log: Log, begins: dict[TopicPartition, int], ends: dict[TopicPartition, int]
) -> list[Record] | None:
    """Read all records between offsets of partitions, None if Kafka takes longer than a while."""
    records: list[Record] = []
    deadline = time.monotonic() + PATIENCE_S
    with log.reader(begins) as reader:
        while any(reader.position(tp) < end for tp, end in ends.items()):
            if time.monotonic() > deadline:
                return None
            records += _below(ends, reader.poll(_POLL_S))
    return records


def _below(ends: dict[TopicPartition, int], records: Iterable[Record]) -> list[Record]:
    return [
        record
        for record in records
        if record.offset < ends[TopicPartition(record.topic, record.partition)]
    ]
