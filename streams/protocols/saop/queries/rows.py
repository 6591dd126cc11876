"""Turn records of the SAOP and RTES topics into rows.

| key                                                    | value                              |
|--------------------------------------------------------|------------------------------------|
| event, session, sequence                               | RtesRecord as on its topic         |
| event of type, session, type, sequence                 | nothing; of the types that are few |
| event of task, session, linked task, sequence          | nothing                            |
| rejection, session, partition, offset                  | RtesRejection as on its topic      |
| rejection of task, session, task, partition, offset    | nothing; of rejected transitions   |
| call, session, first sequence                          | JSON of the call                   |
| call of, session, origin or "", call_id                | first sequence of its latest call  |
| open call, session, first sequence                     | nothing; invoked and not completed |
| audit, task, turn_index, agent                         | nothing: of a turn or a stream     |
| stream, task, turn_index, agent, session               | JSON: chunks, chars, final         |
| chunk, task, turn_index, agent, session, sequence      | nothing                            |
| loose stream, session, turn_index, agent               | JSON, as of a stream with a task   |
| loose chunk, session, turn_index, agent, sequence      | nothing                            |
| streamed in, session, task                             | nothing                            |
| task …, saop session …                                 | see `queries.sessions`             |
| saop turn, task, turn_index                            | SaopTurnLogged as on its topic     |
| saop verdict, task, partition, offset                  | SaopVerdict as on its topic        |
| escalation, position                                   | SaopEscalation as on its topic     |
| escalation of, task / session / agent / detector, which, position | key of that escalation  |
| escalation id, escalation_id                           | key of that escalation             |
| rewind, session, rewind_id in lower case, partition, offset | SaopRewindLogged as on its topic |
| rewind of, rewind_id in lower case, session            | nothing                            |
| latest rewind, session, rewind_id in lower case        | SaopRewindLogged: its latest step  |
| rewind made, session, rewind_id in lower case          | time of its first step (ms)        |
| rewind at / rewind by …                                | index of the latest steps          |
| control, session, control_id in lower case, partition, offset | SaopControlLogged, as on topic |

A position is (time, partition, offset).  The steps of a rewind are its accepted commands and its
expiry.  A call is combined from its two halves; its id can be used
again once the service has expired the earlier call.  The rows of streams and chunks serve to
compare streamed thoughts with the thoughts of logged turns.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from schemas import Undecodable, decode, decode_many
from schemas.rtes.models import NAMES, OTEL
from schemas.text_cache import cache_short
from streams.engine.records import Record, position
from streams.protocols.saop.queries import sessions
from streams.views.changes import WriteBatch
from streams.views.index import Index
from streams.views.keys import key
from streams.views.projection import Apply
from topology.declarations import Topic
from topology.saop import (
    RTES_EVENTS,
    RTES_RAW_DLQ,
    RTES_REJECTIONS,
    SAOP_CONTROL_LOG,
    SAOP_CONTROLS_DLQ,
    SAOP_ESCALATIONS,
    SAOP_LOG,
    SAOP_REWIND_LOG,
    SAOP_REWINDS_DLQ,
    SAOP_TASKS,
    SAOP_TURNS_DLQ,
    SAOP_VERDICTS,
)

_INVOKED = "TOOL_LIFECYCLE_INVOKED"
_CALL_TYPES = frozenset({_INVOKED, "TOOL_LIFECYCLE_COMPLETED"})
_TRANSITION = "TASK_TRANSITION"
INDEXED_TYPES = frozenset({_TRANSITION, *_CALL_TYPES})
"""Without sandbox output and thoughts, which are most of a session and are found by a scan."""

ESCALATION_FILTERS = {
    "task": "task_id",
    "session": "session_id",
    "agent": "agent_id",
    "detector": "detector",
}

REWINDS = Index(
    all=key("rewind at"),
    of=key("rewind by"),
    fixed=("session_id", "target_task_id"),
    state="state",
    created_at="created_at",
    id="id",
)

_log = logging.getLogger("streams.views.saop.rows")

prefix = cache_short(1 << 12)(key)
"""The key prefix of rows, cached because rows come in runs."""


def _decoded(
    topic: Topic, records: Sequence[Record], rows: WriteBatch
) -> list[tuple[Record, dict[str, Any]]]:
    """Return records with their values, and share them; unreadable ones are left out.

    One warning tells of each of these.
    """
    assert topic.record is not None
    values = []
    decoded = decode_many([record.value for record in records], topic.record)
    for record, value in zip(records, decoded, strict=True):
        if isinstance(value, Undecodable):
            _log.warning("%s is no %s: %s", position(record), topic.record, value)
        else:
            values.append((record, value.value))
    if records:
        rows.shared[records[0].topic] = values
    return values


def _events(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    decoded = _decoded(topic, records, rows)
    chunks = _Chunks(rows)
    for record, value in decoded:
        session_id, task_id, sequence = (
            value["session_id"],
            value["task_id"],
            key(value["sequence"]),
        )
        rows[prefix("event", session_id) + sequence] = record.value
        kind, payload = NAMES[value["payload"][0]], value["payload"][1]
        if kind in INDEXED_TYPES:
            rows[prefix("event of type", session_id, kind) + sequence] = b""
        if task_id is not None:
            rows[prefix("event of task", session_id, task_id) + sequence] = b""
        if kind == "THOUGHT_STREAM" and value["origin"] != OTEL:
            chunks.add(value, payload)
        elif kind in _CALL_TYPES:
            _put_call(value, kind, payload, rows)
    chunks.write()
    sessions.count_events([value for _, value in decoded], rows)


def _put_call(
    record: Mapping[str, Any], kind: str, payload: Mapping[str, Any], rows: WriteBatch
) -> None:
    """Add one half of a call.

    record: RtesRecord, payload: its ToolInvoked or ToolCompleted, as Avro values.
    """
    session_id, sequence = record["session_id"], record["sequence"]
    latest = key("call of", session_id, record["origin"] or "", payload["call_id"])
    pairs = "unpaired" not in record["flags"] if kind != _INVOKED else _comes_second(record)
    known = rows.read(latest) if pairs else None
    first = sequence if known is None else int(known)
    row = key("call", session_id, first)
    stored = rows.read(row) if known is not None else None
    call = _new_call(payload) if stored is None else orjson.loads(stored)
    call["flags"] = [*call["flags"], *(f for f in record["flags"] if f not in call["flags"])]
    if kind == _INVOKED:
        call |= {"tool": payload["tool"], "invoked_sequence": sequence}
        call["task_id"] = call["task_id"] or record["task_id"]
    else:
        call |= {"status": payload["status"], "completed_sequence": sequence}
        call |= {"duration_ms": payload["duration_ms"]}
        call["task_id"] = record["task_id"] if stored is None else call["task_id"]
    rows[row], rows[latest] = orjson.dumps(call), str(first).encode()
    is_open = call["completed_sequence"] is None
    rows[key("open call", session_id, first)] = b"" if is_open else None


def _comes_second(invoked: Mapping[str, Any]) -> bool:
    """Return whether the other half came before."""
    return "out_of_order" in invoked["flags"]


def _new_call(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "call_id": payload["call_id"],
        "tool": payload["tool"],
        "task_id": None,
        "status": None,
        "duration_ms": None,
        "invoked_sequence": None,
        "completed_sequence": None,
        "flags": [],
    }


class _Chunks:
    """The streams of one batch of chunks, each row read and written once."""

    def __init__(self, rows: WriteBatch) -> None:
        self._rows = rows
        self._open: dict[bytes, dict[str, Any]] = {}

    def add(self, record: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        """Add a chunk.  record: RtesRecord, payload: its ThoughtStream, as Avro values."""
        session_id, task_id = record["session_id"], record["task_id"]
        turn = (payload["turn_index"], payload["agent_id"])
        where: tuple[str | int, ...]
        if task_id is None:
            where = (session_id, *turn)
            stream, chunk = prefix("loose stream", *where), prefix("loose chunk", *where)
        else:
            where = (task_id, *turn, session_id)
            stream, chunk = prefix("stream", *where), prefix("chunk", *where)
            if stream not in self._open:
                self._rows[key("audit", task_id, *turn)] = b""
                self._rows[key("streamed in", session_id, task_id)] = b""
        row = self._row(stream)
        row["chunks"] += 1
        row["chars"] += len(payload["chunk"])
        row["final"] = row["final"] or payload["is_final"]
        self._rows[chunk + key(record["sequence"])] = b""

    def _row(self, stream: bytes) -> dict[str, Any]:
        row = self._open.get(stream)
        if row is None:
            known = self._rows.read(stream)
            new = {"chunks": 0, "chars": 0, "final": False}
            row = self._open[stream] = new if known is None else orjson.loads(known)
        return row

    def write(self) -> None:
        for stream, row in self._open.items():
            self._rows[stream] = orjson.dumps(row)


def _rejections(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    verdicts = []
    for record, value in _decoded(topic, records, rows):
        session_id = (record.key or b"").decode(errors="replace")
        rows[key("rejection", session_id, record.partition, record.offset)] = record.value
        task_id = _refused_task(value)
        if task_id is not None:
            place = (record.partition, record.offset)
            rows[key("rejection of task", session_id, task_id, *place)] = b""
        verdicts.append((session_id, value["verdict"]))
    sessions.count_rejections(verdicts, rows)


def _refused_task(rejection: Mapping[str, Any]) -> str | None:
    """Return the task whose transition was rejected; None for anything else."""
    if rejection["type"] != _TRANSITION or rejection["event_json"] is None:
        return None
    task_id = orjson.loads(rejection["event_json"])["payload"].get("task_id")
    return task_id if isinstance(task_id, str) else None


def _tasks(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    for record, value in _decoded(topic, [r for r in records if r.value is not None], rows):
        sessions.note_task(record, value, rows)


def _turns(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    for record, value in _decoded(topic, records, rows):
        turn = value["turn"]
        task_id, index = turn["metadata"]["task_id"], turn["turn_index"]
        rows[key("saop turn", task_id, index)] = record.value
        rows[key("audit", task_id, index, turn["agent_id"])] = b""


def _verdicts(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    for record in records:
        task_id = (record.key or b"").decode(errors="replace")
        rows[key("saop verdict", task_id, record.partition, record.offset)] = record.value


def _escalations(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    for record, value in _decoded(topic, records, rows):
        time_position = (value["at"], record.partition, record.offset)
        row = key("escalation", *time_position)
        rows[row] = record.value
        rows[key("escalation id", value["escalation_id"])] = row
        for name, member in ESCALATION_FILTERS.items():
            if value[member] is not None:
                rows[key("escalation of", name, value[member], *time_position)] = row


def _rewinds(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    for record, value in _decoded(topic, records, rows):
        ids = (value["session_id"], value["rewind_id"].lower())
        rows[key("rewind", *ids, record.partition, record.offset)] = record.value
        rows[key("rewind of", *reversed(ids))] = b""
        if value["verdict"] == "accepted":
            _put_step(record, value, ids, rows)


def _put_step(
    record: Record, fact: Mapping[str, Any], ids: tuple[str, str], rows: WriteBatch
) -> None:
    """Add a step of a rewind.  fact: SaopRewindLogged.  ids: of the session and the rewind."""
    row_key, made_key = key("latest rewind", *ids), key("rewind made", *ids)
    stored, made = rows.read(row_key), rows.read(made_key)
    created_at = fact["at"] if made is None else int(made)
    listed = {"created_at": created_at, "id": "".join(reversed(ids))}
    before = None
    if stored is not None:
        before = {**decode(stored, SAOP_REWIND_LOG.record or "").value, **listed}
    rows[row_key], rows[made_key] = record.value, str(created_at).encode()
    REWINDS.note({**fact, **listed}, before, row_key, rows)


def _controls(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    for record, value in _decoded(topic, records, rows):
        ids = (value["session_id"], value["control_id"].lower())
        rows[key("control", *ids, record.partition, record.offset)] = record.value


FOLLOWED: Mapping[str, Apply | None] = {
    RTES_RAW_DLQ.name: None,
    RTES_EVENTS.name: _events,
    RTES_REJECTIONS.name: _rejections,
    SAOP_TASKS.name: _tasks,
    SAOP_LOG.name: _turns,
    SAOP_VERDICTS.name: _verdicts,
    SAOP_ESCALATIONS.name: _escalations,
    SAOP_REWIND_LOG.name: _rewinds,
    SAOP_CONTROL_LOG.name: _controls,
    SAOP_TURNS_DLQ.name: None,
    SAOP_REWINDS_DLQ.name: None,
    SAOP_CONTROLS_DLQ.name: None,
}
"""As in `streams.view_store.rows`."""
