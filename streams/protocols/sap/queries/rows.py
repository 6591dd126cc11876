"""The projection of records of the SAP topics to rows.

| key                                          | value                                          |
|----------------------------------------------|------------------------------------------------|
| sap task, task                               | SapTaskState as on its topic                   |
| sap accepted, acceptedAt, task               | key of the task's row                          |
| sap sent, partition, offset                  | SapTask as on `sap.tasks`, valid or not        |
| sap ack, task, when                          | SapAck as on its topic                         |
| sap signal, signalId                         | the task of the first accepted one with the id |
| sap outcome, task, seq                       | SapResult as on `sap.outcomes`                 |
| sap end, task                                | key of the outcome that closed it              |
| sap verdict, task, when                      | SapCacheVerdict as on its topic                |
| sap cache, cacheKey, version                 | SapCacheRecord as on its topic                 |
| sap cache position, cacheKey, version        | position of its record                         |
| sap stored, cacheKey, version                | recordSha256 of its `stored` verdict, or empty |
| sap refused, cacheKey                        | how many writes of a version were refused      |
| sap refused at, cacheKey, when               | empty; the key is that of the verdict          |
| sap learning, capability, territory, fingerprint | SapLearning as on its topic                |
| sap knowledge, capability, territory, fingerprint | SapPlaybook as on its topic               |
| sap heuristics, capability, version          | SapHeuristics as on its topic                  |

`when` is (time, partition, offset).  Task ids are in lower case, as in the keys of records; without
a territory, its part of the key is the empty text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

import orjson

from schemas import Undecodable
from schemas.projection import Projection
from schemas.sap.constants import TERMINAL
from streams.engine.records import Record, position
from streams.engine.refused_rows import PROCESS
from streams.protocols.sap.counted_versions import KEY_MISMATCH
from streams.protocols.sap.verdicts import ACKS, CACHE_VERDICTS, REFUSED, STORED
from streams.views.changes import WriteBatch
from streams.views.decoded import decode_members
from streams.views.keys import key
from streams.views.projection import Apply, put_once
from streams.views.service.open_work import OpenWork
from topology.declarations import Topic
from topology.sap import (
    SAP_ACKS,
    SAP_CACHE,
    SAP_HEURISTICS,
    SAP_INBOX,
    SAP_KNOWLEDGE,
    SAP_LEARNING,
    SAP_OUTCOMES,
    SAP_RESULTS_DLQ,
    SAP_SIGNALS_DLQ,
    SAP_TASK_STATES,
    SAP_TASKS,
    SAP_TASKS_DLQ,
    SAP_VERDICTS,
    sap_key,
    sap_version,
)

_MAX_DIGITS = 19
"""A number with fewer digits fits into 63 bits."""
TASK_WORK = OpenWork("sap", "task", TERMINAL)
_STATES = Projection(SAP_TASK_STATES.record or "", ("state",))
ACCEPTED = key("sap accepted")
_ACCEPTED_AT = Projection(SAP_TASK_STATES.record or "", ("acceptedAt",))
_OUTCOMES = Projection(SAP_OUTCOMES.record or "", ("status", "meta_json"))


def _name(record: Record) -> str:
    return (record.key or b"").decode(errors="replace")


def _sent(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    for record in records:
        rows[key("sap sent", record.partition, record.offset)] = record.value


def _states(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    changed = [(key("sap task", _name(record)), record) for record in records]
    rows.load(row_key for row_key, _ in changed)
    for row_key, record in changed:
        before, rows[row_key] = rows.read(row_key), record.value
        state = _state(record.value)
        TASK_WORK.move(_state(before), state, rows)
        if before is None and state is not None:
            accepted_at = _ACCEPTED_AT.of(record.value)["acceptedAt"]
            rows[ACCEPTED + key(accepted_at, _name(record))] = row_key


def _state(row: bytes | None) -> str | None:
    """Return the state in a task's row; None if there is no readable row."""
    (members,) = _STATES.many([row])
    return None if isinstance(members, Undecodable) else members["state"]


