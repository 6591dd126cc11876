"""The audit writer: it follows the facts and writes signed checkpoints over them.

There is one chain per partition, however many writers run: each checkpoint is written in a
transaction of one transactional id, so a new writer fences the previous one and continues from what
that one has committed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from schemas import encode
from streams.engine.log import Log, Reader
from streams.engine.records import Output, Record, TopicPartition
from streams.errors import Fenced, InputTruncated, SettingsError
from streams.log.reading import partitions, records
from streams.ops.audit.chain import COVERED, Head, partition_of, read, signature_fault
from streams.ops.audit.keys import Keys, Signer
from streams.settings import Settings
from streams.telemetry.progress import progress
from topology.core import AUDIT_CHECKPOINTS, AUDIT_ENTRIES
from topology.topics import full_name

AT_ONCE = 200_000
"""Number of records after which `read` returns, so that they are sealed, even if there are more."""
_POLL_S = 0.2
_RECORD = AUDIT_CHECKPOINTS.record or ""


class AuditWriter:
    """The writer of all chains of an environment.

    clock: ms since the epoch.  before: public keys that the signer's key has replaced.

    Opening raises BrokerUnavailable, TopicsMismatch, SettingsError, InputTruncated.
    """

    def __init__(
        self,
        log: Log,
        settings: Settings,
        signer: Signer,
        clock: Callable[[], int],
        before: Keys | None = None,
    ) -> None:
        verifier = signer.verifier
        self._keys: Keys = {**(before or {}), verifier.id: verifier}
        self._log, self._prefix, self._signer, self._clock = log, settings.prefix, signer, clock
        self._topic = full_name(AUDIT_CHECKPOINTS, settings.prefix)
        self._producer = log.producer(f"{settings.prefix}headrace-audit")
        self._heads: dict[TopicPartition, Head] = {}
        self._checkpointed: dict[TopicPartition, int] = {}
        self._reader: Reader | None = None

    def __enter__(self) -> Self:
        self._check_no_log()
        self._producer.open()  # first: it fences the previous writer, so the log is final
        self._heads = heads(self._log, self._prefix, self._keys)
        self._check_not_truncated()
        self._checkpointed = {tp: head.offset for tp, head in self._heads.items() if head.sequence}
        self._reader = self._log.reader({tp: head.offset for tp, head in self._heads.items()})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._reader is not None:
            self._reader.close()
        self._producer.close()

    def _check_no_log(self) -> None:
        """Raise SettingsError if a transparency log was begun, which no chain goes on beside."""
        tp = TopicPartition(full_name(AUDIT_ENTRIES, self._prefix), 0)
        if tp.topic in self._log.topics() and self._log.high_watermarks([tp])[tp]:
            raise SettingsError(
                "the facts have a transparency log, and so no new checkpoints of chains",
                advice="Set HEADRACE_TLOG_POLICY to the policy of the log.",
            )

    def _check_not_truncated(self) -> None:
        """Raise InputTruncated if the next record of a chain is not on the log any more."""
        starts, ends = self._log.starts(list(self._heads)), self._log.ends(list(self._heads))
        for tp, head in self._heads.items():
            if not starts[tp] <= head.offset <= ends[tp]:
                raise InputTruncated(
                    f"{tp.topic}/{tp.partition} holds offsets {starts[tp]} to {ends[tp]}, its chain"
                    f" covers up to {head.offset}",
                    advice="Facts were removed: `headrace audit verify` says what is missing.",
                )

    def read(self) -> int:
        """Hash the records that are there now, `AT_ONCE` at most; return their number."""
        assert self._reader is not None, "the writer is open"
        ends = self._log.ends(list(self._heads))
        missing = sum(max(0, end - self._heads[tp].offset) for tp, end in ends.items())
        count = 0
        with progress("audit", total=missing) as bar:
            while count < AT_ONCE and any(
                self._reader.position(tp) < end for tp, end in ends.items()
            ):
                records = self._reader.poll(_POLL_S)
                self._hash_records(records)
                bar.advance(len(records))
                count += len(records)
        return count

    def _hash_records(self, records: list[Record]) -> None:
        groups: dict[TopicPartition, list[Record]] = {}
        for record in records:
            tp = TopicPartition(record.topic, record.partition)
            groups.setdefault(tp, []).append(record)
        for tp, group in groups.items():
            self._heads[tp] = self._heads[tp].over(group)

    def seal(self) -> list[dict[str, Any]]:
        """Write a checkpoint for each partition that has grown; return them (AuditCheckpoint).

        Raises Fenced if another writer has begun, CommitFailed, BrokerUnavailable.
        """
        at = self._clock()
        grown = [
            h for tp, h in self._heads.items() if h.offset > self._checkpointed.get(tp, h.start)
        ]
        sealed = [head.sealed(self._signer, at) for head in grown]
        if sealed:
            self._commit([checkpoint for _, checkpoint in sealed])
        for head, _ in sealed:
            self._heads[head.tp], self._checkpointed[head.tp] = head, head.offset
        return [checkpoint for _, checkpoint in sealed]

    def _commit(self, checkpoints: list[dict[str, Any]]) -> None:
        outputs = [
            Output(self._topic, f"{c['topic']}/{c['partition']}".encode(), encode(_RECORD, c))
            for c in checkpoints
        ]
        try:
            self._producer.commit(outputs)
        except Fenced as exc:
            raise Fenced(
                "another audit writer has begun and takes over", advice="Run one at a time."
            ) from exc


def checkpoints(log: Log, prefix: str) -> list[Mapping[str, Any]]:
    """Return all checkpoints (AuditCheckpoint), those of a chain in log order.

    Records that are not checkpoints are skipped: a client that may write there but has no key must
    not stop the audit.
    """
    tps = partitions(log, [full_name(AUDIT_CHECKPOINTS, prefix)])
    stored = records(log, tps, log.high_watermarks(tps))
    return [checkpoint for checkpoint in map(read, stored) if checkpoint is not None]


def heads(log: Log, prefix: str, keys: Keys) -> dict[TopicPartition, Head]:
    """Return the head of each chain; for a partition without a chain, its beginning.

    Checkpoints that these keys have not signed are skipped, and so are repeated ones: any client
    may have written them.  Raises SettingsError if a chain has only unverified checkpoints.
    """
    tps = partitions(log, [full_name(topic, prefix) for topic in COVERED])
    chain_heads = {tp: Head.genesis(tp, start) for tp, start in log.starts(tps).items()}
    foreign: dict[TopicPartition, str] = {}
    for checkpoint in checkpoints(log, prefix):
        tp, fault = partition_of(checkpoint), signature_fault(checkpoint, keys)
        if fault is not None:
            foreign[tp] = fault
        elif tp in chain_heads and checkpoint["sequence"] > chain_heads[tp].sequence:
            chain_heads[tp] = chain_heads[tp].behind(checkpoint)
    for tp, fault in foreign.items():
        if tp in chain_heads and not chain_heads[tp].sequence:
            raise SettingsError(
                f"the last checkpoint of {tp.topic}/{tp.partition} {fault}",
                advice="Sign with that key, or name its public key with --previous-key.",
            )
    return chain_heads
