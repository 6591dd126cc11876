"""The methods of the Tasks extension: ask for a task, answer its questions, call it off."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import mcp.types as types
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS
from pydantic import Field

from schemas.formats import iso_ms
from streams.api.long_work import Author, Order
from streams.doors.mcp import sending
from streams.doors.mcp.door import Client, Door
from streams.doors.mcp.results import FORBIDDEN, Json, ToolRefused, bounded
from streams.doors.mcp.run_results import describe_end, places
from streams.doors.mcp.tasks import COMPLETED, Task, find_task, principal_of_caller
from streams.doors.mcp.wire import refusal_error
from streams.views.service.verdicts import ACCEPTED

DONE: Json = {"resultType": "complete"}
_SECONDS = 5.0
"""For the view to be at the acceptance; it is there already, since the end is."""


class TaskParams(types.RequestParams):
    """The parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str = Field(alias="taskId")


class UpdateParams(TaskParams):
    """The parameters of `tasks/update`."""

    input_responses: dict[str, Any] = Field(default_factory=dict, alias="inputResponses")


async def get(door: Door, client: Client, task_id: str) -> Json:
    """Return where a task stands, and its result once it has ended.  Raises MCPError."""
    task = find_task(door, task_id)
    described = {**DONE, **task.to_json(client)}
    if described["status"] == COMPLETED:
        described["result"] = await _result_of(door, task)
    return described


async def _result_of(door: Door, task: Task) -> Json:
    """Return what the call would have answered if its client had waited.  Raises MCPError."""
    try:
        thing = await door.asker.get("things", task.awaited.node)
        cause = next(each["cause"] for each in reversed(thing["verdicts"]) if _accepts(each))
        ruling = await sending.await_ruling(door, cause, _SECONDS)
        outcome = task.outcome or {}
        if (of := task.tools) is not None:
            (run_id,) = task.awaited.ids.values()
            result = describe_end(door, of, run_id, outcome, places(door, ruling, cause))
        else:
            result = await sending.describe(door, sending.sent_at(door, cause), ruling, outcome)
    except ToolRefused as exc:
        raise refusal_error(exc) from exc
    return bounded(result, door.settings.mcp_max_result_bytes)


def _accepts(verdict: Json) -> bool:
    return verdict["verdict"] == ACCEPTED and verdict["cause"] is not None


async def cancel(door: Door, params: TaskParams) -> Json:
    """Call the task off.  Raises MCPError."""
    task = find_task(door, params.task_id)
    await _send(door, task, _order_cancel(door, task, "cancel"))
    return DONE


async def update(door: Door, params: UpdateParams) -> Json:
    """Answer what the task asks for; what it does not ask for is ignored.  Raises MCPError."""
    task = find_task(door, params.task_id)
    question, work = task.standing.question, task.awaited.work
    response = None if question is None else params.input_responses.get(question.id)
    if question is None or work.answer is None or not isinstance(response, dict):
        return DONE
    if response.get("action") != "accept":
        await _send(door, task, _order_cancel(door, task, question.id))
        return DONE
    content = response.get("content")
    if not isinstance(content, dict):
        detail = "an accepted answer has content, an object"
        raise MCPError(INVALID_PARAMS, detail, {"rule": "arguments_invalid", "detail": detail})
    with door.gateway.view.reader() as view:
        author = _author(door, task, question.id)
        order = work.answer(view, task.awaited.ids, content, author)
    await _send(door, task, order)
    return DONE


def _order_cancel(door: Door, task: Task, part: str) -> Order:
    with door.gateway.view.reader() as view:
        author = _author(door, task, part)
        return task.awaited.work.cancel(view, task.awaited.ids, author)


def _author(door: Door, task: Task, part: str) -> Author:
    digest = sha256(f"{task.id}/{part}".encode()).hexdigest()
    return Author(principal_of_caller(), iso_ms(door.gateway.clock()), f"mcp-{digest[:26]}")


async def _send(door: Door, task: Task, order: Order) -> None:
    """Produce an envelope as the caller.  Raises MCPError."""
    try:
        await sending.produce(door, order.topic, order.envelope, {})
    except ToolRefused as exc:
        if exc.body.get("status") != 403:
            raise refusal_error(exc) from exc
        detail = str(exc.body.get("detail"))
        raise MCPError(FORBIDDEN, detail, {"rule": exc.body.get("rule"), "detail": detail}) from exc
