"""The view's rows of the ASAP topics.

| key                                          | value                                           |
|----------------------------------------------|-------------------------------------------------|
| asap fact, partition, offset                 | AsapEvent about that record of `asap.envelopes` |
| asap timed, partition, offset                | AsapEvent of a timer, by its own position       |
| asap event, task, sequence                   | key of one of these                             |
| asap message / asap artifact, task, sequence | the same, of these payloads                     |
| asap verdict, envelope id, log order         | key of the fact                                 |
| asap response, task                          | key of the fact that recorded it                |
| asap part, task, part id                     | Part, as JSON; of the first envelope with it    |
| asap call, key                               | key of the fact that opened it                  |
| asap call end, key                           | key of the fact that closed it                  |
| asap redirect, request id                    | id of the older task that answers it            |
| asap task, id                                | AsapTask as on its topic                        |
| asap alias, foreign id, created_at, task     | nothing                                         |
| asap all, created_at, task                   | key of the task's row                           |
| asap of, filter, value, created_at, task     | the same                                        |
| asap conversations of, URN, conversation     | nothing; of the requester and the worker        |
| asap snapshot, task, version                 | AsapSnapshot as on its topic                    |
| asap agent, URN                              | AsapManifest as on its topic, if it is valid    |
| asap answer, recipient, correlation_id       | AsapEnvelope by which the service answered      |

The log order is (time, partition, offset).  Facts about manifests are not stored.  An empty row
replaces the fact of a record with a dead letter, and an expired fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from schemas import Undecodable, decode
from schemas.asap import EXT_PARTS, EXT_SNAPSHOT, Part, judge_manifest
from schemas.projection import Projection
from streams.engine.headers import CAUSE
from streams.engine.records import Record, header
from streams.protocols.asap.verdicts import FACTS
from streams.views.changes import WriteBatch
from streams.views.decoded import decode_members
from streams.views.index import Index
from streams.views.keys import key, text_key
from streams.views.projection import Apply
from streams.views.service.open_work import OpenWork
from streams.views.values import Json, json_of
from topology.asap import (
    ASAP_ENVELOPES_DLQ,
    ASAP_EVENTS,
    ASAP_INBOX,
    ASAP_MANIFESTS,
    ASAP_MANIFESTS_DLQ,
    ASAP_SNAPSHOTS,
    ASAP_TASKS,
)
from topology.declarations import Topic
from topology.keys import split
from topology.machines.asap_task import MACHINE

ROW, ALIAS = key("asap task"), key("asap alias")
CONVERSATIONS_OF = key("asap conversations of")
STATUS = "status"
TASKS = Index(
    all=key("asap all"),
    of=key("asap of"),
    fixed=("parent_task_id", "conversation_id", "requester", "worker", "skill_id"),
    state=STATUS,
    created_at="created_at",
    id="task_id",
)
TASK_WORK = OpenWork("asap", "task", MACHINE.terminal)
_ROWS = Projection(ASAP_TASKS.record or "", (*TASKS.members, "aliases"))


def _tasks(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    changed = [
        (record, row, ROW + text_key(row["task_id"]))
        for record, row in decode_members(topic, records, _ROWS)
    ]
    rows.load([row_key for _, _, row_key in changed])
    for record, row, row_key in changed:
        stored = rows.read(row_key)
        rows[row_key] = record.value
        before = None if stored is None else _ROWS.of(stored)
        TASKS.note(row, before, row_key, rows)
        TASK_WORK.move(None if before is None else before[STATUS], row[STATUS], rows)
        if before is None:
            _put_participants(row, rows)
        for alias in row["aliases"][0 if before is None else len(before["aliases"]) :]:
            rows[ALIAS + text_key(alias) + TASKS.sort_key(row)] = b""


def _put_participants(task: Mapping[str, Any], rows: WriteBatch) -> None:
    """Index the conversation of a task by its agents."""
    for agent in (task["requester"], task["worker"]):
        rows[CONVERSATIONS_OF + text_key(agent) + text_key(task["conversation_id"])] = b""


def part_key(task_id: str, part_id: str) -> bytes:
    return key("asap part") + text_key(task_id) + text_key(part_id)


def store_parts(fact: bytes | None, rows: WriteBatch) -> None:
    """Store the parts of an accepted message or artifact, except for ids that exist."""
    event = json_of(ASAP_EVENTS, fact or b"")
    for part_id, part in parts_of(event["envelope"]):
        row_key = part_key(event["task_id"], part_id)
        if rows.read(row_key) is None:
            rows[row_key] = orjson.dumps(part)


def parts_of(envelope: Json) -> Iterator[tuple[str, Any]]:
    """Yield the parts in an envelope, each with its id (ASAP guide, 2.6)."""
    for index, part in enumerate(envelope["payload"].get("parts") or ()):
        if isinstance(part, dict):
            yield f"{envelope['id']}#{index}", part
    for item in (envelope["extensions"] or {}).get(EXT_PARTS, ()):
        yield item["id"], Part.dump_python(Part.validate_python(item["part"]), mode="json")


MAX_ID_LENGTH = 256
"""The characters of an envelope's id; longer ones are refused and not indexed."""
_ANSWERS = Projection(
    ASAP_INBOX.record or "",
    ("recipient", "payload/AsapTaskUpdate/task_id", "correlation_id", "extensions_json"),
)
_UPDATE = "AsapTaskUpdate"
_INDEX_BY_TYPE = {"MessageSend": "asap message", "ArtifactNotify": "asap artifact"}
_FACT, _VERDICT, _EVENT = key("asap fact"), key("asap verdict"), key("asap event")


def verdict_key(partition: int, offset: int) -> bytes:
    """Return the key of the AsapEvent about that record of `asap.envelopes`."""
    return _FACT + key(partition, offset)


