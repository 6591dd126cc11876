"""Following one topic, decoded and read_committed, with a cursor to go on from.

A cursor of one session of `rtes.events` is `<session, percent-encoded>:<sequence>`, of the last
record seen.  Any other is `<partition>:<offset>` joined by commas, the last offset seen (sent or
filtered) of each partition; it names every partition from the start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.errors import NegativeAnswer, TopicsMismatch, UsageError
from streams.show import key_text, value_json
from topology.declarations import Topic
from topology.keys import partition_of
from topology.topics import RTES_EVENTS, full_name

_PARTITIONS = re.compile(r"[0-9]{1,9}:(-1|[0-9]{1,18})(,[0-9]{1,9}:(-1|[0-9]{1,18}))*")
_POLL_S = 0.1
_FROM_END = "latest"
_FROM_START = "earliest"


class CursorInvalid(UsageError):
    default_advice = "Give earliest, latest, or a cursor that an earlier tail printed."


class CursorExpired(NegativeAnswer):
    default_advice = "Begin with --from earliest."


class CursorAhead(NegativeAnswer):
    default_advice = "The topic was created anew since; begin with --from earliest."


class Seen(NamedTuple):
    """A record that passed the filters, and its value as JSON."""

    record: Record
    value: Any


@dataclass(frozen=True, slots=True)
class Filters:
    """session_id, kind (payload or packet type): None lets everything pass."""

    session_id: str | None = None
    kind: str | None = None

    def fit(self, record: Record, value: Any) -> bool:
        return self.session_id in (None, _session_of(record, value)) and (
            self.kind in (None, *_kinds_of(value))
        )


class Tail:
    """One reader of one topic.  start: earliest, latest or a cursor.

    Raises CursorInvalid, CursorExpired, CursorAhead.
    """

    def __init__(
        self, log: Log, topic: Topic, prefix: str, filters: Filters, start: str = _FROM_END
    ) -> None:
        self._topic = topic
        self._filters = filters
        there = log.topics().get(full_name(topic, prefix))
        if there is None:
            raise TopicsMismatch(f"topic {full_name(topic, prefix)} is missing")
        self._by_sequence = topic is RTES_EVENTS and filters.session_id is not None
        tps = [TopicPartition(there.name, number) for number in self._numbers(there.partitions)]
        self._starts, self.ends = log.starts(tps), log.ends(tps)
        self._sequence = self._highest = 0
        self._silent = False
        self._seen = dict(self._begin(start))
        self._reader = log.reader(self._seen)

    def _numbers(self, partitions: int) -> Sequence[int]:
        """Facts lie on the partition of what caused them, so a session's events lie on one."""
        if not self._by_sequence:
            return range(partitions)
        return [partition_of((self._filters.session_id or "").encode(), partitions)]

    def _begin(self, start: str) -> Mapping[TopicPartition, int]:
        if self._by_sequence:
            self._sequence = self._sequence_of(start)
            self._silent = start == _FROM_END
            return self._starts
        if start == _FROM_START:
            return self._starts
        if start == _FROM_END:
            return self.ends
        return {**self._starts, **self._offsets_of(start)}

    def _sequence_of(self, start: str) -> int:
        if start in (_FROM_START, _FROM_END):
            return 0
        session, _, sequence = start.rpartition(":")
        if unquote(session) != self._filters.session_id or not re.fullmatch(r"\d{1,18}", sequence):
            raise CursorInvalid(f"{start} is no cursor of session {self._filters.session_id}")
        return int(sequence)

    def _offsets_of(self, start: str) -> dict[TopicPartition, int]:
        if not _PARTITIONS.fullmatch(start):
            raise CursorInvalid(f"{start} is not a cursor")
        positions: dict[TopicPartition, int] = {}
        for part in start.split(","):
            number, _, offset = part.partition(":")
            tp = TopicPartition(next(iter(self._starts)).topic, int(number))
            next_offset = int(offset) + 1
            if tp not in self._starts or next_offset > self.ends[tp]:
                raise CursorAhead(f"{part} lies beyond the end of the topic")
            if next_offset < self._starts[tp]:
                raise CursorExpired(f"{part} lies before the earliest record that is kept")
            positions[tp] = next_offset
        return positions

    def follow(
        self, until_end: bool, stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[Seen]:
        """Records that pass the filters; with until_end up to the ends that the topic had first.

        When `stopped` says so it ends behind a record, and the cursor goes on with the next.
        Raises CursorAhead for a session that has not come as far as the cursor.
        """
        while not stopped():
            for record in self._reader.poll(_POLL_S):
                if stopped():
                    return
                if until_end and record.offset >= self.ends[_tp(record)]:
                    continue
                self._seen[_tp(record)] = record.offset + 1
                if (seen := self._look(record)) is not None:
                    yield seen
            if all(self._reader.position(tp) >= end for tp, end in self.ends.items()):
                self._check_sequence()
                if until_end:
                    return

    def _check_sequence(self) -> None:
        if self._sequence > self._highest:
            raise CursorAhead(f"the session stands at {self._highest}, not {self._sequence}")

    def _look(self, record: Record) -> Seen | None:
        if self._by_sequence and key_text(record) != self._filters.session_id:
            return None
        value = value_json(self._topic, record)
        if self._by_sequence and not self._next_in_session(record, value):
            return None
        return Seen(record, value) if self._filters.fit(record, value) else None

    def _next_in_session(self, record: Record, value: Any) -> bool:
        self._highest = max(self._highest, value["sequence"])
        if value["sequence"] <= self._sequence:
            return False
        self._sequence = value["sequence"]
        return not self._silent or record.offset >= self.ends[_tp(record)]

    def cursor(self) -> str:
        """Where to go on."""
        if self._by_sequence:
            return f"{quote(self._filters.session_id or '', safe='')}:{self._sequence}"
        return ",".join(f"{tp.partition}:{self._seen[tp] - 1}" for tp in sorted(self._seen))

    def close(self) -> None:
        self._reader.close()


def _tp(record: Record) -> TopicPartition:
    return TopicPartition(record.topic, record.partition)


def _session_of(record: Record, value: Any) -> str | None:
    if isinstance(value, dict):
        holder = value if "session_id" in value else value.get("trace", value.get("packet"))
        while isinstance(holder, dict):
            if isinstance(holder.get("session_id"), str):
                return str(holder["session_id"])
            holder = holder.get("trace")
    return key_text(record)


def _kinds_of(value: Any) -> tuple[str, ...]:
    if not isinstance(value, dict):
        return ()
    payload, packet = value.get("payload"), value.get("packet")
    named = [value.get("packet_type"), value.get("type"), value.get("kind")]
    named += [holder.get("type") for holder in (payload,) if isinstance(holder, dict)]
    named += [holder.get("packet_type") for holder in (packet,) if isinstance(holder, dict)]
    return tuple(name for name in named if isinstance(name, str))
