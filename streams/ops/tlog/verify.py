"""Verification of the facts against the log: its tree, its heads, and each record by its entry.

The log is read twice: for its tree, which says what is published, and then with the records, so
that only a portion of it is in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from streams.engine.log import Log
from streams.engine.records import TopicPartition
from streams.log.reading import partitions, records
from streams.ops.audit.verify import Violation
from streams.ops.tlog.batches import EntrySequence
from streams.ops.tlog.comparison import Coverage, RecordComparison
from streams.ops.tlog.heads import SignedHead, choose_newest, read_heads
from streams.ops.tlog.policy import Policy
from streams.ops.tlog.receipt import judge_note
from topology.core import AUDIT_ENTRIES, AUDIT_TREE_HEADS
from topology.topics import full_name


class LogResult(NamedTuple):
    """The result of a verification; without findings, all records are as they were logged.

    size: of the log.  head: the newest that the policy accepts.  refused: how many records among
    the batches did not count.  partitions: those that were asked for, by name.
    """

    origin: str
    size: int
    head: SignedHead | None
    refused: int
    findings: tuple[Violation, ...]
    partitions: tuple[Coverage, ...]

    @property
    def uncovered(self) -> tuple[Coverage, ...]:
        """Return the partitions with records that no published entry covers."""
        return tuple(each for each in self.partitions if each.beyond)


def verify_log(
    log: Log,
    prefix: str,
    policy: Policy,
    origin: str,
    covered: Sequence[TopicPartition],
    tps: Collection[TopicPartition],
) -> LogResult:
    """Read a log and the records of some of its partitions, and hold them against each other.

    covered: all partitions whose records have entries.  tps: those whose records are compared.
    Raises BrokerUnavailable, TopicsMismatch.
    """
    heads = read_heads(log, prefix, policy, origin)  # first: the log is at least as long
    keys = policy.keys_of(origin)
    state = EntrySequence(origin, keys, {head.checkpoint.size for head in heads})
    (entries,) = partitions(log, [full_name(AUDIT_ENTRIES, prefix)])
    ends = log.high_watermarks([entries])
    for record in records(log, [entries], ends):
        state.read(record)
    conflicts = _find_conflicts(heads, state, full_name(AUDIT_TREE_HEADS, prefix))
    head = choose_newest(each for each in heads if _is_good(each, state, policy))
    published = 0 if head is None else head.checkpoint.size
    comparison = RecordComparison(log, covered, tps, published)
    again = EntrySequence(origin, keys)
    for record in records(log, [entries], ends):
        comparison.take(again.read(record))
    coverage = tuple(comparison.close())
    invalid = [_invalid_batch(entries, offset) for offset in state.invalid]
    findings = (*conflicts, *invalid, *comparison.findings)
    return LogResult(origin, state.size, head, state.refused, findings, coverage)


def _is_good(head: SignedHead, state: EntrySequence, policy: Policy) -> bool:
    """Return whether a head is a root of the log, and the policy accepts it."""
    checkpoint = head.checkpoint
    is_root = state.roots.get(checkpoint.size) == checkpoint.root
    return is_root and judge_note(head.note, checkpoint, policy).fault is None


def _find_conflicts(
    heads: Iterable[SignedHead], state: EntrySequence, topic: str
) -> list[Violation]:
    findings: list[Violation] = []
    for head in heads:
        size = head.checkpoint.size
        root = state.roots.get(size)
        if root == head.checkpoint.root:
            continue
        fault = f"ends at {state.size}" if root is None else "has another root there"
        what = f"a checkpoint of {size} entries is signed, and the log {fault}"
        offset = head.offset or 0
        findings.append(Violation(f"{topic}/0", offset, offset, "head_conflict", what))
    return findings


def _invalid_batch(entries: TopicPartition, offset: int) -> Violation:
    what = "the batch is signed, and its entries are malformed or not as many as it says"
    place = f"{entries.topic}/{entries.partition}"
    return Violation(place, offset, offset, "batch_invalid", what)
