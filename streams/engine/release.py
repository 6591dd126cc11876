"""Letting a task go on after its place in an input was lost: `headrace topics accept-gap`.

Nothing is skipped without an operator's word.  The release moves the task's position to the
earliest record there is, in a transaction of the task's own (which fences a worker that still
has it), and leaves a row that names what was given up.
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
    """Offsets given up: from (None when the former position is unknown) to, excluded."""

    topic: str
    partition: int
    from_offset: int | None
    to_offset: int


def accept_gap(log: Log, settings: ServiceSettings, topic: str, partition: int) -> Gap:
    """Let the task of `partition` read `topic` (full name) on from its earliest record.

    Raises NotFound for a topic that no processor reads, UsageError when nothing is missing.
    """
    declared = _input(settings, topic)
    tp = TopicPartition(topic, partition)
    topic_id = log.topic_ids([topic])[topic]
    producer = log.producer(transactional_id(settings, partition))
    producer.open()
    try:
        position, known = _restored(log, settings, partition, declared)
        start = log.starts([tp])[tp]
        if not known and start == 0:
            raise UsageError(
                f"the task of partition {partition} has no record of its inputs: one gap accepted"
                " would let it read all others again from their beginning",
                advice="Restore the changelog, or begin with another HEADRACE_PREFIX.",
            )
        end = log.ends([tp])[tp]
        same = known.get(declared.name) == topic_id
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
            "former_topic_id": known.get(declared.name),
            "topic_id": topic_id,
            "at": time.time_ns() // 1_000_000,
        }
        known = {**known, declared.name: topic_id}
        name = settings.prefix + CHANGELOG.name
        rows = {
            store_key(INPUT_POSITIONS.name, declared.name): encode(
                INPUT_POSITIONS.record, {"next_offset": start}
            ),
            store_key(KNOWN_INPUTS.name, "inputs"): encode(KNOWN_INPUTS.record, {"inputs": known}),
            store_key(ACCEPTED_GAPS.name, f"{topic_id}/{start}"): encode(ACCEPTED_GAPS.record, row),
        }
        producer.commit([Output(name, k, v, (), partition) for k, v in rows.items()])
    finally:
        producer.close()
    return gap


def _input(settings: ServiceSettings, topic: str) -> Topic:
    inputs = [t for p in processors.ALL for t in p.inputs]
    for declared in inputs:
        if settings.prefix + declared.name == topic:
            return declared
    names = ", ".join(settings.prefix + t.name for t in inputs)
    raise NotFound(f"no processor reads {topic}", advice=f"Inputs are: {names}.")


def _restored(
    log: Log, settings: ServiceSettings, partition: int, topic: Topic
) -> tuple[int | None, dict[str, str]]:
    """The task's position in `topic`, and the inputs it knows, from its changelog."""
    with TemporaryDirectory(prefix="headrace-") as directory:
        state = State(Path(directory) / "state", log, settings.prefix, partition, ())
        state.open(0, threading.Event())
        try:
            keys = [
                store_key(INPUT_POSITIONS.name, topic.name),
                store_key(KNOWN_INPUTS.name, "inputs"),
            ]
            position, known = state.get_many(keys)
        finally:
            state.close()
    return (
        None if position is None else decode(position, INPUT_POSITIONS.record).value["next_offset"],
        {} if known is None else decode(known, KNOWN_INPUTS.record).value["inputs"],
    )
