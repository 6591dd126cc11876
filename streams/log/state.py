"""The offsets of all topics and the positions of all processors, as Kafka has them.

One reading serves all callers for a while, so that Kafka is asked as rarely with many callers as
with one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar, cast

from streams.engine.log import Log, Pace
from streams.engine.records import TopicPartition
from streams.errors import AccessDenied, BrokerUnavailable
from topology import processors, topics
from topology.declarations import ProcessorDeclaration, Topic

EVERY_S = 2.0
"""How long one reading serves all callers."""
PATIENCE_S = 4.0
"""How long a caller waits for the reading of another one, and for the oldest records."""
_POLL_S = 0.1
T = TypeVar("T")


class OffsetRange(NamedTuple):
    """The offsets of a partition: from `start` to `end`, exclusive.  Committed records only."""

    start: int
    end: int


class InputLag(NamedTuple):
    """The progress of a processor in one input partition.

    committed: the next offset to decide, as the workers' group has it; None before the first one.
    lag: offsets that are not decided; None if the group's offsets may not be read.
    """

    topic: str
    partition: int
    committed: int | None
    end: int
    lag: int | None


class Backlog(NamedTuple):
    """The undecided records of one processor.

    oldest_ms: when the oldest of them was appended, in ms since the epoch; None without one.
    """

    name: str
    records: int
    oldest_ms: int | None


@dataclass(eq=False)
class LogState:
    """One reading of the log's offsets.

    prefix: of topic names.  topics: the declared topics that exist, by full name.
    ranges: the offsets of each partition.  committed: the offsets of the workers' group; None if
    they may not be read.
    """

    prefix: str
    topics: Mapping[str, Topic]
    ranges: Mapping[TopicPartition, OffsetRange]
    committed: Mapping[TopicPartition, int] | None
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _readings: dict[str, object] = field(default_factory=dict, repr=False)

    def once(self, name: str, read: Callable[[], T]) -> T:
        """Return a further reading that belongs to this one; it is made once."""
        with self._lock:
            if name not in self._readings:
                self._readings[name] = read()
            return cast(T, self._readings[name])

    def partitions_of(self, name: str) -> list[TopicPartition]:
        """Return the partitions of a topic by full name, in order."""
        return sorted(tp for tp in self.ranges if tp.topic == name)

    def lag_of(self, declaration: ProcessorDeclaration) -> list[InputLag]:
        """Return the lag of a processor in each partition of its inputs."""
        names = [topics.full_name(topic, self.prefix) for topic in declaration.inputs]
        return [self._input_lag(tp) for name in names for tp in self.partitions_of(name)]

    def _input_lag(self, tp: TopicPartition) -> InputLag:
        start, end = self.ranges[tp]
        if self.committed is None:
            return InputLag(tp.topic, tp.partition, None, end, None)
        committed = self.committed.get(tp)
        lag = max(0, end - max(start, committed or 0))
        return InputLag(tp.topic, tp.partition, committed, end, lag)


def read_state(log: Log, prefix: str) -> LogState:
    """Ask Kafka for all offsets.  Raises BrokerUnavailable, TopicsMismatch."""
    existing = log.topics()
    declared = {topics.full_name(topic, prefix): topic for topic in topics.ALL}
    present = {name: topic for name, topic in declared.items() if name in existing}
    tps = [
        TopicPartition(name, number)
        for name in present
        for number in range(existing[name].partitions)
    ]
    starts, ends = log.starts(tps), log.ends(tps)
    ranges = {tp: OffsetRange(starts[tp], max(starts[tp], ends[tp])) for tp in tps}
    inputs = [tp for tp in tps if present[tp.topic] in processors.inputs()]
    try:
        committed = log.committed(inputs)
    except AccessDenied:
        committed = None
    return LogState(prefix, present, ranges, committed)


class SharedState:
    """The latest reading of one log, shared by all callers.

    every_s: how long one reading serves; 0 reads for each caller.
    """

    def __init__(self, log: Log, prefix: str, every_s: float = EVERY_S) -> None:
        self._log, self._prefix, self._every_s = log, prefix, every_s
        self._lock = threading.Lock()
        self._read_at = 0.0
        self._result: LogState | Exception | None = None

    def __call__(self) -> LogState:
        """Return a reading that is at most so old.  Raises BrokerUnavailable, TopicsMismatch."""
        if not self._lock.acquire(timeout=PATIENCE_S):
            raise BrokerUnavailable(f"Kafka has not said its offsets for {PATIENCE_S:.0f} s")
        try:
            if self._result is None or time.monotonic() - self._read_at >= self._every_s:
                self._result = self._read()
                self._read_at = time.monotonic()
            if isinstance(self._result, Exception):
                raise self._result.with_traceback(None)
            return self._result
        finally:
            self._lock.release()

    def _read(self) -> LogState | Exception:
        try:
            return read_state(self._log, self._prefix)
        except Exception as exc:  # it serves all callers too: they must not ask one after another
            return exc


def backlogs(log: Log, state: LogState) -> list[Backlog]:
    """Return the undecided records of each processor; read with `state` once."""
    return state.once("backlogs", lambda: _read_backlogs(log, state))


def _read_backlogs(log: Log, state: LogState) -> list[Backlog]:
    lags = {each.name: state.lag_of(each) for each in processors.ALL}
    behind = {
        TopicPartition(each.topic, each.partition): max(
            each.committed or 0, state.ranges[TopicPartition(each.topic, each.partition)].start
        )
        for inputs in lags.values()
        for each in inputs
        if each.lag
    }
    oldest = _read_first_times(log, behind)
    return [_backlog(name, inputs, oldest) for name, inputs in lags.items()]


def _backlog(name: str, inputs: list[InputLag], oldest: Mapping[TopicPartition, int]) -> Backlog:
    tps = [TopicPartition(each.topic, each.partition) for each in inputs]
    times = [oldest[tp] for tp in tps if tp in oldest]
    return Backlog(name, sum(each.lag or 0 for each in inputs), min(times, default=None))


def _read_first_times(
    log: Log, positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return the append time of the first record at or after each position, as far as it comes."""
    times: dict[TopicPartition, int] = {}
    deadline = time.monotonic() + PATIENCE_S
    for tp, offset in positions.items():
        with log.reader({tp: offset}, Pace.FEW) as reader:
            while tp not in times and time.monotonic() < deadline:
                records = reader.poll(_POLL_S, 1)
                if records:
                    times[tp] = records[0].timestamp
                elif reader.position(tp) > offset:
                    break  # only markers
    return times
