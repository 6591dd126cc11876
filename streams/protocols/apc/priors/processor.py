"""The processor that adds each change of evidence to its strategy's row.

The topic is internal, so its records get no verdict.  A record under another key or on another
partition than its strategy's would be added to a row that nobody reads: it goes to the dead
letters, and adds nothing.

Source: APC guide, 5.10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.engine.processor import Message, ProcessorContext, Timer
from streams.engine.records import position
from streams.processing.envelope import partition_mismatch
from streams.protocols.apc.priors.rows import evolve_prior
from streams.protocols.apc.processor.contributions import strategy_key
from topology.apc import APC_PRIORS_PROCESSOR, APC_PRIORS_TABLE
from topology.declarations import Topic


class Foreign(ValueError):
    """A record of an internal topic that no processor of this version writes."""


class ApcPriorsProcessor:
    """The processor of `apc.outcomes`."""

    declaration = APC_PRIORS_PROCESSOR

    def decide(self, batch: Sequence[Message], context: ProcessorContext) -> None:
        rows = context.rows(APC_PRIORS_TABLE)
        rows.load([strategy_key(message.value) for message in batch])
        for message in batch:
            context.cause = position(message.record)
            key = strategy_key(message.value)
            _check(message, key, context)
            rows.put(key, evolve_prior(rows.get(key), message.value))

    def fire(self, timers: Sequence[Timer], now_ms: int, context: ProcessorContext) -> None:
        """Do nothing: this processor sets no timers."""

    def too_large(
        self, message: Message, topic: Topic, size: int, context: ProcessorContext
    ) -> None:
        """Refuse a delta with names of the size of a whole packet; it becomes a dead letter."""
        raise ValueError(f"{size} bytes for {topic.name}, which takes {topic.max_bytes}")

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _check(message: Message, key: str, context: ProcessorContext) -> None:
    record = message.record
    if record.key != key.encode():
        raise Foreign("the key is not the strategy's")
    if partition_mismatch(key.encode(), record.partition, context) is not None:
        raise Foreign("the partition is not the strategy's")
