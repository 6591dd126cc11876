"""The admission of a TaskRequest.

The recipient must be known and have the skill, if the settings require it; the task must not be
too deep; and its idempotency key must not belong to another task.  Depth and claim belong to other
keys: the request waits for each answer in turn, and asks again when none comes.  When its time is
over it stops waiting: it is admitted with what is known, and then fails like any late task.

Source: ASAP guide, 4.3, 5.3 and 5.3.
"""

from __future__ import annotations

from typing import Any

from schemas import asap
from schemas.asap import TaskConfig
from streams.engine.processor import AvroValue
from streams.processing.graph import LineageEdge
from streams.protocols.asap.processor import held, links, manifests, verdicts
from streams.protocols.asap.processor.command import Command
from streams.protocols.asap.processor.decision import (
    DecisionContext,
    conversation_node,
    task_node,
    trace_node,
)
from streams.protocols.asap.processor.task import TASK, TaskAggregate
from streams.protocols.asap.processor.verdicts import Outcome
from topology.machine import step
from topology.machines.asap_admission import MACHINE, AdmissionEvent, AdmissionState

ASK = "ask"
"""The timer of a request that has no answer yet."""
ASK_AGAIN_MS = 30_000


def handle_request(command: Command, ctx: DecisionContext) -> Outcome | None:
    """Decide a new request.  None: it waits for an answer."""
    refusal = manifests.recipient_refusal(command, ctx) or manifests.skill_refusal(command, ctx)
    if refusal is not None:
        return refusal
    fleet = manifests.fleet_evidence(command.recipient, ctx)
    start = {"state": AdmissionState.NONE, "depth": None, "parent_known": None, **fleet}
    parent = command.body["parent_task_id"]
    if parent is None:
        return _ask_claim_or_create({**start, "depth": 0}, command, ctx)
    _hold_for_answer(start, AdmissionEvent.ASK_DEPTH, command, ctx)
    links.ask("depth_ask", parent, command, ctx)
    return None


def stops_waiting(row: AvroValue, now_ms: int) -> bool:
    """Return whether a request stops waiting: its time is over, and it has asked again in vain.

    After an outage its time is over before the first answer can come.
    """
    return bool(row["asked_again"] and now_ms >= row["due_at"])


def ask_again(row: AvroValue, command: Command, ctx: DecisionContext, now_ms: int) -> None:
    """Repeat the question that got no answer."""
    if row["state"] == AdmissionState.AWAITING_DEPTH:
        links.ask("depth_ask", command.body["parent_task_id"], command, ctx)
    else:
        links.ask_claim(command, _idempotency_key(command, ctx), ctx)
    _hold_with_timer({**row, "asked_again": True, "ask_at": now_ms + ASK_AGAIN_MS}, command, ctx)


def apply_depth(
    row: AvroValue, link: AvroValue, command: Command, ctx: DecisionContext
) -> Outcome | None:
    """Continue with the parent's depth; an unknown parent has depth 0."""
    depth = link["depth"] + 1 if link["known"] else 1
    row = {**row, "depth": depth, "parent_known": link["known"]}
    max_depth = ctx.setting("MAX_DEPTH")
    if depth > max_depth:
        _next_state(row["state"], AdmissionEvent.REFUSE)
        detail = f"parent_task_id: the task would be at depth {depth}, the deepest is {max_depth}."
        figures = {"depth": depth, "max_depth": max_depth, "parent_known": link["known"]}
        return verdicts.refuse("depth_exceeded", detail, **figures)
    return _ask_claim_or_create(row, command, ctx)


def apply_claim(row: AvroValue, link: AvroValue, command: Command, ctx: DecisionContext) -> Outcome:
    """Accept the request if the claim is granted; otherwise redirect it to the holder's task."""
    if link["granted"]:
        return create_task(row, command, ctx)
    _next_state(row["state"], AdmissionEvent.REDIRECT)
    return links.redirect(command, link, ctx)


def cancel_timer(row: AvroValue, command: Command, ctx: DecisionContext) -> None:
    """Delete the timer of the question."""
    ctx.work.delete_timer(row["ask_at"], ASK, command.key)


