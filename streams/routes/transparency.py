"""The route about the transparency log: how far it has come, and which records it covers."""

from __future__ import annotations

from typing import Any

from schemas.formats import iso_ms
from streams.api.route import Call, Query, Route
from streams.engine.records import TopicPartition
from streams.errors import NotFound
from streams.log.state import LogState
from streams.ops.audit.standing import LogCoverage, count_unsealed
from streams.ops.tlog.logged_topics import logged_topics
from streams.ops.tlog.note import to_base64
from streams.ops.tlog.policy import Cosignature
from streams.routes.log import process_of
from streams.routes.records import log_of
from streams.view_store.transparency import TransparencyLog, end_of_published, followed_log

Json = dict[str, Any]


def show_log(call: Call) -> Json:
    """Return how far the log has come, read once for each state of the topics.

    Raises NotFound without a policy.
    """
    log = followed_log(call.settings)
    if log is None:
        message = "HEADRACE_TLOG_POLICY is not set: there is no transparency log"
        raise NotFound(message, "tlog_off", advice="")
    state = process_of(call).log()
    body: Json = state.once("audit log", lambda: _log_json(call, log, state))
    return body


def _log_json(call: Call, log: TransparencyLog, state: LogState) -> Json:
    status = log.read_status(call.view)
    root = None if status.head is None else to_base64(status.head.checkpoint.root)
    covered_to = _covered_to(call, state, status.size)
    uncovered = count_unsealed(log_of(call), covered_to, state.ranges)
    return {
        "origin": log.origin,
        "size": status.size,
        "root": root,
        "sequenced": status.sequenced,
        "published_at": None if status.published_ms is None else iso_ms(status.published_ms),
        "cosigners": [cosigner_json(each) for each in status.cosignatures],
        "quorum": status.head is not None,
        "conflict": status.conflict,
        "refused": status.refused,
        "partitions": [
            {
                "topic": tp.topic,
                "partition": tp.partition,
                "covered_to": end,
                "end": state.ranges[tp].end,
                "uncovered": uncovered[tp],
            }
            for tp, end in covered_to.items()
        ],
    }


def find_coverage(call: Call, log: TransparencyLog, state: LogState) -> LogCoverage:
    """Return what the newest checkpoint covers."""
    status = log.read_status(call.view)
    if status.head is None:
        return LogCoverage({}, None, None)
    covered_to = _covered_to(call, state, status.size)
    key_id = status.head.note.signatures[0].key_id
    return LogCoverage(covered_to, status.published_ms, key_id)


def _covered_to(call: Call, state: LogState, size: int) -> dict[TopicPartition, int]:
    """Return the first offset of each logged partition without an entry below an index."""
    return {
        tp: end_of_published(call.view, tp, size)
        for name in sorted(logged_topics(call.settings.prefix))
        for tp in state.partitions_of(name)
    }


def cosigner_json(cosignature: Cosignature) -> Json:
    """Return the name and the time of a cosignature."""
    return {"name": cosignature.name, "at": iso_ms(cosignature.at_s * 1000)}


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/audit/log",
        "show_log",
        Query(show_log, asks_kafka=True),
        "how far the transparency log is published, who has cosigned it, and which records it"
        " covers; at most 2 s old",
        (),
        "AuditLog",
        errors=(404,),
    ),
)
