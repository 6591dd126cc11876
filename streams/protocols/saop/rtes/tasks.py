"""The tasks of a session: their transitions, their rows, and the list of them.

A legal TASK_TRANSITION is recorded and moves its task (SAOP guide, 4.3).  The saop processor gets a
signal when a task begins in a session, failed too often, or was set back by a rewind (SAOP guide,
4.2, 4.6).

A rewind needs all tasks of a session.  Rows can be read by key only, so the session has a list of
its own tasks, in rows of a few dozen: with one list the session's row would grow with it,
and that row is written with every event.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from schemas import uuid5_url
from schemas.formats import iso_ms
from schemas.rtes import content_hash, event_json
from schemas.rtes.models import TASK_TRANSITION
from schemas.rtes.rules import PAUSED
from schemas.rules import Rule
from streams.engine.processor import AvroValue
from streams.processing.graph import LineageEdge
from streams.protocols.saop.lineage import session_node, task_node
from streams.protocols.saop.rtes.event import Event, Recording, Refusal
from streams.protocols.saop.rtes.session import SessionState, remember_id
from streams.protocols.saop.rtes.transitions import (
    check_transition,
    current_row,
    escalates,
    evolve,
    profile_of,
)
from topology.keys import composite
from topology.machines.task_profiles import PROFILES
from topology.saop import (
    RTES_EVENTS,
    RTES_TASKS,
    SAOP_TASK_SIGNALS,
    SAOP_TASKS_TABLE,
    saop_task_key,
)

_LISTED = 64
"""Maximum tasks in one row of the list."""


def move_task(event: Event, session: SessionState) -> Recording | Refusal:
    """Record a transition that is legal."""
    transition, origin = event.payload, event.origin
    row = row_of(transition["task_id"], origin, session)
    profile = profile_of(transition["task_id"], origin, row, session.settings)
    result = check_transition(transition, origin, row, profile, session.row["last_rewind"])
    if isinstance(result, Refusal):
        return result
    is_escalated = escalates(row, result, session.settings["SAOP_FAILURES"])
    return Recording(
        result.rule,
        transition["task_id"],
        (*result.flags, "escalated") if is_escalated else result.flags,
        result.profile.name,
        transition | {"from_state": result.from_state, "to_state": result.to_state},
        partial(_apply, session),
    )


def _apply(session: SessionState, record: AvroValue) -> None:
    row = apply_transition(record, session)
    if "escalated" in record["flags"]:
        enforced = _pause_for_failures(record, session)
        _signal_failures(record, row, enforced, session)


def _pause_for_failures(record: AvroValue, session: SessionState) -> bool:
    """Pause the task whose failures have just reached their limit, if the policy says so.

    record: of its transition.  Returns whether it is paused.
    """
    to_state = PROFILES[record["profile"]].pause_to
    if session.settings["SAOP_ON_FAILURES"] != "pause" or to_state is None or record["origin"]:
        return False
    move_by_service(
        record["task_id"], record["payload"][1]["to_state"], to_state, PAUSED, None, session
    )
    return True


def move_by_service(
    task_id: str,
    from_state: str,
    to_state: str,
    rule: Rule,
    control_id: str | None,
    session: SessionState,
) -> AvroValue:
    """Write a transition of the service: the record, the task's row, its id, the signal."""
    transition = {
        "task_id": task_id,
        "from_state": from_state,
        "to_state": to_state,
        "git_hash": None,
        "timestamp": iso_ms(session.at),
    }
    event: dict[str, Any] = {
        "event_id": uuid5_url(f"headrace:{session.cause}/{rule.code}"),
        "session_id": session.session_id,
        "payload": (TASK_TRANSITION, transition),
        "origin": None,
    }
    row = row_of(task_id, None, session)
    assert row is not None
    record = {
        **event,
        "sequence": session.next_sequence(),
        "recorded_at": session.at,
        "rule": rule.code,
        "task_id": task_id,
        "profile": row["profile"],
        "flags": (),
        "masked_arguments": 0,
        "dropped_keys": 0,
        "rewind_id": None,
        "control_id": control_id,
        "cause": session.cause,
    }
    session.send(RTES_EVENTS, session.session_id, record, record["event_id"])
    apply_transition(record, session)
    digest = content_hash(event_json(event))
    remember_id(record["event_id"], digest, record["sequence"], session)
    _signal_pause(record, session)
    return record


def row_of(task_id: str, origin: str | None, session: SessionState) -> AvroValue | None:
    """Return the row that a transition of the task goes on from."""
    key = saop_task_key(session.session_id, task_id, origin)
    return current_row(session.work.rows(SAOP_TASKS_TABLE).get(key), origin)


