"""The verdicts that the facts of SAP say, for the rows about the whole service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from schemas import Undecodable
from schemas.projection import Projection
from streams.engine.records import Record
from streams.views.changes import WriteBatch
from streams.views.keys import key
from streams.views.reads import ReadOnlyStore
from streams.views.service.counters import Counts
from streams.views.service.verdicts import (
    NONE,
    Counted,
    Explained,
    FactReading,
    LateSender,
    Members,
    SenderReading,
    Subject,
)
from topology.sap import SAP_ACKS, SAP_TASKS, SAP_VERDICTS

REFUSED = "cache_version_exists"
STORED = "stored"
ACKS = Projection(
    SAP_ACKS.record or "",
    ("subject", "messageId", "taskId", "verdict", "rule", "reason", "fault", "position", "at"),
)
CACHE_VERDICTS = Projection(
    SAP_VERDICTS.record or "", ("at", "cacheKey", "verdict", "version", "recordSha256")
)
_TASK = "TASK"
_TASKS = Projection(SAP_TASKS.record or "", ("issuer/agentId",))
_SENT = key("sap sent")
_WITHOUT_SENDER = key("sap ack without sender")
"""Prefix of rows by position of a task, for its ack if the view read that first."""
_HIT = "hit"
_LOOKUP_ENDS = (_HIT, "miss", "stale", "misaligned", "wait_expired")
"""The verdicts with which lookups end; one that waits gets another one later."""


def _count(record: Record, ack: Members, rows: WriteBatch) -> Counted:
    """Count an ack; the sender is known here only if the view has read the task before."""
    counted = Counted(ack["at"], ack["verdict"], ack["rule"])
    if ack["subject"] != _TASK:
        return counted
    _, partition, offset = ack["position"].rsplit("/", 2)
    place = key(int(partition), int(offset))
    sent = rows.read(_SENT + place)
    if sent is None:
        rows[_WITHOUT_SENDER + place] = orjson.dumps((*counted, record.partition, record.offset))
        return counted
    return counted._replace(agent=_issuer(sent))


def _issuer(task: bytes) -> str | None:
    (members,) = _TASKS.many([task])
    return None if isinstance(members, Undecodable) else members["issuer"]["agentId"]


def _find_sender(record: Record, task: Members, rows: WriteBatch) -> LateSender | None:
    row_key = _WITHOUT_SENDER + key(record.partition, record.offset)
    row = rows.read(row_key)
    if row is None:
        return None
    rows[row_key] = None
    at, verdict, rule, _, partition, offset = orjson.loads(row)
    counted = Counted(at, verdict, rule, task["issuer"]["agentId"])
    return LateSender(counted, SAP_ACKS.name, partition, offset)


def _explain(record: Record, ack: Members) -> Explained:
    node, title = None, ack["subject"]
    if ack["taskId"] is not None:
        node, title = f"sap:task:{ack['taskId']}", f"{title} {ack['taskId'][:8]}"
    return Explained(ack["reason"], ack["fault"], node, title)


def _count_cache(record: Record, verdict: Members, rows: WriteBatch) -> Counted:
    return Counted(verdict["at"], NONE, verdict["verdict"])


def cache_figures(view: ReadOnlyStore, counts: Counts) -> dict[str, Any]:
    """Return what the cache answered and stored in the window."""
    answers = {
        rule: count for (topic, _, rule), count in counts.items() if topic == SAP_VERDICTS.name
    }
    lookups = sum(answers.get(name, 0) for name in _LOOKUP_ENDS)
    hits = answers.get(_HIT, 0)
    return {
        "lookups": lookups,
        "hits": hits,
        "stored": answers.get(STORED, 0),
        "refused_writes": answers.get(REFUSED, 0),
        "hit_rate": hits / lookups if lookups else None,
    }


VERDICT_FACTS: Mapping[str, FactReading | SenderReading] = {
    SAP_ACKS.name: FactReading(
        subject=Subject.COMMANDS, projection=ACKS, count=_count, explain=_explain
    ),
    SAP_TASKS.name: SenderReading(projection=_TASKS, find=_find_sender),
    SAP_VERDICTS.name: FactReading(
        subject=Subject.SERVICE, projection=CACHE_VERDICTS, count=_count_cache
    ),
}
"""By topic."""
