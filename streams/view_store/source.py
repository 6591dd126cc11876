"""What a view follows on the log, and whether a kept copy may go on from where it stands."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from streams.engine.log import Log
from streams.engine.records import TopicPartition
from streams.errors import TopicsMismatch
from streams.view_store.rows import FOLLOWED
from topology import topics
from topology.declarations import Kind
from topology.keeping import DELETE_RETENTION_MS

FORMAT = 7
"""Raised when the rows of a view change their form; older copies are then rebuilt."""


_ANOTHER = "the topics, the cluster or the form of the rows are not those of the copy"


class Source:
    """The followed topics with this prefix.  Raises TopicsMismatch when one is missing."""

    def __init__(self, log: Log, prefix: str) -> None:
        self._log = log
        self.topics = {prefix + name: topics.BY_NAME[name] for name in FOLLOWED}
        there = log.topics()
        missing = sorted(set(self.topics) - set(there))
        if missing:
            raise TopicsMismatch(f"topics are missing: {', '.join(missing)}")
        followed = [there[name] for name in sorted(self.topics)]
        self.partitions = [TopicPartition(t.name, n) for t in followed for n in range(t.partitions)]
        self._identity = {
            "format": FORMAT,
            "cluster": log.cluster_id(),
            "topics": log.topic_ids([topic.name for topic in followed]),
        }

    def of_task(self, number: int) -> list[TopicPartition]:
        """Where a task writes: the partitions of its number, and that of dead letters."""
        return [
            tp
            for tp in self.partitions
            if tp.partition == number or self.topics[tp.topic].kind is Kind.DEAD_LETTER
        ]

    def moved(self) -> str | None:
        """Why these topics cannot be those that they were, without a look at their ids."""
        return None if self._log.cluster_id() == self._identity["cluster"] else _ANOTHER

    @property
    def identity(self) -> bytes:
        """What must not change under a kept copy."""
        return orjson.dumps(self._identity, option=orjson.OPT_SORT_KEYS)

    def why_not(
        self,
        kept: bytes | None,
        positions: Mapping[TopicPartition, int],
        at_end_ms: int,
        now_ms: int,
    ) -> str | None:
        """Why a copy cannot go on from these positions, None if it can.

        kept: its identity.  at_end_ms: when it had last read everything.
        """
        if kept is None:
            return "there was no copy"
        if kept != self.identity:
            return _ANOTHER
        starts = self._log.starts(self.partitions)
        ends = self._log.high_watermarks(self.partitions)  # the LSO may lie below what was read
        for tp in self.partitions:
            if not starts[tp] <= positions[tp] <= ends[tp]:
                return (
                    f"{tp.topic}/{tp.partition} holds offsets {starts[tp]} to {ends[tp]},"
                    f" the copy stands at {positions[tp]}"
                )
        behind = any(positions[tp] < ends[tp] for tp in self.partitions)
        if behind and at_end_ms < now_ms - DELETE_RETENTION_MS:
            return "the copy is so old that it may have missed deletions"
        return None
