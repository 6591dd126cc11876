"""Holding records against the chains that were signed over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from schemas.formats import iso_ms
from streams.engine.records import Record, TopicPartition
from streams.ops.audit.chain import ZEROS, Head, partition_of, signature_fault
from streams.ops.audit.keys import Keys

Checkpoint = Mapping[str, Any]


class Finding(NamedTuple):
    """place: topic/partition.  first, last: offsets between which it is; what: in words.

    code: checkpoint_invalid, chain_broken, records_differ or records_missing.
    """

    place: str
    first: int
    last: int
    code: str
    what: str


class Standing(NamedTuple):
    """A partition: what its chain covers, and how many records lie behind that.

    sequence, offset, at: of the last checkpoint; 0, 0 and None without one.
    """

    place: str
    sequence: int
    offset: int
    records: int
    at: str | None
    beyond: int


class Chain:
    """The checkpoints of one partition, held against its records as they come.

    A chain that does not begin with its first checkpoint is broken; it is followed from the one
    that it does begin with.  Behind a difference the check goes on from what the next checkpoint
    says.  A checkpoint that comes again is broken too, and not gone on from.
    """

    def __init__(self, tp: TopicPartition, checkpoints: Sequence[Checkpoint], keys: Keys) -> None:
        self.tp = tp
        self.findings: list[Finding] = []
        self._due = self._signed(checkpoints, keys)
        self._last = self._due[-1] if self._due else None
        start = self._due[0]["start"] if self._due else 0
        self._head = self._sealed = Head.genesis(tp, start)
        self._whole = not self._due or self._due[0]["sequence"] == 1
        if not self._whole:
            self._head = self._sealed = self._head.behind(self._due.pop(0))
        self.begin = self._head.offset
        self._beyond = self._below = 0

    @property
    def place(self) -> str:
        return f"{self.tp.topic}/{self.tp.partition}"

    def take(self, record: Record) -> None:
        """The next record of the partition, in the order of the log."""
        if record.offset < self.begin:
            self._below += 1
            return
        while self._due and record.offset >= self._due[0]["offset"]:
            self._hold(self._due.pop(0))
        if self._due:
            self._head = self._head.over([record])
        else:
            self._beyond += 1

    def close(self) -> Standing:
        """After the last record."""
        while self._due:
            self._hold(self._due.pop(0))
        if self._below and self._whole:
            what = f"{self._below} records lie below the offset {self.begin} that it begins at"
            self._note(0, self.begin - 1, "records_differ", what)
        last = self._last
        if last is None:
            return Standing(self.place, 0, 0, 0, None, self._beyond)
        counts = (last["sequence"], last["offset"], last["records"])
        return Standing(self.place, *counts, iso_ms(last["at"]), self._beyond)

    def _hold(self, checkpoint: Checkpoint) -> None:
        """All records below its offset have come."""
        if self._head.digest.hex() != checkpoint["running_sha256"]:
            first, last = self._sealed.offset, checkpoint["offset"] - 1
            missing = checkpoint["records"] - self._head.records
            what = "a record was changed or moved"
            if missing:
                what = f"{abs(missing)} records are {'missing' if missing > 0 else 'too many'}"
            code = "records_missing" if missing > 0 else "records_differ"
            self._note(first, last, code, f"between the offsets {first} and {last} {what}")
        self._head = self._sealed = self._head.behind(checkpoint)

    def _signed(self, checkpoints: Sequence[Checkpoint], keys: Keys) -> list[Checkpoint]:
        """Those that the keys have signed; of these each must follow the one before."""
        found: list[Checkpoint] = []
        for checkpoint in checkpoints:
            fault, code = signature_fault(checkpoint, keys), "checkpoint_invalid"
            if fault is None:
                fault, code = self._break(found, checkpoint), "chain_broken"
                if not found or checkpoint["sequence"] > found[-1]["sequence"]:
                    found.append(checkpoint)
            if fault is not None:
                text = f"checkpoint {checkpoint['sequence']} {fault}"
                self._note(checkpoint["offset"], checkpoint["offset"], code, text)
        return found

    def _break(self, before: Sequence[Checkpoint], checkpoint: Checkpoint) -> str | None:
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

    def _note(self, first: int, last: int, code: str, what: str) -> None:
        self.findings.append(Finding(self.place, first, last, code, what))


class Account(NamedTuple):
    """What a check has come to.  findings: none when all is as it was signed."""

    partitions: tuple[Standing, ...]
    findings: tuple[Finding, ...]


def verify(
    records: Iterable[Record],
    checkpoints: Iterable[Checkpoint],
    tps: Iterable[TopicPartition],
    keys: Keys,
) -> Account:
    """records: those of each partition in the order of the log.  tps: those to be looked at."""
    by_chain: dict[TopicPartition, list[Checkpoint]] = {tp: [] for tp in tps}
    for checkpoint in checkpoints:
        by_chain.setdefault(partition_of(checkpoint), []).append(checkpoint)
    chains = {tp: Chain(tp, found, keys) for tp, found in by_chain.items()}
    for record in records:
        tp = TopicPartition(record.topic, record.partition)
        if tp not in chains:  # no checkpoint speaks of it
            chains[tp] = Chain(tp, [], keys)
        chains[tp].take(record)
    standings = [chain.close() for _, chain in sorted(chains.items())]
    findings = [each for _, chain in sorted(chains.items()) for each in chain.findings]
    return Account(tuple(standings), tuple(findings))
