"""The input positions of a task: rows of the task, written with everything else it decides.

They take precedence over the consumer group's offsets, which Kafka drops from an idle group.  The
row of known inputs lists the topics that this state has ever read; a topic that is not listed
starts at its beginning and is added in the same transaction.  A known topic without a position, or
one that was recreated, stops the task: no record is ever read twice or skipped silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from schemas import encode
from streams.engine.log import Log
from streams.engine.mac_checks import Serials
from streams.engine.records import Output, TopicPartition
from streams.engine.rows import Bytes, GetMany, row_of, store_key
from streams.errors import InputTruncated, PositionsLost
from topology.core import CHANGELOG, INPUT_POSITIONS, KNOWN_INPUTS
from topology.declarations import Topic

_KNOWN_KEY = "inputs"


def encode_position(next_offset: int, serials: Mapping[int, int]) -> bytes:
    """Return the row of a position.  serials: of each task, the last one accepted below it."""
    pairs = [{"task": task, "serial": serial} for task, serial in sorted(serials.items())]
    return encode(INPUT_POSITIONS.record, {"next_offset": next_offset, "serials": pairs})


class Positions:
    """The next offset of every input of one task, by topic.

    serials: the last ones accepted below these offsets, of inputs whose records have MACs.
    """

    def __init__(self, prefix: str, partition: int, inputs: list[Topic]) -> None:
        self._prefix = prefix
        self._partition = partition
        self._inputs = inputs
        self._ids: dict[str, str] = {}
        self._known_ids: dict[str, str] = {}
        self._unsaved = True
        self.next: dict[Topic, int] = {}
        self.serials: Serials = {}

    def tp(self, topic: Topic) -> TopicPartition:
        return TopicPartition(self._prefix + topic.name, self._partition)

    def load(self, log: Log, read: GetMany, empty: bool) -> None:
        """Load the positions from the restored rows.  Raises PositionsLost, InputTruncated."""
        ids = log.topic_ids([self._prefix + t.name for t in self._inputs])
        self._ids = {t.name: ids[self._prefix + t.name] for t in self._inputs}
        known_ids = self._read_known_inputs(read)
        if known_ids is None and not empty:
            raise PositionsLost(
                f"task {self._partition} has rows but no record of its inputs",
                advice="The changelog was cut: restore it, or begin with another HEADRACE_PREFIX.",
            )
        starts = log.starts([self.tp(t) for t in self._inputs])
        ends = log.ends([self.tp(t) for t in self._inputs])
        for topic in self._inputs:
            self.next[topic] = self._read_position(topic, known_ids or {}, read)
            if self.next[topic] < starts[self.tp(topic)]:
                raise InputTruncated(
                    f"{self._prefix}{topic.name}/{self._partition} begins at offset"
                    f" {starts[self.tp(topic)]}, task {self._partition} had read to"
                    f" {self.next[topic]}",
                    advice=self._gap_advice(topic),
                )
            if self.next[topic] > ends[self.tp(topic)]:
                raise PositionsLost(
                    f"{self._prefix}{topic.name}/{self._partition} ends at offset"
                    f" {ends[self.tp(topic)]}, task {self._partition} had read to"
                    f" {self.next[topic]}: the log has lost records",
                    advice="Restore them, or begin with another HEADRACE_PREFIX.",
                )
        self._known_ids = {**(known_ids or {}), **self._ids}
        self._unsaved = known_ids != self._known_ids

    def _read_known_inputs(self, read: GetMany) -> dict[str, str] | None:
        raw = read([store_key(KNOWN_INPUTS.name, _KNOWN_KEY)])[0]
        return None if raw is None else row_of(KNOWN_INPUTS, _KNOWN_KEY, raw)["inputs"]

    def _read_position(self, topic: Topic, known_ids: Mapping[str, str], read: GetMany) -> int:
        if topic.name not in known_ids:
            return 0
        raw = read([store_key(INPUT_POSITIONS.name, topic.name)])[0]
        if raw is None:
            why = "its position is not among the restored rows"
            advice = self._gap_advice(topic)
        elif known_ids[topic.name] != self._ids[topic.name]:
            why = "the topic was deleted and created anew since"
            advice = (
                "In a restored log, `headrace topics adopt` makes the task go on where it stood;"
                f" else {self._gap_advice(topic)}"
            )
        else:
            row = row_of(INPUT_POSITIONS, topic.name, raw)
            if row["serials"]:
                last = {each["task"]: each["serial"] for each in row["serials"]}
                self.serials[self.tp(topic)] = last
            offset: int = row["next_offset"]
            return offset
        raise PositionsLost(
            f"task {self._partition} cannot go on reading {self._prefix}{topic.name}: {why}",
            advice=advice,
        )

    def _gap_advice(self, topic: Topic) -> str:
        command = f"headrace topics accept-gap {self._prefix}{topic.name} {self._partition}"
        return f"`{command}` makes the task go on from the earliest undecided record."

    def advance(
        self,
        offsets: Mapping[Topic, int],
        rows: Bytes,
        outputs: list[Output],
        serials: Mapping[TopicPartition, dict[int, int]] = MappingProxyType({}),
    ) -> None:
        """Update the positions, and add their rows to a cycle."""
        self.next.update(offsets)
        for tp, tasks in serials.items():
            self.serials[tp] = {**self.serials.get(tp, {}), **tasks}
        updates = self.next if self._unsaved else offsets
        for topic, offset in updates.items():
            value = encode_position(offset, self.serials.get(self.tp(topic), {}))
            self._put(store_key(INPUT_POSITIONS.name, topic.name), value, rows, outputs)
        if self._unsaved:
            value = encode(KNOWN_INPUTS.record, {"inputs": self._known_ids})
            self._put(store_key(KNOWN_INPUTS.name, _KNOWN_KEY), value, rows, outputs)
            self._unsaved = False

    def drop_rows(self, rows: Bytes, outputs: list[Output]) -> None:
        """Add tombstones to the shared changelog for rows that the engine itself removes."""
        name = self._prefix + CHANGELOG.name
        outputs += [Output(name, key, None, (), self._partition) for key in rows]

    def _put(self, key: bytes, value: bytes, rows: Bytes, outputs: list[Output]) -> None:
        rows[key] = value
        name = self._prefix + CHANGELOG.name
        outputs.append(Output(name, key, value, (), self._partition))
