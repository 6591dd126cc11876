"""Resuming a task whose position in an input was lost: `headrace topics accept-gap`.

No record is skipped without an operator's command.  The release sets the task's position to the
earliest record, in a transaction of the task itself (which fences a worker that still owns it),
and writes a row that names the skipped offsets.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from schemas import decode, encode
from streams.engine.log import Log
from streams.engine.records import Output, TopicPartition
from streams.engine.rows import store_key
from streams.engine.state import State
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
    """Let the task of `partition` read `topic` (full name) on from its earliest record.

    Raises NotFound for a topic that no processor reads, UsageError when no offsets are missing.
    """
    input_topic = _find_input(settings, topic)
    tp = TopicPartition(topic, partition)
    topic_id = log.topic_ids([topic])[topic]
    producer = log.producer(transactional_id(settings, partition))
    producer.open()
    try:
        position, known_ids = _read_positions(log, settings, partition, input_topic)
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
        gap = Gap(topic, partition, position, start)
        row = {
            "topic": topic,
            "partition": partition,
            "from_offset": position,
            "to_offset": start,
            "former_topic_id": known_ids.get(input_topic.name),
            "topic_id": topic_id,
            "at": time.time_ns() // 1_000_000,
        }
        known_ids = {**known_ids, input_topic.name: topic_id}
        name = settings.prefix + CHANGELOG.name
        rows = {
            store_key(INPUT_POSITIONS.name, input_topic.name): encode(
                INPUT_POSITIONS.record, {"next_offset": start}
            ),
            store_key(KNOWN_INPUTS.name, "inputs"): encode(
                KNOWN_INPUTS.record, {"inputs": known_ids}
            ),
            store_key(ACCEPTED_GAPS.name, f"{topic_id}/{start}"): encode(ACCEPTED_GAPS.record, row),
        }
        producer.commit([Output(name, k, v, (), partition) for k, v in rows.items()])
    finally:
        producer.close()
    return gap


def _find_input(settings: ServiceSettings, topic: str) -> Topic:
    inputs = [t for p in processors.ALL for t in p.inputs]
    for candidate in inputs:
        if settings.prefix + candidate.name == topic:
            return candidate
    names = ", ".join(settings.prefix + t.name for t in inputs)
    raise NotFound(f"no processor reads {topic}", advice=f"Inputs are: {names}.")


def _read_positions(
    log: Log, settings: ServiceSettings, partition: int, topic: Topic
) -> tuple[int | None, dict[str, str]]:
    """Return the task's position in `topic`, and its known inputs, from its changelog."""
    with TemporaryDirectory(prefix="headrace-") as directory:
        state = State(Path(directory) / "state", log, settings.prefix, partition, ())
        state.open(0, threading.Event())
        try:
            keys = [
                store_key(INPUT_POSITIONS.name, topic.name),
                store_key(KNOWN_INPUTS.name, "inputs"),
            ]
            position, known_inputs = state.get_many(keys)
        finally:
            state.close()
    return (
        None if position is None else decode(position, INPUT_POSITIONS.record).value["next_offset"],
        {} if known_inputs is None else decode(known_inputs, KNOWN_INPUTS.record).value["inputs"],
    )
