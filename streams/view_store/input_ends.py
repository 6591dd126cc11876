"""The ends of the input partitions, against which a view checks the causes of verdicts.

A verdict names the record that it answers.  Whoever may write to a fact or dead-letter topic can
name any record, also one that does not exist yet; believed, it would end every wait for the
records before it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from streams.engine.log import Log
from streams.engine.records import TopicPartition
from topology import topics


class InputEnds:
    """The input partitions that exist, with their ends as last read."""

    def __init__(self, log: Log, prefix: str) -> None:
        self._log = log
        names = {prefix + topic.name for topic in topics.ALL if topic.is_input}
        self._ends = {
            TopicPartition(name, number): 0
            for name, info in log.topics().items()
            if name in names
            for number in range(info.partitions)
        }

    def last_existing(
        self, offsets: Mapping[TopicPartition, Collection[int]]
    ) -> dict[TopicPartition, int]:
        """Return the greatest offset of each input partition that lies below its end.

        Reads the ends again if an offset lies beyond the known one.  Raises BrokerUnavailable.
        """
        inputs = {tp: numbers for tp, numbers in offsets.items() if tp in self._ends}
        stale = [tp for tp, numbers in inputs.items() if max(numbers) >= self._ends[tp]]
        self._ends.update(self._log.high_watermarks(stale))
        existing = {
            tp: max((n for n in numbers if n < self._ends[tp]), default=-1)
            for tp, numbers in inputs.items()
        }
        return {tp: offset for tp, offset in existing.items() if offset >= 0}