def own_tasks(session: SessionState) -> dict[str, AvroValue]:
    """Return the session's own tasks by id, in the order of their first transitions."""
    lists = session.work.rows(RTES_TASKS)
    keys = [_list_key(session, n) for n in range(-(-session.row["tasks"] // _LISTED))]
    lists.load(keys)
    listed = [task for key in keys for task in (lists.get(key) or {"task_ids": ()})["task_ids"]]
    rows = session.work.rows(SAOP_TASKS_TABLE)
    rows.load(saop_task_key(session.session_id, task) for task in listed)
    tasks = {task: rows.get(saop_task_key(session.session_id, task)) for task in listed}
    return {task: row for task, row in tasks.items() if row and row["origin"] is None}


def apply_transition(record: AvroValue, session: SessionState) -> AvroValue:
    """Move the task of a recorded transition; return its row as it then is."""
    task_id, origin = record["task_id"], record["origin"]
    key = saop_task_key(session.session_id, task_id, origin)
    rows = session.work.rows(SAOP_TASKS_TABLE)
    before = rows.get(key)
    row = evolve(before, record)
    rows.put(key, row)
    if origin is None:
        session.set_active(task_id, row["state"] in PROFILES[row["profile"]].active)
        if before is None:
            _list(task_id, session)
            _signal_begun(record, session)
            session.emit_edge(
                LineageEdge(task_node(task_id), "part_of", session_node(session.session_id))
            )
    elif _gives_way(before):
        session.set_active(f"{origin}:{task_id}", active=False)
    return row


def _gives_way(before: Mapping[str, object] | None) -> bool:
    """Return whether another protocol's task replaces one of the session's own."""
    return before is not None and before["origin"] is None


def _list(task_id: str, session: SessionState) -> None:
    """Add a task to the session's list."""
    lists, count = session.work.rows(RTES_TASKS), session.row["tasks"]
    key = _list_key(session, count // _LISTED)
    listed = (lists.get(key) or {"task_ids": []})["task_ids"] if count % _LISTED else []
    lists.put(key, {"task_ids": [*listed, task_id]})
    session.row["tasks"] = count + 1


def _list_key(session: SessionState, number: int) -> str:
    return composite(session.session_id, str(number))


def _signal_begun(record: AvroValue, session: SessionState) -> None:
    """Send the signal that a task has its first transition in the session."""
    _send_signal(
        record,
        {
            "kind": "begun",
            "failures": None,
            "threshold": None,
            "first_sequence": record["sequence"],
            "last_sequence": record["sequence"],
            "rewind_id": None,
        },
        session,
        uuid5_url(f"headrace:{record['cause']}/1"),
    )


def _signal_failures(
    record: AvroValue, task: AvroValue, enforced: bool, session: SessionState
) -> None:
    """Send the signal that a task's failures reached the limit.

    task: its row after the record.  enforced: whether the task was paused for it.
    """
    _send_signal(
        record,
        {
            "kind": "failures",
            "failures": task["failures"],
            "threshold": session.settings["SAOP_FAILURES"],
            "first_sequence": task["first_failure_sequence"],
            "last_sequence": record["sequence"],
            "rewind_id": None,
            "enforced": enforced,
        },
        session,
    )


def signal_rewound(record: AvroValue, session: SessionState) -> None:
    """Send the signal that a rewind has set a task back."""
    _send_signal(
        record,
        {
            "kind": "rewound",
            "failures": None,
            "threshold": None,
            "first_sequence": record["sequence"],
            "last_sequence": record["sequence"],
            "rewind_id": record["rewind_id"],
        },
        session,
    )


def _signal_pause(record: AvroValue, session: SessionState) -> None:
    """Send the signal that a task is paused, or resumed.  record: of its transition."""
    _send_signal(
        record,
        {
            "kind": record["rule"],
            "failures": None,
            "threshold": None,
            "first_sequence": record["sequence"],
            "last_sequence": record["sequence"],
            "rewind_id": None,
        },
        session,
    )


def _send_signal(
    record: AvroValue,
    evidence: AvroValue,
    session: SessionState,
    record_id: str | None = None,
) -> None:
    """Send a signal about a task.  record_id: the event's own if None."""
    signal = {
        "enforced": False,
        **evidence,
        "task_id": record["task_id"],
        "session_id": record["session_id"],
        "at": record["recorded_at"],
        "cause": record["cause"],
    }
    session.send(SAOP_TASK_SIGNALS, record["task_id"], signal, record_id or record["event_id"])
