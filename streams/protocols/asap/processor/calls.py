"""MCP calls: a tool or a resource that one agent requests from another, answered at most once.

A record may be decided before a timer that was due earlier, so a call whose time is over by then
times out first, with the timer as the cause.

Source: ASAP guide, 4.2 and 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.engine.processor import AvroValue, ProcessorContext, Timer
from streams.processing.graph import LineageEdge
from streams.protocols.asap.processor import manifests, verdicts
from streams.protocols.asap.processor.command import Command
from streams.protocols.asap.processor.decision import (
    CLOSED_CALL,
    HOUR_MS,
    DecisionContext,
    call_node,
    due_context,
    envelope_node,
    expire_later,
    task_node,
    timer_context,
    trace_node,
)
from streams.protocols.asap.processor.verdicts import Handler, Outcome
from topology.asap import ASAP_CALLS
from topology.keys import composite
from topology.machine import step
from topology.machines.asap_call import MACHINE, CallEvent, CallState

CALL = "call"
"""The timer of an open call."""
TOOL, RESOURCE = "tool", "resource"
INVOKED = "headrace.rtes.ToolInvoked"
COMPLETED = "headrace.rtes.ToolCompleted"


def handle_call(command: Command, ctx: DecisionContext) -> Outcome:
    """Decide an McpToolCall or an McpResourceFetch."""
    refusal = manifests.recipient_refusal(command, ctx)
    if refusal is not None:
        return refusal
    key = command.task_key
    if _find(key, ctx) is not None:
        detail = f"request_id: another call has the id {key}."
        return verdicts.refuse("call_conflict", detail, call_key=key)
    timeout_ms = ctx.setting("CALL_TIMEOUT_SECONDS") * 1000
    row = _new_row(command, ctx.at, ctx.at + timeout_ms)
    _save(key, row, ctx)
    ctx.set_timer(row["due_at"], CALL, key)
    if row["kind"] == TOOL:
        _emit_tool_invoked(command, row, ctx)
    ctx.emit_edge(*_lineage_edges(key, row))
    fleet = manifests.fleet_evidence(command.recipient, ctx)
    return verdicts.accept("call_opened", call_key=key, **fleet, timeout_ms=timeout_ms)


def handle_answer(command: Command, ctx: DecisionContext) -> Outcome:
    """Decide an McpToolResult or McpResourceData."""
    key, kind = command.task_key, _ANSWERS[command.kind]
    row = _find(key, ctx)
    if row is None or row["kind"] != kind:
        detail = f"There is no {kind} call {key}, which is {command.key_source.meaning}."
        return verdicts.refuse("call_not_found", detail, call_key=key)
    row = _catch_up(key, row, ctx)
    refusal = _refusal(command, row)
    if refusal is not None:
        return refusal
    ctx.work.delete_timer(row["due_at"], CALL, key)
    _close(key, row, CallEvent.ANSWER, ctx)
    if kind == TOOL:
        success = command.body["success"]
        _emit_tool_completed(row, "success" if success else "failure", key, ctx)
    answer_node, call_node_id = envelope_node(command.id), envelope_node(row["envelope_id"])
    ctx.emit_edge(LineageEdge(answer_node, "answers", call_node_id))
    return verdicts.accept("call_answered", call_key=key)


HANDLERS: Mapping[str, Handler] = {
    "McpToolCall": handle_call,
    "McpResourceFetch": handle_call,
    "McpToolResult": handle_answer,
    "McpResourceData": handle_answer,
}
_ANSWERS = {"McpToolResult": TOOL, "McpResourceData": RESOURCE}


def _refusal(command: Command, row: AvroValue) -> Outcome | None:
    key = command.task_key

    def refuse(rule: str, detail: str, **figures: Any) -> Outcome:
        return verdicts.refuse(rule, detail, call_key=key, **figures)

    if command.sender != row["callee"]:
        detail = f"sender: only {row['callee']} may answer this call."
        return refuse("not_participant", detail, expected=[row["callee"]])
    if command.recipient != row["caller"]:
        detail = f"recipient: the answer goes to {row['caller']}."
        return refuse("wrong_recipient", detail, expected=[row["caller"]])
    if command.correlation_id != row["envelope_id"]:
        detail = "correlation_id: it is not the id of the call's envelope."
        return refuse("correlation_mismatch", detail, expected=row["envelope_id"])
    if row["kind"] == RESOURCE and command.body["resource_uri"] != row["resource_uri"]:
        detail = "resource_uri: it is not the one that was asked for."
        return refuse("resource_mismatch", detail, expected=row["resource_uri"])
    if row["state"] in MACHINE.terminal:
        return refuse("call_closed", f"The call is {row['state']} already.", state=row["state"])
    return None


def time_out_due(timer: Timer, context: ProcessorContext) -> None:
    """Time out an open call."""
    ctx = timer_context(timer, context)
    row = _find(timer.key, ctx)
    if row is not None and row["state"] == CallState.OPEN and row["due_at"] == timer.due_ms:
        _time_out(timer.key, row, ctx)


def _catch_up(key: str, row: AvroValue, ctx: DecisionContext) -> AvroValue:
    """Time the call out if it was due before the current record; return its row."""
    if row["state"] != CallState.OPEN or ctx.at <= row["due_at"]:
        return row
    ctx.work.delete_timer(row["due_at"], CALL, key)
    _time_out(key, row, due_context(ctx.work, row["due_at"], CALL, key))
    ctx.resume()
    return row


def _time_out(key: str, row: AvroValue, ctx: DecisionContext) -> None:
    _close(key, row, CallEvent.TIME_OUT, ctx)
    if row["kind"] == TOOL:
        _emit_tool_completed(row, "timeout", key, ctx)
    verdicts.fact(
        ctx,
        key,
        "call_timeout",
        "call_timeout",
        detail="The call was not answered in time.",
        figures={"opened_at": row["opened_at"], "due_at": row["due_at"]},
        call_key=key,
        trace_id=row["trace_id"],
    )


def _find(key: str, ctx: DecisionContext) -> AvroValue | None:
    """Return the AsapCall, unless it has expired."""
    row = ctx.work.rows(ASAP_CALLS).get(composite(key))
    lifetime = ctx.setting("DEDUPE_HOURS") * HOUR_MS
    if row is None or (row["closed_at"] is not None and ctx.at - row["closed_at"] > lifetime):
        return None
    return row


def _new_row(command: Command, at: int, due_at: int) -> AvroValue:
    body = command.body
    return {
        "kind": TOOL if command.kind == "McpToolCall" else RESOURCE,
        "state": _next_state(CallState.NONE, CallEvent.CALL),
        "caller": command.sender,
        "callee": command.recipient,
        "envelope_id": command.id,
        "tool": body.get("tool_name"),
        "resource_uri": body.get("resource_uri"),
        "task_id": command.correlation_id,
        "trace_id": command.trace_id,
        "opened_at": at,
        "due_at": due_at,
        "closed_at": None,
    }


def _next_state(state: str, event: CallEvent) -> CallState:
    target = step(MACHINE, state, event)
    assert target is not None, f"{event} is no event of a call that is {state}"
    return target


def _close(key: str, row: AvroValue, event: CallEvent, ctx: DecisionContext) -> None:
    row["state"] = _next_state(row["state"], event)
    row["closed_at"] = ctx.at
    _save(key, row, ctx)
    expire_later(CLOSED_CALL, composite(key), ctx)


def _save(key: str, row: AvroValue, ctx: DecisionContext) -> None:
    ctx.work.rows(ASAP_CALLS).put(composite(key), row)


def _emit_tool_invoked(command: Command, row: AvroValue, ctx: DecisionContext) -> None:
    payload = {
        "call_id": command.task_key,
        "tool": row["tool"],
        "arguments_json": command.payload["arguments_json"],
        "timestamp": ctx.time,
    }
    ctx.emit_event(_session_id(row, command.task_key), INVOKED, payload)


def _emit_tool_completed(row: AvroValue, status: str, key: str, ctx: DecisionContext) -> None:
    payload = {
        "call_id": key,
        "tool": row["tool"],
        "status": status,
        "duration_ms": max(0, ctx.at - row["opened_at"]),  # a log's clock may step back
        "timestamp": ctx.time,
    }
    ctx.emit_event(_session_id(row, key), COMPLETED, payload)


def _session_id(row: AvroValue, key: str) -> str:
    session: str = row["trace_id"] or key
    return session


def _lineage_edges(key: str, row: AvroValue) -> list[LineageEdge]:
    node, edges = call_node(key), []
    if row["trace_id"] is not None:
        edges.append(LineageEdge(node, "same_trace", trace_node(row["trace_id"])))
    if row["task_id"] is not None:
        edges.append(LineageEdge(node, "part_of", task_node(row["task_id"])))
    return edges
