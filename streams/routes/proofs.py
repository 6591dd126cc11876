"""The routes of proofs: of one fact, and how far all of them are sealed."""

from __future__ import annotations

from typing import Any

from schemas import Problem
from schemas.formats import iso_ms
from streams.api.route import Call, Query, Route
from streams.engine.records import Record, TopicPartition, position
from streams.errors import AccessDenied, InvalidInput
from streams.log.fetching import read_offsets
from streams.log.records import PATIENCE_S, read_record
from streams.ops.audit.seals import Seal, Signature, load_keys, seal_of
from streams.ops.audit.standing import audit_standing
from streams.ops.tlog.entries import entry_of, parse_entry
from streams.routes.log import process_of
from streams.routes.records import ERRORS, RECORD, log_of, named_partition
from streams.routes.transparency import cosigner_json, find_coverage
from streams.verify.derivation import derive_fact
from streams.view_store.receipts import PublishedEntry, find_published
from streams.view_store.transparency import LogStatus, followed_log
from streams.views.parse import parse_position
from topology.declarations import TopicKind

Json = dict[str, Any]
_MAX_DETAIL = 500


def prove_fact(call: Call) -> Json:
    """Return what is proven of a fact, computed now.  Raises InvalidInput if it is no fact."""
    topic, tp = named_partition(call)
    record = read_record(log_of(call), tp, call.ids["offset"])
    if topic.kind is not TopicKind.FACT:
        message = f"{position(record)} is a {topic.kind.value} record, not a fact"
        raise InvalidInput([Problem("not_a_fact", "", message)], advice="")
    partitions = len(process_of(call).log().partitions_of(tp.topic))

    def read(place: str) -> Record | None:
        return _read(call, place)

    settings = call.settings
    derivation = derive_fact(topic, record, settings.prefix, partitions, settings.as_work(), read)
    receipt, sealed = _find_receipt(call, record, tp)
    return {
        "position": position(record),
        "recorded": True,
        "rederived": {
            "outcome": derivation.outcome,
            "detail": derivation.detail[:_MAX_DETAIL],
        },
        "sealed": sealed,
        "receipt": receipt,
    }


def _find_receipt(call: Call, record: Record, tp: TopicPartition) -> tuple[str | None, Json | None]:
    """Return the path of the receipt of a record, and the checkpoint that covers it.

    The checkpoint is that of a transparency log, or, where there is none, of a chain.
    """
    log = followed_log(call.settings)
    if log is None:
        keys = load_keys(call.settings.audit_public_key)
        seal = seal_of(call.view, log_of(call), tp, record.offset, keys)
        return None, None if seal is None else _seal_json(seal)
    published = find_published(log, call.view, tp, record.offset)
    if published is None:
        return None, None
    path = f"/v1/audit/receipts/{position(record)}"
    return path, _log_seal_json(log.read_status(call.view), published, record)


def show_audit(call: Call) -> Json:
    """Return how far each partition of facts is sealed, read once for each state of the log."""
    state = process_of(call).log()
    keys = load_keys(call.settings.audit_public_key)
    log = followed_log(call.settings)
    covered = None if log is None else find_coverage(call, log, state)
    return state.once(
        "audit", lambda: audit_standing(call.view, log_of(call), state, keys, covered)
    )


def _read(call: Call, place: str) -> Record | None:
    """Return a command, None if it is gone, or if this process may not read its topic."""
    topic, partition, offset = parse_position(place)
    tp = TopicPartition(topic, partition)
    try:
        return next(read_offsets(log_of(call), tp, [offset], PATIENCE_S), None)
    except AccessDenied:
        return None


def _log_seal_json(status: LogStatus, published: PublishedEntry, record: Record) -> Json:
    """Return the checkpoint of the log; invalid if the record is not the one that was logged."""
    checkpoint = published.head.checkpoint
    same = parse_entry(published.line) == entry_of(record)
    return {
        "index": published.index,
        "size": checkpoint.size,
        "origin": checkpoint.origin,
        "at": iso_ms(status.published_ms or 0),
        "cosigners": list(map(cosigner_json, status.cosignatures)),
        "signature": Signature.VALID if same else Signature.INVALID,
    }


def _seal_json(seal: Seal) -> Json:
    checkpoint = seal.checkpoint
    return {
        "sequence": checkpoint["sequence"],
        "from": seal.begin,
        "to": checkpoint["offset"],
        "at": iso_ms(checkpoint["at"]),
        "key_id": checkpoint["key_id"],
        "signature": seal.signature,
        "records": seal.records,
    }


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        f"{RECORD}/proof",
        "prove_fact",
        Query(prove_fact, asks_kafka=True),
        "whether a fact follows again from its command, and which signed checkpoint covers it",
        (),
        "Proof",
        errors=ERRORS,
    ),
    Route(
        "GET",
        "/v1/audit",
        "show_audit",
        Query(show_audit, asks_kafka=True),
        "how far each partition of facts is sealed, and what operators have sent again; at most"
        " 2 s old",
        (),
        "Audit",
    ),
)
