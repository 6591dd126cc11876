"""A sink's read loop: it reads the log from the file's offsets, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from streams.engine.log import Log, Pace, Reader, TopicInfo
from streams.engine.records import Record, TopicPartition
from streams.errors import NegativeAnswer, TopicsMismatch
from streams.ops.sink.database import Database, FileRefused
from streams.ops.sink.rows import TOPICS, Change, changes

BATCH = 1000
_POLL_S = 0.2


class LogTruncated(NegativeAnswer):
    """Records were deleted before the sink had read them."""

    default_advice = "Go on without them with --accept-gap, or begin a new file."


class Progress(NamedTuple):
    """The progress of a sink.  records: written by this process.  left: offsets to the end."""

    records: int
    left: int


class Sink:
    """A sink from one log to one file.

    accept_gap: continue after records that are gone; `on_gap` is called with a line about each gap.
    Raises FileRefused, FileFailed, LogTruncated, TopicsMismatch.
    """

    def __init__(
        self,
        log: Log,
        path: Path,
        prefix: str,
        *,
        accept_gap: bool = False,
        on_gap: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._log = log
        self._topics = {prefix + topic.name: topic for topic in TOPICS}
        topic_infos = _require_topics(log, self._topics)
        self._tps = [TopicPartition(t.name, n) for t in topic_infos for n in range(t.partitions)]
        ids = {f"topic_id {n}": i for n, i in log.topic_ids([t.name for t in topic_infos]).items()}
        meta = {"cluster_id": log.cluster_id(), "prefix": prefix, **ids}
        self._on_gap = on_gap
        self._database = Database(path, meta)
        try:
            self._positions = self._start_positions(accept_gap)
        except BaseException:
            self._database.close()
            raise
        self._reader: Reader = log.reader(self._positions, Pace.LIVE)
        self._records = 0
        self._ends = log.ends(self._tps)

    def _start_positions(self, accept_gap: bool) -> dict[TopicPartition, int]:
        starts, ends = self._log.starts(self._tps), self._log.ends(self._tps)
        positions = {}
        for tp in self._tps:
            stored = self._database.offsets.get(tp)
            if stored is not None and stored > ends[tp]:
                raise FileRefused(f"{_name(tp)} ends at {ends[tp]}, before {stored} in the file")
            if stored is not None and stored < starts[tp]:
                gap = f"{_name(tp)} is kept from {starts[tp]}, the file goes to {stored}"
                if not accept_gap:
                    raise LogTruncated(f"log_truncated: {gap}")
                self._on_gap(f"{gap}; the records between are not in the file")
                self._database.write([], {tp: starts[tp]})
            positions[tp] = starts[tp] if stored is None else max(stored, starts[tp])
        return positions

    def run(
        self,
        once: bool = False,
        stopped: Callable[[], bool] = lambda: False,
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> bool:
        """Copy until `stopped` returns true; with `once`, up to the ends at the start.

        `stopped` is called between batches.  Return whether these ends were reached.
        """
        while True:
            if once and not self._remaining(self._ends):
                return True
            if stopped():
                return False
            self._step()
            progress(Progress(self._records, self._remaining(self._ends)))

    def ask_ends(self) -> None:
        """Let progress count up to the current ends."""
        self._ends = self._log.ends(self._tps)

    def _step(self) -> None:
        records = self._reader.poll(_POLL_S, BATCH)
        rows = self._changes(records)
        current = {tp: self._reader.position(tp) for tp in self._tps}
        new_offsets = {
            tp: offset for tp, offset in current.items() if offset != self._positions[tp]
        }
        if new_offsets:
            self._database.write(rows, new_offsets)
            self._positions.update(new_offsets)
        self._records += len(records)

    def _changes(self, records: Sequence[Record]) -> list[Change]:
        groups: dict[str, list[Record]] = {}
        for record in records:
            groups.setdefault(record.topic, []).append(record)
        return [c for name, group in groups.items() for c in changes(self._topics[name], group)]

    def _remaining(self, ends: Mapping[TopicPartition, int]) -> int:
        return sum(max(0, end - self._positions[tp]) for tp, end in ends.items())

    def close(self) -> None:
        self._reader.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


def _require_topics(log: Log, names: Mapping[str, object]) -> list[TopicInfo]:
    existing = log.topics()
    missing = sorted(set(names) - set(existing))
    if missing:
        raise TopicsMismatch(f"topics are missing: {', '.join(missing)}")
    return [existing[name] for name in sorted(names)]


def _name(tp: TopicPartition) -> str:
    return f"{tp.topic}/{tp.partition}"
