"""The processor that adds each delta to its protocol's rows and evaluates the total for decay.

For every record of `apc.transfers`, at the delta's own time:

1. a record that the apc processor cannot have written goes to the dead letters;
2. an arbitration is written as the apc processor made it, and changes no row;
3. the delta is added to the row of its run and to the total;
4. the total is evaluated, and a change of `blocked` is written as a decision.

The topic is internal, so its records get no verdict.  A record under another key or on another
partition than its protocol's would be added to a row that nobody reads.  No version of this
processor would decide otherwise, so stopping for such a record would stop the task for good; the
dead letter lets an operator see it, and the record adds nothing.

Source: APC guide, 5.6 to 5.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.engine.processor import AvroValue, Message, ProcessorContext, Timer
from streams.engine.records import header, position
from streams.processing.decision import Decision
from streams.processing.envelope import partition_mismatch
from streams.protocols.apc.lineage.effectiveness import decay_decision, update_decay
from streams.protocols.apc.lineage.rows import evolve_run, evolve_total, run_key, total_key
from topology.apc import APC_DECISIONS, APC_LINEAGE_PROCESSOR, APC_LINEAGE_TABLE
from topology.declarations import Topic


class Foreign(ValueError):
    """A record of an internal topic that no processor of this version writes."""


class ApcLineageProcessor:
    """The processor of `apc.transfers`."""

    declaration = APC_LINEAGE_PROCESSOR

    def decide(self, batch: Sequence[Message], context: ProcessorContext) -> None:
        _load(batch, context)
        for message in batch:
            ctx = _context(message, context)
            _check(message, context)
            if message.value["decision"] is None:
                _add(message.value, ctx)
            else:
                _send(message.value["decision"], ctx)

    def fire(self, timers: Sequence[Timer], now_ms: int, context: ProcessorContext) -> None:
        """Do nothing: this processor sets no timers."""

    def too_large(
        self, message: Message, topic: Topic, size: int, context: ProcessorContext
    ) -> None:
        """Refuse a delta with ids of the size of a whole packet; it becomes a dead letter."""
        raise ValueError(f"{size} bytes for {topic.name}, which takes {topic.max_bytes}")

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _load(batch: Sequence[Message], context: ProcessorContext) -> None:
    keys: list[str] = []
    for message in batch:
        delta = message.value
        if delta["decision"] is None:
            keys.append(run_key(delta["protocol_id"], delta["run_id"]))
            keys.append(total_key(delta["protocol_id"]))
    context.rows(APC_LINEAGE_TABLE).load(keys)


def _context(message: Message, context: ProcessorContext) -> Decision:
    """Begin the decision on a delta, dated as the arbitration in it or as the delta itself."""
    record, delta = message.record, message.value
    at = (delta["decision"] or delta)["at"]
    return Decision(context, position(record), at, header(record, "traceparent"))


def _check(message: Message, context: ProcessorContext) -> None:
    record, delta = message.record, message.value
    key = delta["protocol_id"].encode()
    if record.key != key:
        raise Foreign("the key is not the protocol's")
    if partition_mismatch(key, record.partition, context) is not None:
        raise Foreign("the partition is not the protocol's")
    if (delta["kind"] == "arbitration") is (delta["decision"] is None):
        raise Foreign("an arbitration, and nothing else, comes with its decision")


def _add(delta: AvroValue, ctx: Decision) -> None:
    rows, settings = ctx.work.rows(APC_LINEAGE_TABLE), ctx.work.settings
    key = run_key(delta["protocol_id"], delta["run_id"])
    run_before = rows.get(key)
    run = evolve_run(run_before, delta)
    rows.put(key, run)

    key = total_key(delta["protocol_id"])
    before = rows.get(key)
    new_runs = run["run_count"] - (run_before["run_count"] if run_before else 0)
    total = evolve_total(before, delta, new_runs)
    total = update_decay(total, delta["at"], settings)
    rows.put(key, total)
    if total["blocked"] is not (before is not None and before["blocked"]):
        _send(decay_decision(total, delta, ctx.cause, settings), ctx)


def _send(decision: AvroValue, ctx: Decision) -> None:
    ctx.send(APC_DECISIONS, decision["protocol_id"], decision, decision["decision_id"])
