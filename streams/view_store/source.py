"""The topics that a view follows, and the check whether an existing store can be continued."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from streams.engine.log import Log
from streams.engine.mac_checks import MacChecks
from streams.engine.records import TopicPartition
from streams.errors import TopicsMismatch
from streams.view_store.rows import FOLLOWED
from streams.view_store.unlogged import watch_unlogged
from streams.views.projection import Apply
from topology import topics
from topology.declarations import TopicKind
from topology.retention import DELETE_RETENTION_MS

if TYPE_CHECKING:
    from streams.view_store.transparency import TransparencyLog

FORMAT = 14
"""Incremented when the format of a view's rows changes; older stores are then rebuilt."""

_IDENTITY_CHANGED = "the topics, the cluster or the form of the rows are not those of the copy"


class Source:
    """The followed topics with this prefix.  Raises TopicsMismatch if one is missing.

    transparency: the transparency log that is followed too, if there is one.
    macs: the checks of its records; rows that were made without them are made anew.
    followed: the projections by topic, without prefix.
    """

    def __init__(
        self,
        log: Log,
        prefix: str,
        transparency: TransparencyLog | None = None,
        macs: MacChecks | None = None,
    ) -> None:
        self._log = log
        self.followed: Mapping[str, Apply | None] = FOLLOWED
        if transparency is not None:
            watched = watch_unlogged(FOLLOWED)
            self.followed = {**FOLLOWED, **watched, **transparency.projections}
        declared = {topic.name: topic for topic in topics.EVERY}
        self.topics = {prefix + name: declared[name] for name in self.followed}
        metadata = log.topics()
        missing = sorted(set(self.topics) - set(metadata))
        if missing:
            raise TopicsMismatch(f"topics are missing: {', '.join(missing)}")
        topic_metadata = [metadata[name] for name in sorted(self.topics)]
        self.partitions = [
            TopicPartition(t.name, n) for t in topic_metadata for n in range(t.partitions)
        ]
        self._identity: dict[str, Any] = {
            "format": FORMAT,
            "cluster": log.cluster_id(),
            "topics": log.topic_ids([topic.name for topic in topic_metadata]),
        }
        if transparency is not None:
            self._identity["transparency"] = transparency.identity
        if macs is not None:
            self._identity["macs"] = macs.since

    def of_task(self, number: int) -> list[TopicPartition]:
        """Return the partitions that a task writes: those of its number and all dead letters."""
        return [
            tp
            for tp in self.partitions
            if tp.partition == number or self.topics[tp.topic].kind is TopicKind.DEAD_LETTER
        ]

    def identity_change(self) -> str | None:
        """Return why these topics cannot be the same as before, without a check of their ids."""
        return None if self._log.cluster_id() == self._identity["cluster"] else _IDENTITY_CHANGED

    @property
    def identity(self) -> bytes:
        """Return what must not change for a store that is continued."""
        return orjson.dumps(self._identity, option=orjson.OPT_SORT_KEYS)

    def why_not(
        self,
        stored_identity: bytes | None,
        positions: Mapping[TopicPartition, int],
        at_end_ms: int,
        now_ms: int,
    ) -> str | None:
        """Return why a store cannot be continued from these positions, None if it can.

        stored_identity: its identity.  at_end_ms: when it had last read everything.
        """
        if stored_identity is None:
            return "there was no copy"
        if stored_identity != self.identity:
            return _IDENTITY_CHANGED
        starts = self._log.starts(self.partitions)
        ends = self._log.high_watermarks(self.partitions)  # the LSO may be below the positions
        for tp in self.partitions:
            if not starts[tp] <= positions[tp] <= ends[tp]:
                return (
                    f"{tp.topic}/{tp.partition} holds offsets {starts[tp]} to {ends[tp]},"
                    f" the copy stands at {positions[tp]}"
                )
        is_behind = any(positions[tp] < ends[tp] for tp in self.partitions)
        if is_behind and at_end_ms < now_ms - DELETE_RETENTION_MS:
            return "the copy is so old that it may have missed deletions"
        return None
