"""Calls on the log, and waits for what is decided about them."""

from __future__ import annotations

import time
from typing import NamedTuple

from schemas.summit.rules import CALL_DUPLICATE
from streams.api import prefer
from streams.doors.a2a.calls import Call, make_call, make_cancel
from streams.doors.a2a.door import Context
from streams.doors.a2a.errors import (
    UNAVAILABLE,
    A2aError,
    Violation,
    not_found,
    refused_call,
    unavailable,
)
from streams.doors.a2a.mapping import accepted_modes, mapping_of
from streams.doors.a2a.protocol import MAX_HISTORY, POSITION_HEADER, Json
from streams.doors.a2a.push_configs import enclosed
from streams.doors.a2a.tasks import Selection, context_of, find_run
from streams.errors import Forbidden, InfrastructureError, InvalidInput, OutputTooLarge
from streams.gateway.request_ids import set_response_headers
from streams.ingress import senders
from streams.ingress.edges import ingress_topic_of
from streams.processing.encode import to_output
from streams.protocols.summit.queries import runs
from streams.routes.produce import trace_of
from topology.summit import SUMMIT_CALLS

_UNTOLD = ("run.unknown", "cancel.not_caller")
"""Rules by which a cancel is refused without telling that there is a task."""


class Sent(NamedTuple):
    """A message whose call was accepted, now or when it was sent before."""

    task_id: str
    selection: Selection


async def send(context: Context, request: Json) -> Sent:
    """Make a call of a message, and wait for the verdict on it.  Raises A2aError."""
    configuration = request.get("configuration", {})
    modes = accepted_modes(configuration.get("acceptedOutputModes", []))
    selection = Selection(read_history_length(configuration, MAX_HISTORY), modes)
    mapping = mapping_of(context.agent["manifest"])
    call = make_call(request, context.agent_id, mapping, context.caller)
    if request["message"].get("taskId", call.task_id) != call.task_id:
        await _refuse_turn(context, request["message"])
    push_config = enclosed(context, call.task_id, request)
    if push_config is None:
        await _call(context, call)
        return Sent(call.task_id, selection)
    await push_config.set()
    try:
        await _call(context, call)
    except A2aError as exc:
        if exc.rule != UNAVAILABLE:  # else it may have been accepted
            await push_config.take_back()
        raise
    except Forbidden:
        await push_config.take_back()
        raise
    return Sent(call.task_id, selection)


async def _call(context: Context, call: Call) -> None:
    """Make a call, and wait until it is accepted.  Raises A2aError, Forbidden."""
    position = await _append(context, call.value)
    await _require_acceptance(context, position, call.task_id)


def read_history_length(members: Json, default: int) -> int:
    """Return how many messages of a task a client wants.  Raises A2aError."""
    length: int = members.get("historyLength", default)
    if length < 0:
        raise A2aError("a2a.history_length", "historyLength is 0 or more", "/historyLength")
    return length


async def await_end(context: Context, task_id: str, seconds: float) -> None:
    """Wait until a task has ended, and its critic has judged it where callers wait for that."""
    if seconds <= 0:
        return
    context.door.enter_stream()
    try:
        await _await_result(context, task_id, time.monotonic() + seconds)
    finally:
        context.door.leave_stream()


async def _await_result(context: Context, task_id: str, deadline_s: float) -> None:
    """Wait for the result of a task.  deadline_s: by the monotonic clock."""
    host = context.door.host
    result = await host.find(
        runs.end_row(task_id),
        lambda view: runs.result(view, task_id),
        max(0.0, deadline_s - time.monotonic()),
    )
    if result is not None and host.settings.summit_judge_gate:
        await host.find(
            runs.run_row(task_id),
            lambda view: runs.judged_result(view, task_id),
            max(0.0, deadline_s - time.monotonic()),
        )


def wait_s(context: Context, request: Json) -> float:
    """Return how long the answer to a message waits for the end of its task, in seconds."""
    if request.get("configuration", {}).get("returnImmediately"):
        return 0
    longest = context.door.settings.summit_wait_max_s
    preferred = prefer.wait_s(context.headers, longest)
    if preferred is None:
        return longest
    set_response_headers(prefer.applied_header(preferred))
    return preferred


async def cancel(context: Context, request: Json) -> None:
    """Cancel a task, and wait for the verdict.  Raises A2aError."""
    task_id = request["id"]
    row = await context.read(lambda view: find_run(view, task_id, context.agent_id, context.caller))
    position = await _append(context, make_cancel(request, row["caller"], context.caller))
    try:
        await _require_acceptance(context, position, task_id)
    except A2aError as exc:
        if exc.rule in _UNTOLD:
            raise not_found(task_id) from exc
        raise
    await context.door.host.find(
        runs.end_row(task_id),
        lambda view: runs.result(view, task_id),
        context.door.settings.gateway_wait_s,
    )


async def _refuse_turn(context: Context, message: Json) -> None:
    """Raise the A2aError for a message to a task that another message has made."""
    task_id = message["taskId"]
    row = await context.read(lambda view: find_run(view, task_id, context.agent_id, context.caller))
    if message.get("contextId", context_of(row)) != context_of(row):
        detail = f"the task is of the context {context_of(row)}"
        raise A2aError("a2a.context_mismatch", detail, "/message/contextId", task_id=task_id)
    if row["finishedAt"] is not None:
        raise A2aError("a2a.task_ended", "the task has ended", "/message/taskId", task_id=task_id)
    detail = "a task takes one message; send a new one with the same contextId"
    raise A2aError("a2a.no_turns", detail, "/message/taskId", task_id=task_id)


async def _append(context: Context, value: Json) -> str:
    """Write a call to the log, and return its position.  Raises A2aError, Forbidden."""
    gateway, task_id = context.door.gateway, value["params"]["runId"]
    senders.check(SUMMIT_CALLS, [value], context.caller)
    try:
        edge = ingress_topic_of(SUMMIT_CALLS.name)
        output = to_output(edge, value, gateway.clock(), gateway.settings)
        headers = [*output.headers, *trace_of(context.headers)]
        (position,) = await context.door.host.append([output._replace(headers=headers)])
    except InvalidInput as exc:
        first = exc.problems[0]
        violations = [Violation(each.path, each.message) for each in exc.problems]
        raise A2aError(
            first.rule, first.message, first.path, violations=violations, task_id=task_id
        ) from exc
    except OutputTooLarge as exc:
        raise A2aError("params.size", exc.message, "/message", task_id=task_id) from exc
    except InfrastructureError as exc:
        raise unavailable(exc.message, task_id=task_id) from exc
    set_response_headers({POSITION_HEADER: position})
    return position


async def _require_acceptance(context: Context, position: str, task_id: str) -> None:
    """Wait for the verdict on a call.  Raises A2aError if it is refused, or not seen in time."""
    host = context.door.host
    fact = await host.find(
        runs.verdict_row(position),
        lambda view: runs.verdict(view, position),
        host.settings.gateway_wait_s,
    )
    if fact is None:
        detail = "the verdict was not seen in time"
        raise unavailable(detail, task_id=task_id, position=position)
    if fact["verdict"] == "rejected":
        raise refused_call(fact)
    if fact["rule"] == CALL_DUPLICATE.code:
        context.door.gateway.metrics.count_a2a_duplicate()
    await host.find(
        runs.run_row(task_id),
        lambda view: runs.status(view, task_id),
        host.settings.gateway_wait_s,
    )
