"""The facts about rewind commands and expired rewinds, and the transitions of a rewind's tasks.

The transitions of a rewind are written to `rtes.events` directly, all in one transaction.

Source: SAOP guide, 2.3, 5.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from schemas import uuid5_url
from schemas.formats import iso_ms
from schemas.rtes import content_hash, event_json
from schemas.rtes.models import TASK_TRANSITION
from schemas.rtes.rules import REWIND
from schemas.rules import Rule
from schemas.saop import rewind_hash, rules
from streams.engine.processor import AvroValue, Message, ProcessorContext
from streams.engine.records import position
from streams.processing.decision import Decision
from streams.processing.graph import LineageEdge
from streams.protocols.saop.lineage import rewind_node, task_node
from streams.protocols.saop.rtes.event import traceparent_of
from streams.protocols.saop.rtes.rewind_plan import Move, Target, Tasks, plan
from streams.protocols.saop.rtes.session import SessionState, remember_id
from streams.protocols.saop.rtes.tasks import apply_transition, signal_rewound
from topology.machines.saop_rewind import RewindEvent, RewindState
from topology.saop import RTES_EVENTS, SAOP_REWIND_LOG

_UNTARGETED = {
    "target_task_id": None,
    "git_hash": None,
    "cut_sequence": None,
    "first_sequence": None,
    "last_sequence": None,
}


class Command:
    """A rewind command, read once.  value: SaopRewind.  at: record time (ms)."""

    __slots__ = ("at", "cause", "digest", "phase", "session_id", "traceparent", "value")

    def __init__(self, message: Message) -> None:
        self.value: AvroValue = message.value
        self.session_id: str = message.value["session_id"]
        self.phase: str = message.value["phase"]
        self.at = message.record.timestamp
        self.cause = position(message.record)
        self.digest = rewind_hash(message.value)
        self.traceparent = traceparent_of(message)

    def decision(self, ctx: ProcessorContext) -> Decision:
        """Return the context of the command's verdict."""
        return Decision(ctx, self.cause, self.at, self.traceparent)


class Outcome(NamedTuple):
    """The outcome of a command.  moves: the tasks, with the sequences of their events."""

    verdict: str
    rule: Rule
    moves: Sequence[AvroValue] = ()
    unchanged: Sequence[str] = ()
    events: int = 0


def send(command: Command, outcome: Outcome, row: AvroValue | None, ctx: ProcessorContext) -> None:
    """Write the verdict on a command.  row: its rewind's, None if there is no such rewind."""
    fault = None
    if outcome.verdict == "rejected":
        fault = "service" if outcome.rule is rules.OUTPUT_TOO_LARGE else "sender"
    fact = {
        "rewind_id": command.value["rewind_id"],
        "session_id": command.session_id,
        "phase": command.phase,
        "verdict": outcome.verdict,
        "rule": outcome.rule.code,
        "fault": fault,
        **_state_of(row),
        "moved": outcome.moves,
        "unchanged": outcome.unchanged,
        "requested_by": command.value["requested_by"],
        "at": command.at,
        "cause": command.cause,
    }
    _write(fact, outcome.events, command.decision(ctx))


def send_lapse(row: AvroValue, now_ms: int, ctx: ProcessorContext) -> None:
    """Write the fact that a prepared rewind has expired."""
    fact = {
        "rewind_id": row["rewind_id"],
        "session_id": row["session_id"],
        "phase": RewindEvent.LAPSE,
        "verdict": "accepted",
        "rule": rules.LAPSED.code,
        "fault": None,
        **_state_of(row),
        "moved": [],
        "unchanged": [],
        "requested_by": row["requested_by"],
        "at": now_ms,
        "cause": row["cause"],
    }
    _write(fact, 1, Decision(ctx, row["cause"], now_ms, traceparent_of_row(row)))


def traceparent_of_row(row: AvroValue) -> bytes | None:
    """Return the trace context of the command that prepared a rewind."""
    parent: str | None = row["traceparent"]
    return None if parent is None else parent.encode("latin-1")


def _state_of(row: AvroValue | None) -> dict[str, Any]:
    if row is None:
        return {"state": RewindState.NONE, **_UNTARGETED}
    return {"state": row["state"], **{name: row[name] for name in _UNTARGETED}}


def _write(fact: AvroValue, number: int, decision: Decision) -> None:
    """Write a fact.  number: of this output among those of the fact's cause."""
    id = uuid5_url(f"headrace:{decision.cause}/{number}")
    decision.send(SAOP_REWIND_LOG, fact["session_id"], fact, id)


def apply(
    command: Command, row: AvroValue, tasks: Tasks, session: SessionState
) -> tuple[AvroValue, Outcome]:
    """Move every task of a rewind; return its SaopRewindRow as it then is.

    row: the rewind's, with its target.  tasks: the session's own tasks, the target among them.
    """
    target = Target(row["target_task_id"], row["git_hash"], row["cut_sequence"])
    planned = plan(tasks, target)
    moves = []
    for number, move in enumerate(planned.moves):
        git_hash = target.git_hash if number == 0 else None
        event = _move_event(number, move, git_hash, session)
        record = _move_record(row["rewind_id"], event, tasks[move.task_id]["profile"], session)
        _send_move(record, event, "retracts" if number else "restores", session)
        moves.append({**move._asdict(), "sequence": record["sequence"]})
    last = session.last_sequence
    session.row["last_rewind"] = last
    row = {**row, "first_sequence": last - len(moves) + 1, "last_sequence": last}
    outcome = Outcome("accepted", rules.REWIND_APPLIED, moves, planned.unchanged, len(moves))
    return row, outcome


def _move_event(number: int, move: Move, git_hash: str | None, session: SessionState) -> AvroValue:
    """Return the RtesEvent of one move.  number: of this output among those of the command."""
    transition = {
        "task_id": move.task_id,
        "from_state": move.from_state,
        "to_state": move.to_state,
        "git_hash": git_hash,
        "timestamp": iso_ms(session.at),
    }
    return {
        "event_id": uuid5_url(f"headrace:{session.cause}/{number}"),
        "session_id": session.session_id,
        "payload": (TASK_TRANSITION, transition),
        "origin": None,
    }


def _move_record(
    rewind_id: str, event: AvroValue, profile: str, session: SessionState
) -> AvroValue:
    return {
        **event,
        "sequence": session.next_sequence(),
        "recorded_at": session.at,
        "rule": REWIND.code,
        "task_id": event["payload"][1]["task_id"],
        "profile": profile,
        "flags": (),
        "masked_arguments": 0,
        "dropped_keys": 0,
        "rewind_id": rewind_id,
        "control_id": None,
        "cause": session.cause,
    }


def _send_move(record: AvroValue, event: AvroValue, relation: str, session: SessionState) -> None:
    """Write a move: the record, the task's row, its id, the signal, the edge."""
    session.send(RTES_EVENTS, session.session_id, record, record["event_id"])
    apply_transition(record, session)
    digest = content_hash(event_json(event))
    remember_id(record["event_id"], digest, record["sequence"], session)
    signal_rewound(record, session)
    session.emit_edge(
        LineageEdge(rewind_node(record["rewind_id"]), relation, task_node(record["task_id"]))
    )
