"""Counts of the dead letters that were not sent back, kept by a thread beside the requests.

Offsets alone do not give the count, because markers of transactions take offsets too.  So the
thread reads the topics and keeps the offset of each dead letter until retention deletes it or it
is sent back.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress

from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.errors import HeadraceError
from streams.log.dead_letters import TOPICS
from streams.log.reading import partitions, records
from streams.log.redrive_facts import origin_of_fact
from streams.views.parse import QueryError, parse_position
from topology.core import AUDIT_REDRIVES

EVERY_S = 10.0
_log = logging.getLogger("streams.gateway")


class DeadLetters:
    """The counter.  counts: by dead letter topic without prefix, as last read; 0 before `start`."""

    def __init__(self, log: Log, prefix: str) -> None:
        self._log = log
        self._prefix = prefix
        self._redrives = prefix + AUDIT_REDRIVES.name
        self._stopping = threading.Event()
        self._read_to: dict[TopicPartition, int] = {}
        self._offsets: dict[TopicPartition, set[int]] = defaultdict(set)
        self._redriven: dict[TopicPartition, set[int]] = defaultdict(set)
        self.counts: Mapping[str, int] = {topic.name: 0 for topic in TOPICS}

    def start(self) -> None:
        threading.Thread(target=self._follow, name="dead-letters", daemon=True).start()

    def stop(self) -> None:
        """Stop without waiting for a request that may never be answered."""
        self._stopping.set()

    def _follow(self) -> None:
        while not self._stopping.is_set():
            try:
                self.read_new()
            except HeadraceError as exc:
                _log.info("dead letters are not counted: %s", exc.message)
            self._stopping.wait(EVERY_S)

    def read_new(self) -> None:
        """Read to the current end offsets.  Raises BrokerUnavailable, TopicsMismatch."""
        names = [self._prefix + topic.name for topic in (*TOPICS, AUDIT_REDRIVES)]
        tps = partitions(self._log, names)
        starts, ends = self._log.starts(tps), self._log.ends(tps)
        begins = {tp: max(starts[tp], self._read_to.get(tp, 0)) for tp in tps}
        for record in records(self._log, tps, ends, begins):
            self._index_record(record)
        self._read_to = {tp: max(begins[tp], ends[tp]) for tp in tps}
        self.counts = {
            topic.name: self._count(self._prefix + topic.name, tps, starts) for topic in TOPICS
        }

    def _index_record(self, record: Record) -> None:
        """Index a dead letter, or the fact that one was sent back."""
        if record.topic != self._redrives:
            self._offsets[TopicPartition(record.topic, record.partition)].add(record.offset)
            return
        origin = origin_of_fact(record)
        with suppress(QueryError):
            topic, partition, offset = parse_position(origin.place if origin else "")
            self._redriven[TopicPartition(topic, partition)].add(offset)

    def _count(
        self, name: str, tps: list[TopicPartition], starts: Mapping[TopicPartition, int]
    ) -> int:
        count = 0
        for tp in (tp for tp in tps if tp.topic == name):
            offsets = {
                offset for offset in self._offsets[tp] - self._redriven[tp] if offset >= starts[tp]
            }
            self._offsets[tp] = offsets
            count += len(offsets)
        return count
