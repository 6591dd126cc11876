"""Verification of the facts against the log: its tree, its heads, and each record by its entry.

The log is read twice: for its tree, which says what is published, and then with the records, so
that only a portion of it is in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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


class LogTree(NamedTuple):
    """The log on Kafka, read to its end.

    heads: all that a key of the log has signed.  head: the newest of them that is a root of the
    log, and that the policy accepts.
    """

    heads: Sequence[SignedHead]
    state: EntrySequence
    head: SignedHead | None
    ends: Mapping[TopicPartition, int]

    @property
    def published(self) -> int:
        """Return the number of published entries."""
        return 0 if self.head is None else self.head.checkpoint.size


def read_tree(log: Log, prefix: str, policy: Policy, origin: str) -> LogTree:
    """Read the heads and the batches of a log.  Raises BrokerUnavailable, TopicsMismatch."""
    heads = read_heads(log, prefix, policy, origin)  # first: the log is at least as long
    sizes = {head.checkpoint.size for head in heads}
    state = EntrySequence(origin, policy.keys_of(origin), sizes)
    tps = partitions(log, [full_name(AUDIT_ENTRIES, prefix)])
    ends = log.high_watermarks(tps)
    for record in records(log, tps, ends):
        state.read(record)
    head = choose_newest(each for each in heads if _is_good(each, state, policy))
    return LogTree(heads, state, head, ends)


def read_batches(log: Log, tree: LogTree, policy: Policy) -> Iterator[list[bytes]]:
    """Read the log again; yield the entries of each batch that counts."""
    again = EntrySequence(tree.state.origin, policy.keys_of(tree.state.origin))
    for record in records(log, list(tree.ends), tree.ends):
        yield again.read(record)


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
    tree = read_tree(log, prefix, policy, origin)
    (entries,), state = tree.ends, tree.state
    conflicts = _find_conflicts(tree.heads, state, full_name(AUDIT_TREE_HEADS, prefix))
    comparison = RecordComparison(log, covered, tps, tree.published)
    for lines in read_batches(log, tree, policy):
        comparison.take(lines)
    coverage = tuple(comparison.close())
    invalid = [_invalid_batch(entries, offset) for offset in state.invalid]
    findings = (*conflicts, *invalid, *comparison.findings)
    return LogResult(origin, state.size, tree.head, state.refused, findings, coverage)


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
