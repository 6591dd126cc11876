"""Resuming a task whose position in an input was lost: `headrace topics accept-gap`.

No record is skipped without an operator's command.  The release sets the task's position to the
earliest record that the task has not decided, in a transaction of the task itself (which fences a
worker that still owns it), and writes a row that names the skipped offsets.  It never moves a
position backwards: records below it may be those that the task has decided.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from schemas import decode, encode
from streams.engine.log import Log
from streams.engine.operator_writes import restored_state, sign_as_task
from streams.engine.positions import encode_position
from streams.engine.records import Output, TopicPartition
from streams.engine.rows import store_key
from streams.engine.task import transactional_id
from streams.errors import NotFound, UsageError
from streams.settings.service import ServiceSettings
from topology import processors
from topology.core import ACCEPTED_GAPS, CHANGELOG, INPUT_POSITIONS, KNOWN_INPUTS
from topology.declarations import Topic


class Gap(NamedTuple):
    """The skipped offsets: from (None when the former position is unknown) to, excluded."""

    topic: str
    partition: int
    from_offset: int | None
    to_offset: int


def accept_gap(log: Log, settings: ServiceSettings, topic: str, partition: int) -> Gap:
    """Let the task of `partition` read `topic` (full name) on from its earliest undecided record.

    Raises NotFound for a topic that no processor reads, UsageError when no offsets are missing, or
    when the topic ends before the task's position.
    """
    input_topic = _find_input(settings, topic)
    tp = TopicPartition(topic, partition)
    topic_id = log.topic_ids([topic])[topic]
    producer = log.producer(transactional_id(settings, partition))
    producer.open()
    try:
        positions, known_ids, serials = read_positions(log, settings, partition, [input_topic])
        position = positions[input_topic.name]
        start = log.starts([tp])[tp]
        if not known_ids and start == 0:
            raise UsageError(
                f"the task of partition {partition} has no record of its inputs: one gap accepted"
                " would let it read all others again from their beginning",
                advice="Restore the changelog, or begin with another HEADRACE_PREFIX.",
            )
        end = log.ends([tp])[tp]
        same = known_ids.get(input_topic.name) == topic_id
        if same and position is not None and start <= position <= end:
            raise UsageError(
                f"{topic}/{partition} has no gap: the task stands at {position},"
                f" the log begins at {start}",
                advice="Start the worker.",
            )
        if position is not None and position > end:
            raise UsageError(
                f"{topic}/{partition} ends at {end}, before the task's position {position}: to go"
                " on there would move the position backwards",
                advice="Restore the missing records, or begin with another HEADRACE_PREFIX.",
            )
        target = max(start, position or 0)
        gap = Gap(topic, partition, position, target)
        rows = _gap_rows(gap, input_topic, known_ids, topic_id, serials[input_topic.name])
        name = settings.prefix + CHANGELOG.name
        outputs = [Output(name, k, v, (), partition) for k, v in rows.items()]
        producer.commit(sign_as_task(log, settings, partition, outputs))
    finally:
        producer.close()
    return gap


def _gap_rows(
    gap: Gap,
    topic: Topic,
    known_ids: Mapping[str, str],
    topic_id: str,
    serials: Mapping[int, int],
) -> dict[bytes, bytes]:
    """Return the rows of the new position, the input's id and the gap."""
    row = {
        **gap._asdict(),
        "former_topic_id": known_ids.get(topic.name),
        "topic_id": topic_id,
        "at": time.time_ns() // 1_000_000,
    }
    inputs = {"inputs": {**known_ids, topic.name: topic_id}}
    gap_key = store_key(ACCEPTED_GAPS.name, f"{topic_id}/{gap.to_offset}")
    return {
        store_key(INPUT_POSITIONS.name, topic.name): encode_position(gap.to_offset, serials),
        store_key(KNOWN_INPUTS.name, "inputs"): encode(KNOWN_INPUTS.record, inputs),
        gap_key: encode(ACCEPTED_GAPS.record, row),
    }


def _find_input(settings: ServiceSettings, topic: str) -> Topic:
    inputs = [t for p in processors.ALL for t in p.inputs]
    for candidate in inputs:
        if settings.prefix + candidate.name == topic:
            return candidate
    names = ", ".join(settings.prefix + t.name for t in inputs)
    raise NotFound(f"no processor reads {topic}", advice=f"Inputs are: {names}.")


class TaskPositions(NamedTuple):
    """The positions of a task in its inputs, by the topic's name without prefix.

    offsets: its position; None if no row holds it.  known_ids: the topics' ids.
    serials: the last ones accepted below the position, by task.
    """

    offsets: dict[str, int | None]
    known_ids: dict[str, str]
    serials: dict[str, dict[int, int]]


def read_positions(
    log: Log, settings: ServiceSettings, partition: int, topics: Sequence[Topic]
) -> TaskPositions:
    """Return the task's position in each topic, and its known inputs, from its changelog."""
    with restored_state(log, settings, partition) as state:
        keys = [store_key(INPUT_POSITIONS.name, topic.name) for topic in topics]
        *rows, inputs = state.get_many([*keys, store_key(KNOWN_INPUTS.name, "inputs")])
    positions = {
        topic.name: None if row is None else decode(row, INPUT_POSITIONS.record).value
        for topic, row in zip(topics, rows, strict=True)
    }
    return TaskPositions(
        {name: None if row is None else row["next_offset"] for name, row in positions.items()},
        {} if inputs is None else decode(inputs, KNOWN_INPUTS.record).value["inputs"],
        {
            name: {each["task"]: each["serial"] for each in (row or {}).get("serials", ())}
            for name, row in positions.items()
        },
    )