def _acks(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    acks = rows.shared[records[0].topic] = decode_members(topic, records, ACKS)
    for record, value in acks:
        when = (value["at"], record.partition, record.offset)
        rows[key("sap ack", _name(record), *when)] = record.value
        if (value["subject"], value["verdict"]) == ("SIGNAL", "accepted"):
            signal_row = key("sap signal", value["messageId"].lower())
            if rows.read(signal_row) is None:
                rows[signal_row] = _name(record).encode()


def _outcomes(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    for record, value in decode_members(topic, records, _OUTCOMES):
        outcome_key = key("sap outcome", _name(record), seq_of(value["meta_json"]))
        rows[outcome_key] = record.value
        if value["status"] in TERMINAL:
            rows[end_key(_name(record))] = outcome_key


def seq_of(meta: str | None) -> int:
    """Return the number that the service gave an outcome.  meta: its `meta`, as text."""
    seq: int = orjson.loads(meta or "{}")["headrace"]["seq"]
    return seq


def end_key(task_id: str) -> bytes:
    """Return the key of the row that exists once a task is closed.  task_id: in any case."""
    return key("sap end", task_id.lower())


def refused_key(cache_key: str) -> bytes:
    return key("sap refused", cache_key)


def refused_prefix(cache_key: str) -> bytes:
    """Return what the keys begin with that have the times of refused writes."""
    return key("sap refused at", cache_key)


def _verdicts(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    verdicts = rows.shared[records[0].topic] = decode_members(topic, records, CACHE_VERDICTS)
    for record, value in verdicts:
        when = (value["at"], record.partition, record.offset)
        rows[key("sap verdict", _name(record), *when)] = record.value
        if value["verdict"] == STORED:
            stored_key = key("sap stored", value["cacheKey"], value["version"])
            rows[stored_key] = (value["recordSha256"] or "").encode()
        if value["verdict"] == REFUSED:
            refused = refused_key(value["cacheKey"])
            rows[refused] = b"%d" % (int(rows.read(refused) or b"0") + 1)
            rows[refused_prefix(value["cacheKey"]) + key(*when)] = b""


def _versions(name: str) -> Apply:
    """Return what writes rows under an id and a version, each once."""

    def apply(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
        put_once(rows, [(key(name, *id), record) for id, record in _versioned(records)])

    return apply


def _cached_versions(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    """Write versions, each once, and the position of the record that stands."""
    versions = [(key("sap cache", *id), id, record) for id, record in _versioned(records)]
    rows.load(row_key for row_key, _, _ in versions)
    for row_key, id, record in reversed(versions):
        if record.value is not None and rows.read(row_key) is None:
            rows[key("sap cache position", *id)] = position(record).encode()
    put_once(rows, [(row_key, record) for row_key, _, record in versions])


def _versioned(records: Sequence[Record]) -> Iterator[tuple[tuple[str, int], Record]]:
    """Yield the records whose key names an id and a version; count the others."""
    for record in records:
        version = _version_of(_name(record))
        if version is None:
            PROCESS.count(record.topic, KEY_MISMATCH, position(record))
        else:
            yield version, record


def _version_of(row_name: str) -> tuple[str, int] | None:
    """Return the id and the version that a row's key names, None if it is no such key."""
    id, _, digits = row_name.partition("/")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < _MAX_DIGITS):
        return None
    named = unquote(id), int(digits)
    return named if row_name == sap_key(named[0], sap_version(named[1])) else None


def _learned(name: str) -> Apply:
    """Return what writes rows under capability, territory and fingerprint."""

    def apply(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
        for record in records:
            rows[key(name, *map(unquote, _name(record).split("/")))] = record.value

    return apply


FOLLOWED: Mapping[str, Apply | None] = {
    SAP_TASKS.name: _sent,
    SAP_TASK_STATES.name: _states,
    SAP_ACKS.name: _acks,
    SAP_OUTCOMES.name: _outcomes,
    SAP_VERDICTS.name: _verdicts,
    SAP_CACHE.name: _cached_versions,
    SAP_LEARNING.name: _learned("sap learning"),
    SAP_KNOWLEDGE.name: _learned("sap knowledge"),
    SAP_HEURISTICS.name: _versions("sap heuristics"),
    SAP_INBOX.name: None,
    SAP_TASKS_DLQ.name: None,
    SAP_RESULTS_DLQ.name: None,
    SAP_SIGNALS_DLQ.name: None,
}
"""As in `streams.view_store.rows`."""
