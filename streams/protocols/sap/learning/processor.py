"""The learning processor: it aggregates signals by kind of task and derives heuristics.

For every record of `sap.learning-signals`, at the signal's own time:

1. a record that the sap processor cannot have written goes to the dead letters;
2. the row of its capability, territory and fingerprint is folded (`aggregates`);
3. the basis of heuristics is counted (`heuristics`);
4. after every 25th computed outcome, after each operator signal, and immediately when a learned
   key must be removed, heuristics are derived (`heuristics`); a new version is written only if a
   value changed, and earlier versions are never changed;
5. the playbook of the row is written where it is due (`playbooks`).

So all tables are a function of the topic and the constitution.  The sap processor decides whether
tasks are bound to the derived values.

Source: SAP guide, 5.5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from streams.engine.processor import AvroValue, Message, ProcessorContext, Timer
from streams.engine.records import position
from streams.engine.refused_rows import PROCESS
from streams.processing.envelope import partition_mismatch
from streams.protocols.sap.constitution import constitution_of
from streams.protocols.sap.counted_versions import HASH_MISMATCH, KEY_MISMATCH
from streams.protocols.sap.learning import aggregates, heuristics, playbooks
from streams.protocols.sap.learning.heuristics import CapabilityCounts
from streams.protocols.sap.row_hashes import has_its_hash
from topology.declarations import Topic
from topology.sap import (
    SAP_HEURISTICS_TABLE,
    SAP_KNOWLEDGE,
    SAP_KNOWLEDGE_TABLE,
    SAP_LEARNING_BEST,
    SAP_LEARNING_CITATIONS,
    SAP_LEARNING_HEADS,
    SAP_LEARNING_PROCESSOR,
    SAP_LEARNING_TABLE,
    sap_key,
    sap_version,
)


class Foreign(ValueError):
    """A record of an internal topic that no processor of this version writes."""


class SapLearningProcessor:
    """The processor of `sap.learning-signals`."""

    declaration = SAP_LEARNING_PROCESSOR

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        _load(batch, ctx)
        for message in batch:
            ctx.cause = position(message.record)
            _check(message, ctx)
            _learn(message.value, ctx)

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        """Do nothing: the processor sets no timers."""

    def too_large(self, message: Message, topic: Topic, size: int, ctx: ProcessorContext) -> None:
        """Send the signal to the dead letters; limits keep rows small, so this is not expected."""
        raise ValueError(f"{size} bytes for {topic.name}, which takes {topic.max_bytes}")

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _load(batch: Sequence[Message], ctx: ProcessorContext) -> None:
    keys = [row_key(message.value) for message in batch]
    for table in (SAP_LEARNING_TABLE, SAP_LEARNING_BEST, SAP_KNOWLEDGE_TABLE):
        ctx.rows(table).load(keys)
    ctx.rows(SAP_LEARNING_HEADS).load(message.value["capability"] for message in batch)


def row_key(signal: Mapping[str, Any]) -> str:
    """Return the key of the rows of a kind of task."""
    return sap_key(signal["capability"], signal["territory"], signal["fingerprint"])


def _check(message: Message, ctx: ProcessorContext) -> None:
    record, key = message.record, message.value["capability"].encode()
    if record.key != key:
        raise Foreign("the key is not the capability")
    if partition_mismatch(key, record.partition, ctx) is not None:
        raise Foreign("the partition is not the capability's")


def _learn(signal: AvroValue, ctx: ProcessorContext) -> None:
    constitution = constitution_of(ctx.settings)
    counts = CapabilityCounts(signal["capability"], constitution, ctx)
    counts.count(signal)
    trigger = _trigger(signal, counts)
    if trigger is not None:
        _derive(trigger, signal["at"], constitution.label, counts, ctx)
    counts.save()
    _fold(signal, counts.head["version"], ctx)


def _trigger(signal: AvroValue, counts: CapabilityCounts) -> str | None:
    """Return why heuristics are derived now, None if they are not."""
    if counts.demotes():
        return "demotion"
    if signal["kind"] != "outcome":
        return "operator"
    due = signal["computed"] and counts.head["computed"] % heuristics.EVERY == 0
    return "computed" if due else None


def _derive(
    trigger: str, at: int, constitution: str, counts: CapabilityCounts, ctx: ProcessorContext
) -> None:
    basis = counts.basis(trigger)
    values = heuristics.derive(basis)
    counts.mark(values.extra_checks)
    head = counts.head
    if not heuristics.is_new(head, values, constitution):
        return
    row = heuristics.version(counts.capability, head, basis, constitution, at)
    row = heuristics.chain_version(row, ctx.cause, head["sha256"])
    key = sap_key(counts.capability, sap_version(row["version"]))
    ctx.rows(SAP_HEURISTICS_TABLE).put(key, row)
    current = {name: row[name] for name in heuristics.HEAD_MEMBERS}
    changed = row["extractorVersion"] != head["extractorVersion"]
    counts.head = head | current | {"complaints": 0 if changed else head["complaints"]}
    heuristics.emit_version_edge(row, at, ctx.cause, ctx)


def _fold(signal: AvroValue, version: int, ctx: ProcessorContext) -> None:
    key = row_key(signal)
    best = aggregates.update_best(ctx.rows(SAP_LEARNING_BEST).get(key), signal)
    row = aggregates.fold(ctx.rows(SAP_LEARNING_TABLE).get(key), signal)
    if signal["kind"] == "outcome":
        row["citationCounts"] = aggregates.grow_citations(
            row["citationCounts"], signal["citations"], _counter(key, ctx)
        )
    row["bestTaskId"] = best["ratedTaskId"] or best["successTaskId"]
    row["heuristicsVersion"] = version
    ctx.rows(SAP_LEARNING_TABLE).put(key, row)
    books = ctx.rows(SAP_KNOWLEDGE_TABLE)
    book = playbooks.version(_own_playbook(books.get(key), key), row, best, signal)
    if book is not None:
        books.put(key, book)
        playbooks.emit_source_edge(key, book, signal["at"], ctx.cause, ctx)
    best["playbookDue"] = playbooks.next_due(best["playbookDue"], row["computed"])
    ctx.rows(SAP_LEARNING_BEST).put(key, best)


def _own_playbook(book: AvroValue | None, key: str) -> AvroValue | None:
    """Return a playbook if it has its own key and hash, else None."""
    if book is None:
        return None
    fault = None if has_its_hash(SAP_KNOWLEDGE, book) else HASH_MISMATCH
    if row_key(book) != key:
        fault = KEY_MISMATCH
    if fault is not None:
        PROCESS.count(SAP_KNOWLEDGE.name, fault, key)
    return book if fault is None else None


def _counter(key: str, ctx: ProcessorContext) -> Callable[[str], int]:
    """Return a function that counts a citation of a kind of task and returns its count."""
    rows = ctx.rows(SAP_LEARNING_CITATIONS)

    def count_up(citation: str) -> int:
        citation_key = f"{key}/{sha256(citation.encode()).hexdigest()}"
        count = (rows.get(citation_key) or {"count": 0})["count"] + 1
        rows.put(citation_key, {"count": count})
        return int(count)

    return count_up