def _ask_claim_or_create(row: AvroValue, command: Command, ctx: DecisionContext) -> Outcome | None:
    """Ask for the claim, if the request has an idempotency key; otherwise accept it."""
    key = _idempotency_key(command, ctx)
    if key is None:
        return create_task(row, command, ctx)
    _hold_for_answer(row, AdmissionEvent.ASK_CLAIM, command, ctx)
    links.ask_claim(command, key, ctx)
    return None


def _idempotency_key(command: Command, ctx: DecisionContext) -> Any:
    return config_of(command, ctx).idempotency_key


def config_of(command: Command, ctx: DecisionContext) -> TaskConfig:
    return asap.task_config(command.body["config"], ctx.setting("TIMEOUT_SECONDS"))


def _hold_for_answer(
    row: AvroValue, event: AdmissionEvent, command: Command, ctx: DecisionContext
) -> None:
    due_at = command.at + config_of(command, ctx).timeout_ms
    state = _next_state(row["state"], event)
    times = {"ask_at": command.at + ASK_AGAIN_MS, "asked_again": False, "due_at": due_at}
    _hold_with_timer({**row, "state": state, **times}, command, ctx)


def _hold_with_timer(row: AvroValue, command: Command, ctx: DecisionContext) -> None:
    held.hold(command, ctx, **row)
    ctx.set_timer(row["ask_at"], ASK, command.key)


def _next_state(state: str, event: AdmissionEvent) -> AdmissionState:
    target = step(MACHINE, state, event)
    assert target is not None, f"{event} is no event of a request that is {state}"
    return target


def create_task(row: AvroValue, command: Command, ctx: DecisionContext) -> Outcome:
    """Create the task.  row: AsapAdmission, as far as it is known."""
    _next_state(row["state"], AdmissionEvent.ADMIT)
    config = config_of(command, ctx)
    depth = 1 if row["depth"] is None else row["depth"]
    task = TaskAggregate(_new_row(command, config, depth, ctx), ctx)
    created = {"from_status": None, "to_status": "submitted", "implied": False}
    task.transitions.append(created)
    ctx.set_timer(task.row["timeout_at"], TASK, task.task_id)
    ctx.emit_edge(*_lineage_edges(task.row))
    figures = {name: row[name] for name in ("parent_known", "recipient_known", "manifests")}
    return verdicts.accept(
        "task_created", task=task, depth=depth, **figures, timeout_ms=config.timeout_ms
    )


def _new_row(command: Command, config: TaskConfig, depth: int, ctx: DecisionContext) -> AvroValue:
    """Return the AsapTask of a request; its fact sets the sequence and the cause."""
    payload = command.payload
    return {
        "task_id": command.id,
        "conversation_id": payload["conversation_id"],
        "parent_task_id": payload["parent_task_id"],
        "depth": depth,
        "requester": command.sender,
        "worker": command.recipient,
        "skill_id": payload["skill_id"],
        "status": "submitted",
        "progress_json": None,
        "input_request_json": None,
        "config_json": payload["config_json"],
        "created_at": ctx.at,
        "updated_at": ctx.at,
        "sequence": 0,
        "state_mode": config.state_mode,
        "event_retention_hours": config.event_retention_hours,
        "events_available": True,
        "timeout_at": ctx.at + config.timeout_ms,
        "idempotency_key": config.idempotency_key,
        "trace_id": command.trace_id,
        "aliases": [],
        "response": None,
        "error_code": None,
        "snapshot_version": None,
        "snapshot_mark": 0,
        "request_hash": command.known_sha256,
        "cause": "",
    }


def _lineage_edges(row: AvroValue) -> list[LineageEdge]:
    node = task_node(row["task_id"])
    edges = [LineageEdge(node, "part_of", conversation_node(row["conversation_id"]))]
    if row["parent_task_id"] is not None:
        edges.append(LineageEdge(node, "child_of", task_node(row["parent_task_id"])))
    if row["trace_id"] is not None:
        edges.append(LineageEdge(node, "same_trace", trace_node(row["trace_id"])))
    return edges
