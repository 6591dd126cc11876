"""Conversion of records to rows of a sink's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from schemas import Undecodable, canonical_json, decode_many, to_json
from streams.engine.records import Record, position
from streams.errors import InternalUnreadable
from streams.ops.sink import tables
from topology.declarations import Topic
from topology.saop import RTES_EVENTS, SAOP_LOG

Json = Mapping[str, Any]
TOPICS: tuple[Topic, ...] = (RTES_EVENTS, SAOP_LOG)

_EMPTY = dict.fromkeys(
    (
        *("task_id", "session_id", "sequence", "turn_index", "agent_id", "event_id"),
        *("type", "envelope_json", "event_json", "gap_json"),
    )
)


class Change(NamedTuple):
    """A row of agent_logs, and the statements that change `tasks` for it, with their values."""

    log: dict[str, Any]
    tasks: Sequence[tuple[str, dict[str, Any]]]


def changes(topic: Topic, records: Sequence[Record]) -> Iterator[Change]:
    """Yield the changes of records of one topic, in their order.  Raises InternalUnreadable."""
    assert topic.record is not None
    make = _turn if topic is SAOP_LOG else _event
    decoded = decode_many([record.value for record in records], topic.record)
    for record, value in zip(records, decoded, strict=True):
        if isinstance(value, Undecodable):
            raise InternalUnreadable(f"{position(record)} is no {topic.record}: {value}")
        change = make(to_json(topic.record, value.value))
        change.log.update(topic=record.topic, partition=record.partition, offset=record.offset)
        yield change


def _text(value: Any) -> str | None:
    return None if value is None else canonical_json(value).decode()


def _turn(logged: Json) -> Change:
    """Return the change for a SaopTurnLogged."""
    turn = logged["turn"]
    task_id = turn["metadata"]["task_id"]
    log = {
        **_EMPTY,
        "kind": "turn",
        "task_id": task_id,
        "turn_index": turn["turn_index"],
        "agent_id": turn["agent_id"],
        "envelope_json": _text(turn),
        "gap_json": _text(logged["gap"]),
        "recorded_at": logged["at"],
    }
    return Change(log, [(tables.TASK_OF_TURN, {"id": task_id, "updated_at": logged["at"]})])


def _event(record: Json) -> Change:
    """Return the change for an RtesRecord."""
    payload = record["payload"]
    log = {
        **_EMPTY,
        "kind": "event",
        "task_id": record["task_id"],
        "session_id": record["session_id"],
        "sequence": record["sequence"],
        "event_id": record["event_id"],
        "type": payload["type"],
        "event_json": _text({name: record[name] for name in ("event_id", "session_id", "payload")}),
        "recorded_at": record["recorded_at"],
    }
    if payload["type"] == "THOUGHT_STREAM":
        log |= {"turn_index": payload["turn_index"], "agent_id": payload["agent_id"]}
    return Change(
        log, list(_task_statements(record)) if payload["type"] == "TASK_TRANSITION" else ()
    )


def _task_statements(record: Json) -> Iterator[tuple[str, dict[str, Any]]]:
    transition = record["payload"]
    task = {
        "id": transition["task_id"],
        "session_id": record["session_id"],
        "origin": record["origin"] or "",
        "state": transition["to_state"],
        "head_hash": transition.get("git_hash") or None,
        "updated_sequence": record["sequence"],
        "updated_at": record["recorded_at"],
    }
    if record["origin"] is None:
        yield tables.FORGET_TASK_OF_TURN, {"id": task["id"]}
    yield tables.MOVE_TASK, task
