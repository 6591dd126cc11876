"""Checking the MACs of records that are read (see `streams.engine.record_mac`).

A reader keeps the last accepted serial of each task in each partition, with the positions that it
stores.  A log that is older than its keys is read with HEADRACE_MAC_SINCE: facts, edges and
messages between processors without a MAC of these keys count if they are older and lie before the
first one with such a MAC in their partition; rows there have been signed again further on, and are
passed over.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from streams.engine.record_mac import (
    REDRIVE_TASK,
    MacHeader,
    MacInput,
    mac_header,
    parse_header,
    record_macs,
    split_mac_keys,
)
from streams.engine.records import Record, TopicPartition
from streams.settings.formats import since_ms
from streams.settings.service import ServiceSettings
from topology.declarations import Topic
from topology.headers import has_mac
from topology.keys import partition_of

MISSING = "mac_missing"
INVALID = "mac_invalid"
OTHER_TASK = "mac_task"
REPLAYED = "mac_replayed"
KEY_PARTITION = "key_partition"
REASONS = (MISSING, INVALID, OTHER_TASK, REPLAYED, KEY_PARTITION)
UNSIGNED_BEFORE = "unsigned_before"
"""The result of a row that is older than the first MAC of its partition: neither used nor counted,
since `headrace topics sign` has written it again."""

_partition_of = lru_cache(maxsize=4096)(partition_of)
Serials = MutableMapping[TopicPartition, dict[int, int]]
"""The last accepted serial of each task, by partition."""


class _Rule(NamedTuple):
    """The rule for the records of a topic.

    is_row: whether they are rows of a table.  by_key: whether their key decides the partition;
    otherwise the task of that number writes it.
    """

    is_row: bool
    by_key: bool


class Judgement(NamedTuple):
    """The result of checking a record.

    reason: why it is refused, None if it counts.  header: that of a genuine MAC.
    """

    reason: str | None
    header: MacHeader | None


_COUNTS = Judgement(None, None)


class MacChecks:
    """The keys of a reader, and the topics whose records must have a MAC.

    since: the time in ms before which records have none; None if all must have one.
    """

    def __init__(
        self,
        keys: Sequence[bytes],
        topics: Iterable[Topic],
        prefix: str,
        partitions: int,
        since: int | None = None,
    ) -> None:
        self._keys, self._partitions, self.since = tuple(keys), partitions, since
        self._rules: Mapping[str, _Rule] = {
            prefix + topic.name: _Rule(
                topic.compacted, not (topic.compacted or topic.same_partition)
            )
            for topic in topics
            if has_mac(topic)
        }

    @classmethod
    def of(cls, settings: ServiceSettings, topics: Iterable[Topic]) -> MacChecks | None:
        """Return the checks of a process; None without HEADRACE_MAC_KEY."""
        keys = split_mac_keys(settings.mac_key)
        if not keys:
            return None
        return cls(keys, topics, settings.prefix, settings.partitions, since_ms(settings.mac_since))

    def covers(self, topic: str) -> bool:
        """Return whether records of the topic (full name) must have a MAC."""
        return topic in self._rules

    def reasons(self, records: Sequence[Record], serials: Serials) -> list[str | None]:
        """Return why each record is refused, None for one that counts.  Log order per partition.

        serials: updated with the serials of the records that count.
        """
        return [each.reason for each in self.judge(records, serials)]

    def judge(self, records: Sequence[Record], serials: Serials) -> list[Judgement]:
        """Return the judgement on each record, in log order per partition; see `reasons`."""
        parsed = [
            self._parse(record) if record.topic in self._rules else None for record in records
        ]
        genuine = iter(self._verify([pair for pair in parsed if pair and pair[1] is not None]))
        judgements = []
        for record, pair in zip(records, parsed, strict=True):
            if pair is None:
                judgements.append(_COUNTS)
                continue
            header = pair[1]
            is_genuine = header is not None and next(genuine)
            reason = self._reason(record, header, is_genuine, serials)
            judgements.append(Judgement(reason, header if is_genuine else None))
        return judgements

    @staticmethod
    def _parse(record: Record) -> tuple[Record, MacHeader | None]:
        text = mac_header(record.headers)
        return record, None if text is None else parse_header(text)

    def _verify(self, pairs: Sequence[tuple[Record, MacHeader | None]]) -> list[bool]:
        """Return whether the MAC of each record holds under one of the keys."""
        headers = [header for _, header in pairs if header is not None]
        inputs: list[MacInput] = [
            (record.topic, record.key, record.value, header.task, header.serial)
            for (record, _), header in zip(pairs, headers, strict=True)
        ]
        valid = [False] * len(inputs)
        left = list(range(len(inputs)))
        for key in self._keys:
            macs = record_macs(key, [inputs[n] for n in left])
            for n, mac in zip(left, macs, strict=True):
                valid[n] = hmac.compare_digest(mac, headers[n].mac)
            left = [n for n in left if not valid[n]]
            if not left:
                break
        return valid

    def _reason(
        self, record: Record, header: MacHeader | None, is_genuine: bool, serials: Serials
    ) -> str | None:
        rule = self._rules[record.topic]
        tp = TopicPartition(record.topic, record.partition)
        if header is None or not is_genuine:
            if tp not in serials and self.since is not None and record.timestamp < self.since:
                return UNSIGNED_BEFORE if rule.is_row else None
            return MISSING if mac_header(record.headers) is None else INVALID
        if rule.by_key:
            if _partition_of(record.key or b"", self._partitions) != record.partition:
                return KEY_PARTITION
            if not REDRIVE_TASK <= header.task < self._partitions:
                return OTHER_TASK
        elif header.task != record.partition:
            return OTHER_TASK
        accepted = serials.setdefault(tp, {})
        if header.serial <= accepted.get(header.task, 0):
            return REPLAYED
        accepted[header.task] = header.serial
        return None


def dump_serials(serials: Serials) -> dict[str, dict[str, int]]:
    """Return serials in a form for JSON."""
    return {
        f"{tp.topic}/{tp.partition}": {str(task): serial for task, serial in last.items()}
        for tp, last in serials.items()
    }


def load_serials(value: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, dict[int, int]]:
    """Return the serials that `dump_serials` has made a value for JSON of."""
    return {
        TopicPartition(*_parse_place(place)): {int(task): n for task, n in last.items()}
        for place, last in value.items()
    }


def _parse_place(place: str) -> tuple[str, int]:
    topic, _, partition = place.rpartition("/")
    return topic, int(partition)