def task_row_key(task_id: str) -> bytes:
    return ROW + text_key(task_id)


def event_prefix(task_id: str) -> bytes:
    """Return the prefix of the rows that point to the AsapEvents of a task, by sequence."""
    return _EVENT + text_key(task_id)


def response_key(task_id: str) -> bytes:
    """Return the key of the row that points to the AsapEvent with a task's response."""
    return key("asap response") + text_key(task_id)


def call_end_key(call_key: str) -> bytes:
    """Return the key of the row that points to the AsapEvent that closed a call."""
    return key("asap call end") + text_key(call_key)


def answer_key(recipient: str, correlation_id: str) -> bytes:
    """Return the key of the AsapEnvelope that answers an agent's StateQuery or StateRestore."""
    return key("asap answer", recipient) + text_key(correlation_id)


def _events(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    facts = rows.shared[records[0].topic] = decode_members(topic, records, FACTS)
    for record, fact in facts:
        if fact["kind"] == "expired":
            _expire(fact["task_id"], rows)
        elif fact["kind"] != "manifest":
            _fact(record, fact, rows)


def _fact(record: Record, fact: dict[str, Any], rows: WriteBatch) -> None:
    fact_key = _fact_key(record, fact["cause"])
    rows[fact_key] = record.value
    envelope_id = fact["envelope_id"]
    if envelope_id is not None and len(envelope_id) <= MAX_ID_LENGTH:
        log_order = key(fact["at"], record.partition, record.offset)
        rows[_VERDICT + text_key(envelope_id) + log_order] = fact_key
    if fact["sequence"] is not None:
        _index_event(record, fact, fact_key, rows)
    elif fact["rule"] == "same_idempotency_key":
        rows[key("asap redirect") + text_key(envelope_id)] = fact["task_id"].encode()
    elif fact["rule"] == "call_opened":
        rows[key("asap call") + text_key(fact["call_key"])] = fact_key
        rows[call_end_key(fact["call_key"])] = None
    elif fact["rule"] in ("call_answered", "call_timeout"):
        rows[call_end_key(fact["call_key"])] = fact_key


def _fact_key(record: Record, cause: str) -> bytes:
    if cause.startswith("timer/"):
        return key("asap timed", record.partition, record.offset)
    _, partition, offset = cause.rsplit("/", 2)
    return verdict_key(int(partition), int(offset))


def _dead_letters(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    """Store an empty row for a record with a dead letter: it has no fact."""
    for record in records:
        if (cause := header(record, CAUSE)) is not None:
            _, partition, offset = cause.decode().rsplit("/", 2)
            rows[verdict_key(int(partition), int(offset))] = b""


def _index_event(record: Record, fact: dict[str, Any], fact_key: bytes, rows: WriteBatch) -> None:
    """Index an event of a task."""
    task_id, sequence = text_key(fact["task_id"]), key(fact["sequence"])
    rows[_EVENT + task_id + sequence] = fact_key
    if fact["rule"] == "response_recorded":
        rows[response_key(fact["task_id"])] = fact_key
    index = _INDEX_BY_TYPE.get(fact["payload_type"] or "")
    if index is not None:
        rows[key(index) + task_id + sequence] = fact_key
        store_parts(record.value, rows)


def _expire(task_id: str, rows: WriteBatch) -> None:
    """Delete the events of a task, except for its response.

    An empty row replaces each fact: its record has had its verdict.
    """
    task = text_key(task_id)
    response = rows.read(response_key(task_id))
    for index, fact_key in list(rows.under(_EVENT + task)):
        rows[index] = None
        if fact_key != response:
            rows[fact_key] = b""
    for name in ("asap message", "asap artifact", "asap part"):
        for index, _ in list(rows.under(key(name) + task)):
            rows[index] = None


def _snapshots(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    for record in records:
        task_id, version = split((record.key or b"").decode())
        rows[key("asap snapshot") + text_key(task_id) + key(int(version))] = record.value


def _manifests(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    for record in records:
        urn = (record.key or b"").decode(errors="replace")
        rows[key("asap agent", urn)] = record.value if _is_valid(topic, record, urn) else None


def _is_valid(topic: Topic, record: Record, urn: str) -> bool:
    if record.value is None:
        return False
    try:
        validated = judge_manifest(decode(record.value, topic.record or "").value)
    except Undecodable:
        return False
    return not validated.problems and validated.manifest["id"] == urn


def _answers(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    """Store the service's own envelopes about states; skip the rest of the inbox."""
    for record, envelope in decode_members(topic, records, _ANSWERS):
        is_update = envelope["payload"][0].endswith(_UPDATE)
        if is_update and envelope["correlation_id"] and _has_state(envelope["extensions_json"]):
            rows[answer_key(envelope["recipient"], envelope["correlation_id"])] = record.value


def _has_state(extensions: str | None) -> bool:
    """Return whether the snapshot extension is the service's: workers set no task_id in it."""
    if extensions is None or EXT_SNAPSHOT not in extensions:
        return False
    snapshot = orjson.loads(extensions).get(EXT_SNAPSHOT, ())
    return snapshot is None or (isinstance(snapshot, dict) and "task_id" in snapshot)


FOLLOWED: Mapping[str, Apply | None] = {
    ASAP_EVENTS.name: _events,
    ASAP_TASKS.name: _tasks,
    ASAP_SNAPSHOTS.name: _snapshots,
    ASAP_MANIFESTS.name: _manifests,
    ASAP_INBOX.name: _answers,
    ASAP_ENVELOPES_DLQ.name: _dead_letters,
    ASAP_MANIFESTS_DLQ.name: None,
}
"""The functions that apply a topic's records to the view, as in `streams.view_store.rows`."""
