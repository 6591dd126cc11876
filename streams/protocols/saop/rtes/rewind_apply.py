"""Applying a rewind: its transitions go straight to `rtes.events`, all in one transaction."""

from __future__ import annotations

from schemas import uuid5_url
from schemas.formats import iso_ms
from schemas.rtes import content_hash, event_json, rules
from schemas.saop.rules import REWIND_APPLIED
from streams.engine.processor import AvroValue
from streams.protocols.saop.rtes import dedupe, lineage, signals, tasks
from streams.protocols.saop.rtes.rewind_log import Command, Outcome
from streams.protocols.saop.rtes.rewind_plan import Move, Target, Tasks, plan
from streams.protocols.saop.rtes.scene import Scene
from topology.saop import RTES_EVENTS


def apply(command: Command, row: AvroValue, own: Tasks, scene: Scene) -> tuple[AvroValue, Outcome]:
    """Move every task of a rewind; returns its SaopRewindRow as it then is.

    row: the rewind's, with its target.  own: the session's own tasks, the target among them.
    """
    target = Target(row["target_task_id"], row["git_hash"], row["cut_sequence"])
    planned = plan(own, target)
    moved = []
    for number, move in enumerate(planned.moves):
        git_hash = target.git_hash if number == 0 else None
        event = _event(command, number, move, git_hash, scene)
        record = _record(command, row["rewind_id"], event, own[move.task_id]["profile"], scene)
        _keep(command, record, event, "retracts" if number else "restores", scene)
        moved.append({**move._asdict(), "sequence": record["sequence"]})
    last = scene.last_sequence
    scene.session["last_rewind"] = last
    row = {**row, "first_sequence": last - len(moved) + 1, "last_sequence": last}
    outcome = Outcome("accepted", REWIND_APPLIED, moved, planned.unchanged, len(moved))
    return row, outcome


def _event(
    command: Command, number: int, move: Move, git_hash: str | None, scene: Scene
) -> AvroValue:
    """The RtesEvent of one move.  number: of this output among those of the command."""
    transition = {
        "task_id": move.task_id,
        "from_state": move.from_state,
        "to_state": move.to_state,
        "git_hash": git_hash,
        "timestamp": iso_ms(scene.now_ms),
    }
    return {
        "event_id": uuid5_url(f"headrace:{command.cause}/{number}"),
        "session_id": command.session_id,
        "payload": ("headrace.rtes.TaskTransition", transition),
        "origin": None,
    }


def _record(
    command: Command, rewind_id: str, event: AvroValue, profile: str, scene: Scene
) -> AvroValue:
    return {
        **event,
        "sequence": scene.next_sequence(),
        "recorded_at": scene.now_ms,
        "rule": rules.REWIND.code,
        "task_id": event["payload"][1]["task_id"],
        "profile": profile,
        "flags": (),
        "masked_arguments": 0,
        "dropped_keys": 0,
        "rewind_id": rewind_id,
        "cause": command.cause,
    }


def _keep(
    command: Command, record: AvroValue, event: AvroValue, relation: str, scene: Scene
) -> None:
    """Write a move: the record, the task's row, its id, the signal, the edge."""
    work, trace = scene.work, command.traceparent
    work.send(
        RTES_EVENTS,
        command.session_id,
        record,
        id=record["event_id"],
        at=scene.now_ms,
        cause=command.cause,
        traceparent=trace,
    )
    tasks.keep(record, trace, scene)
    digest = content_hash(event_json(event))
    dedupe.remember(record["event_id"], digest, record["sequence"], scene)
    signals.rewound(record, trace, work)
    nodes = lineage.rewind_node(record["rewind_id"]), relation, lineage.task_node(record["task_id"])
    lineage.draw(*nodes, scene.now_ms, trace, work)
