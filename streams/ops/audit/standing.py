"""The standing of the audit: how far partitions are sealed, and what operators have sent again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from schemas import Undecodable, decode, to_json
from schemas.formats import iso_ms
from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition, position
from streams.log.newest import newest_first
from streams.log.state import LogState, OffsetRange
from streams.ops.audit.chain import COVERED
from streams.ops.audit.keys import Keys
from streams.ops.audit.seals import (
    PATIENCE_S,
    Signature,
    check_signature,
    last_checkpoint,
    read_span,
)
from streams.views.reads import ReadOnlyStore
from topology.core import AUDIT_REDRIVES
from topology.topics import full_name

Json = dict[str, Any]
MAX_REDRIVES = 100
MAX_COUNTED = 1000
"""The most offsets beyond the last checkpoint whose records are counted; of more, offsets count."""
_RECORD = AUDIT_REDRIVES.record or ""


class LogCoverage(NamedTuple):
    """The offsets that the newest checkpoint of a transparency log covers.

    covered_to: the first offset of each partition that it does not cover.
    published_ms, key_id: None before the first checkpoint.
    """

    covered_to: Mapping[TopicPartition, int]
    published_ms: int | None
    key_id: str | None


class _PartitionSeal(NamedTuple):
    """The last checkpoint over a partition.  sealed_to: the first offset that it does not cover."""

    sealed_to: int
    at_ms: int
    key_id: str
    signature: Signature


def audit_standing(
    view: ReadOnlyStore,
    log: Log,
    state: LogState,
    keys: Keys,
    coverage: LogCoverage | None = None,
) -> Json:
    """Return how far each partition of facts is sealed, and the newest redrives.

    coverage: of the transparency log; None where chains of checkpoints seal the facts.
    Raises BrokerUnavailable.
    """
    names = [full_name(topic, state.prefix) for topic in COVERED]
    tps = [tp for name in names for tp in state.partitions_of(name)]
    seals = {
        tp: _chain_seal(view, tp, keys) if coverage is None else _log_seal(coverage, tp)
        for tp in tps
    }
    sealed_to = {tp: None if seal is None else seal.sealed_to for tp, seal in seals.items()}
    unsealed = count_unsealed(log, sealed_to, state.ranges)
    partitions = [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "sealed_to": sealed_to[tp],
            "end": state.ranges[tp].end,
            "unsealed": unsealed[tp],
            "sealed_at": None if seal is None else iso_ms(seal.at_ms),
            "key_id": None if seal is None else seal.key_id,
            "signature": None if seal is None else seal.signature,
        }
        for tp, seal in seals.items()
    ]
    return {"partitions": partitions, "redrives": newest_redrives(log, state)}


def _chain_seal(view: ReadOnlyStore, tp: TopicPartition, keys: Keys) -> _PartitionSeal | None:
    checkpoint = last_checkpoint(view, tp, keys)
    if checkpoint is None:
        return None
    signature = check_signature(checkpoint, keys)
    return _PartitionSeal(checkpoint["offset"], checkpoint["at"], checkpoint["key_id"], signature)


def _log_seal(coverage: LogCoverage, tp: TopicPartition) -> _PartitionSeal | None:
    """Return the seal of a log's checkpoint, which the view has verified."""
    covered_to, at_ms, key_id = coverage.covered_to.get(tp), coverage.published_ms, coverage.key_id
    if not covered_to or at_ms is None or key_id is None:
        return None
    return _PartitionSeal(covered_to, at_ms, key_id, Signature.VALID)


def count_unsealed(
    log: Log,
    sealed_to: Mapping[TopicPartition, int | None],
    ranges: Mapping[TopicPartition, OffsetRange],
) -> dict[TopicPartition, int]:
    """Count the records of each partition that no checkpoint covers.

    The markers of transactions take offsets too.  They are left out where few offsets remain.
    """
    begins = {tp: max(ranges[tp].start, offset or 0) for tp, offset in sealed_to.items()}
    gaps = {tp: max(0, ranges[tp].end - begin) for tp, begin in begins.items()}
    few = {tp for tp, gap in gaps.items() if 0 < gap <= MAX_COUNTED}
    records = (
        read_span(log, {tp: begins[tp] for tp in few}, {tp: ranges[tp].end for tp in few})
        if few
        else []
    )
    if records is None:
        return gaps
    counts = Counter(TopicPartition(record.topic, record.partition) for record in records)
    return {tp: counts[tp] if tp in few else gap for tp, gap in gaps.items()}


def newest_redrives(log: Log, state: LogState) -> list[Json]:
    """Return the newest redrives with their positions, the latest first."""
    tps = state.partitions_of(full_name(AUDIT_REDRIVES, state.prefix))
    redrives = map(_redrive_json, newest_first(log, tps, PATIENCE_S))
    return list(islice((each for each in redrives if each is not None), MAX_REDRIVES))


def _redrive_json(record: Record) -> Json | None:
    try:
        value = to_json(_RECORD, decode(record.value, _RECORD).value)
    except Undecodable:
        return None
    return {"position": position(record), **value}
