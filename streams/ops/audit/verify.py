"""Verification of records against the signed chains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from schemas.formats import iso_ms
from streams.engine.records import Record, TopicPartition
from streams.ops.audit.chain import ZEROS, Head, partition_of, signature_fault
from streams.ops.audit.keys import Keys

Checkpoint = Mapping[str, Any]
UNCOVERED_MS = 600_000
"""How long records may be without a checkpoint; a writer seals them within seconds."""


class Violation(NamedTuple):
    """One violation.

    place: topic/partition.  first, last: the offsets between which it lies.  what: a sentence.
    code: checkpoint_invalid, chain_broken, records_differ or records_missing; of a transparency
    log also records_added, order_invalid, batch_invalid or head_conflict.
    """

    place: str
    first: int
    last: int
    code: str
    what: str


class ChainStatus(NamedTuple):
    """The result for one partition.

    sequence, offset, at: of the last checkpoint; 0, 0 and None without one.
    records: how many the chain covers.  beyond: how many records come after the last checkpoint.
    uncovered_since: when the oldest of these was written, in ms since the epoch; None without one.
    """

    place: str
    sequence: int
    offset: int
    records: int
    at: str | None
    beyond: int
    uncovered_since: int | None = None


class Chain:
    """The checkpoints of one partition, compared with its records as they are read.

    A chain that does not begin with checkpoint 1 is broken; it is followed from its first one.
    After a difference the check continues from the values of the next checkpoint.  A repeated
    checkpoint is a violation too, and the check does not continue from it.
    """

    def __init__(self, tp: TopicPartition, checkpoints: Sequence[Checkpoint], keys: Keys) -> None:
        self.tp = tp
        self.findings: list[Violation] = []
        self._pending = self._verify_signatures(checkpoints, keys)
        self._last = self._pending[-1] if self._pending else None
        start = self._pending[0]["start"] if self._pending else 0
        self._head = self._last_head = Head.genesis(tp, start)
        self._is_complete = not self._pending or self._pending[0]["sequence"] == 1
        if not self._is_complete:
            self._head = self._last_head = self._head.behind(self._pending.pop(0))
        self.begin = self._head.offset
        self._beyond = self._below = 0
        self._uncovered_since: int | None = None

    @property
    def partition_name(self) -> str:
        return f"{self.tp.topic}/{self.tp.partition}"

    def take(self, record: Record) -> None:
        """Hash the next record of the partition; records come in log order."""
        if record.offset < self.begin:
            self._below += 1
            return
        while self._pending and record.offset >= self._pending[0]["offset"]:
            self._compare(self._pending.pop(0))
        if self._pending:
            self._head = self._head.over([record])
        else:
            self._beyond += 1
            since = self._uncovered_since
            self._uncovered_since = min(record.timestamp, since or record.timestamp)

    def close(self) -> ChainStatus:
        """Check the remaining checkpoints after the last record; return the result."""
        while self._pending:
            self._compare(self._pending.pop(0))
        if self._below and self._is_complete:
            what = f"{self._below} records lie below the offset {self.begin} that it begins at"
            self._add_finding(0, self.begin - 1, "records_differ", what)
        last = self._last
        if last is None:
            return ChainStatus(self.partition_name, 0, 0, 0, None, *self._uncovered)
        counts = (last["sequence"], last["offset"], last["records"])
        return ChainStatus(self.partition_name, *counts, iso_ms(last["at"]), *self._uncovered)

    @property
    def _uncovered(self) -> tuple[int, int | None]:
        return self._beyond, self._uncovered_since

    def _compare(self, checkpoint: Checkpoint) -> None:
        """Compare the running hash with a checkpoint; all records below its offset were read."""
        if self._head.digest.hex() != checkpoint["running_sha256"]:
            first, last = self._last_head.offset, checkpoint["offset"] - 1
            missing = checkpoint["records"] - self._head.records
            what = "a record was changed or moved"
            if missing:
                what = f"{abs(missing)} records are {'missing' if missing > 0 else 'too many'}"
            code = "records_missing" if missing > 0 else "records_differ"
            self._add_finding(first, last, code, f"between the offsets {first} and {last} {what}")
        self._head = self._last_head = self._head.behind(checkpoint)

    def _verify_signatures(self, checkpoints: Sequence[Checkpoint], keys: Keys) -> list[Checkpoint]:
        """Return the checkpoints that the keys have signed; each must follow the one before."""
        signed: list[Checkpoint] = []
        for checkpoint in checkpoints:
            fault, code = signature_fault(checkpoint, keys), "checkpoint_invalid"
            if fault is None:
                fault, code = self._chain_fault(signed, checkpoint), "chain_broken"
                if not signed or checkpoint["sequence"] > signed[-1]["sequence"]:
                    signed.append(checkpoint)
            if fault is not None:
                text = f"checkpoint {checkpoint['sequence']} {fault}"
                self._add_finding(checkpoint["offset"], checkpoint["offset"], code, text)
        return signed

    def _chain_fault(self, before: Sequence[Checkpoint], checkpoint: Checkpoint) -> str | None:
        if not before:
            if checkpoint["sequence"] > 1:
                below = checkpoint["offset"]
                return f"is the first one there is: nothing shows what lies below offset {below}"
            begins = checkpoint["previous_sha256"] == ZEROS
            return None if begins else "is the first one and names another before it"
        head = Head.genesis(self.tp, 0).behind(before[-1])
        grows = checkpoint["offset"] >= head.offset and checkpoint["records"] >= head.records
        if (checkpoint["sequence"], checkpoint["previous_sha256"]) != (
            head.sequence + 1,
            head.previous,
        ):
            return f"does not follow checkpoint {head.sequence}, which is before it"
        return None if grows else "covers less than the one before it"

    def _add_finding(self, first: int, last: int, code: str, what: str) -> None:
        self.findings.append(Violation(self.partition_name, first, last, code, what))


class AuditResult(NamedTuple):
    """The result of a verification; without findings, all records are as they were signed."""

    partitions: tuple[ChainStatus, ...]
    findings: tuple[Violation, ...]

    @property
    def uncovered(self) -> tuple[ChainStatus, ...]:
        """Return the partitions with records that no checkpoint covers."""
        return tuple(each for each in self.partitions if each.beyond)

    def overdue(self, now_ms: int) -> bool:
        """Return whether records have been without a checkpoint for longer than a writer takes.

        So it is when the last checkpoints of a chain, or all of them, were removed.
        """
        oldest = min((each.uncovered_since or 0 for each in self.uncovered), default=now_ms)
        return oldest < now_ms - UNCOVERED_MS


def verify(
    records: Iterable[Record],
    checkpoints: Iterable[Checkpoint],
    tps: Iterable[TopicPartition],
    keys: Keys,
) -> AuditResult:
    """Verify records against their checkpoints.

    records: those of each partition in log order.  tps: partitions to report on in any case.
    """
    by_chain: dict[TopicPartition, list[Checkpoint]] = {tp: [] for tp in tps}
    for checkpoint in checkpoints:
        by_chain.setdefault(partition_of(checkpoint), []).append(checkpoint)
    chains = {tp: Chain(tp, chain_checkpoints, keys) for tp, chain_checkpoints in by_chain.items()}
    for record in records:
        tp = TopicPartition(record.topic, record.partition)
        if tp not in chains:  # no checkpoint covers it
            chains[tp] = Chain(tp, [], keys)
        chains[tp].take(record)
    standings = [chain.close() for _, chain in sorted(chains.items())]
    findings = [each for _, chain in sorted(chains.items()) for each in chain.findings]
    return AuditResult(tuple(standings), tuple(findings))
