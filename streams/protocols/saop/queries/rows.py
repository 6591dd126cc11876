"""From records of the SAOP and RTES topics to rows.

| key                                                    | value                              |
|--------------------------------------------------------|------------------------------------|
| event, session, sequence                               | RtesRecord as on its topic         |
| event of type, session, type, sequence                 | nothing; of the types that are few |
| event of task, session, linked task, sequence          | nothing                            |
| rejection, session, partition, offset                  | RtesRejection as on its topic      |
| call …, open call …                                    | see `queries.calls`                |
| stream …, chunk …, audit …                             | see `queries.thoughts`             |
| task …, saop session …                                 | see `queries.sessions`             |
| saop turn, task, turn_index                            | SaopTurnLogged as on its topic     |
| saop verdict, task, partition, offset                  | SaopVerdict as on its topic        |
| escalation, place                                      | SaopEscalation as on its topic     |
| escalation of, task / session / agent / detector, which, place | key of that escalation     |
| rewind, session, rewind_id in lower case, partition, offset | SaopRewindLogged as on its topic |

A place is (time, partition, offset).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from schemas import Undecodable, decode_many
from schemas.rtes.models import NAMES
from streams.engine.records import Record, position
from streams.protocols.saop.queries import calls, sessions, thoughts
from streams.protocols.saop.queries.thoughts import prefix
from streams.views.changes import Changes
from streams.views.keys import key
from streams.views.projection import Apply
from topology.declarations import Topic
from topology.saop import (
    RTES_EVENTS,
    RTES_RAW_DLQ,
    RTES_REJECTIONS,
    SAOP_ESCALATIONS,
    SAOP_LOG,
    SAOP_REWIND_LOG,
    SAOP_REWINDS_DLQ,
    SAOP_TASKS,
    SAOP_TURNS_DLQ,
    SAOP_VERDICTS,
)

INDEXED_TYPES = frozenset({"TASK_TRANSITION", *calls.TYPES})
"""Sandbox output and thoughts are most of a session: those are found by reading it."""

ESCALATION_FILTERS = {
    "task": "task_id",
    "session": "session_id",
    "agent": "agent_id",
    "detector": "detector",
}

_log = logging.getLogger("streams.views.saop.rows")


def _decoded(topic: Topic, records: Sequence[Record]) -> list[tuple[Record, dict[str, Any]]]:
    """Records with their values; one that nobody can read is left out, with a warning."""
    assert topic.record is not None
    found = []
    decoded = decode_many([record.value for record in records], topic.record)
    for record, value in zip(records, decoded, strict=True):
        if isinstance(value, Undecodable):
            _log.warning("%s is no %s: %s", position(record), topic.record, value)
        else:
            found.append((record, value.value))
    return found


def _events(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    decoded = _decoded(topic, records)
    chunks = thoughts.Chunks(rows)
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
        if kind == "THOUGHT_STREAM":
            chunks.note(value, payload)
        elif kind in calls.TYPES:
            calls.note(value, kind, payload, rows)
    chunks.write()
    sessions.count_events([value for _, value in decoded], rows)


def _rejections(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    verdicts = []
    for record, value in _decoded(topic, records):
        session_id = (record.key or b"").decode(errors="replace")
        rows[key("rejection", session_id, record.partition, record.offset)] = record.value
        verdicts.append((session_id, value["verdict"]))
    sessions.count_rejections(verdicts, rows)


def _tasks(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    for record, value in _decoded(topic, [r for r in records if r.value is not None]):
        sessions.note_task(record, value, rows)


def _turns(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    for record, value in _decoded(topic, records):
        turn = value["turn"]
        task_id, index = turn["metadata"]["task_id"], turn["turn_index"]
        rows[key("saop turn", task_id, index)] = record.value
        thoughts.note_turn(task_id, index, turn["agent_id"], rows)


def _verdicts(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    for record in records:
        task_id = (record.key or b"").decode(errors="replace")
        rows[key("saop verdict", task_id, record.partition, record.offset)] = record.value


def _escalations(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    for record, value in _decoded(topic, records):
        place = (value["at"], record.partition, record.offset)
        row = key("escalation", *place)
        rows[row] = record.value
        for name, member in ESCALATION_FILTERS.items():
            if value[member] is not None:
                rows[key("escalation of", name, value[member], *place)] = row


def _rewinds(topic: Topic, records: Sequence[Record], rows: Changes) -> None:
    for record, value in _decoded(topic, records):
        ids = (value["session_id"], value["rewind_id"].lower())
        rows[key("rewind", *ids, record.partition, record.offset)] = record.value


FOLLOWED: Mapping[str, Apply | None] = {
    RTES_RAW_DLQ.name: None,
    RTES_EVENTS.name: _events,
    RTES_REJECTIONS.name: _rejections,
    SAOP_TASKS.name: _tasks,
    SAOP_LOG.name: _turns,
    SAOP_VERDICTS.name: _verdicts,
    SAOP_ESCALATIONS.name: _escalations,
    SAOP_REWIND_LOG.name: _rewinds,
    SAOP_TURNS_DLQ.name: None,
    SAOP_REWINDS_DLQ.name: None,
}
"""As in `streams.view_store.rows`."""
