"""The operations of A2A, apart from the binding by which they are asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from streams.access.callers import Role
from streams.doors.a2a import listing, sending
from streams.doors.a2a import push_configs as configs
from streams.doors.a2a.cards import has_extended_card, make_card
from streams.doors.a2a.cursors import parse_cursor
from streams.doors.a2a.door import Context
from streams.doors.a2a.errors import A2aError
from streams.doors.a2a.mapping import ALL_MODES
from streams.doors.a2a.protocol import LAST_EVENT_ID, MAX_HISTORY, Json
from streams.doors.a2a.requests import read_request
from streams.doors.a2a.streaming import TaskStream
from streams.doors.a2a.tasks import Selection, Snapshot, find_run, read_task, read_task_as_of
from streams.errors import Forbidden, needs_extra
from streams.views.reads import ReadOnlyStore

with needs_extra("a2a", "/a2a"):
    from a2a.types import a2a_pb2
    from google.protobuf.message import Message

Answer = Json | TaskStream | None


async def send_message(context: Context, request: Json) -> Json:
    sent = await sending.send(context, request)
    await sending.await_end(context, sent.task_id, sending.wait_s(context, request))
    return {"task": (await _snapshot(context, sent.task_id, sent.selection)).task}


async def stream_message(context: Context, request: Json) -> TaskStream:
    sent = await sending.send(context, request)
    snapshot = await _snapshot(context, sent.task_id, sent.selection)
    return TaskStream(context, snapshot, sent.selection.modes)


async def get_task(context: Context, request: Json) -> Json:
    selection = Selection(sending.read_history_length(request, MAX_HISTORY))
    return (await _snapshot(context, request["id"], selection)).task


async def list_tasks(context: Context, request: Json) -> Json:
    page = listing.read_page(request, context.agent_id, context.caller)
    return await context.read(lambda view: listing.list_tasks(view, page))


async def cancel_task(context: Context, request: Json) -> Json:
    await sending.cancel(context, request)
    return (await _snapshot(context, request["id"], Selection())).task


async def subscribe(context: Context, request: Json) -> TaskStream:
    """Follow a task: from now on, or from the event that Last-Event-ID names."""
    last_id = context.headers.get(LAST_EVENT_ID)
    cursor = None if last_id is None else parse_cursor(last_id)

    def look(view: ReadOnlyStore) -> Snapshot:
        row = find_run(view, request["id"], context.agent_id, context.caller)
        if cursor is None:
            return read_task(view, row, Selection())
        return read_task_as_of(view, row, cursor, Selection())

    stream = TaskStream(context, await context.read(look), ALL_MODES)
    if cursor is not None:
        context.door.gateway.metrics.count_a2a_resume()
    elif stream.is_over:
        detail = "the task has ended; with Last-Event-ID its events are sent again"
        raise A2aError("a2a.task_ended", detail, "/id", task_id=request["id"])
    return stream


async def get_extended_card(context: Context, request: Json) -> Json:
    settings = context.door.settings
    if not has_extended_card(settings):
        raise A2aError("a2a.no_extended_card", "the card of the agent is whole")
    return make_card(context.agent, settings, context.base, whole=True)


async def _snapshot(context: Context, task_id: str, selection: Selection) -> Snapshot:
    def look(view: ReadOnlyStore) -> Snapshot:
        return read_task(view, find_run(view, task_id, context.agent_id, context.caller), selection)

    return await context.read(look)


class Operation(NamedTuple):
    """One operation.

    name: that of JSON-RPC.  message: the type of its request.  role: that a caller needs.
    """

    name: str
    message: type[Message]
    role: Role
    run: Callable[[Context, Json], Awaitable[Answer]]

    async def answer(self, context: Context, parameters: object) -> Answer:
        """Check the caller and the request, and carry it out.  Raises A2aError, Forbidden."""
        metrics = context.door.gateway.metrics
        try:
            self._check_role(context)
            answer = await self.run(context, read_request(parameters, self.message()))
        except (A2aError, Forbidden):
            metrics.count_a2a(self.name, "refused")
            raise
        metrics.count_a2a(self.name, "ok")
        return answer

    def _check_role(self, context: Context) -> None:
        caller = context.caller
        if caller is not None and not caller.has((self.role,)):
            detail = f"the token of {caller.principal} has not the role {self.role}"
            raise Forbidden(detail, "role_missing")


_PUSH = "TaskPushNotificationConfig"
_READER, _PRODUCER = Role.READER, Role.PRODUCER
_ALL = (
    Operation("SendMessage", a2a_pb2.SendMessageRequest, _PRODUCER, send_message),
    Operation("SendStreamingMessage", a2a_pb2.SendMessageRequest, _PRODUCER, stream_message),
    Operation("GetTask", a2a_pb2.GetTaskRequest, _READER, get_task),
    Operation("ListTasks", a2a_pb2.ListTasksRequest, _READER, list_tasks),
    Operation("CancelTask", a2a_pb2.CancelTaskRequest, _PRODUCER, cancel_task),
    Operation("SubscribeToTask", a2a_pb2.SubscribeToTaskRequest, _READER, subscribe),
    Operation(f"Create{_PUSH}", a2a_pb2.TaskPushNotificationConfig, _PRODUCER, configs.create),
    Operation(f"Get{_PUSH}", a2a_pb2.GetTaskPushNotificationConfigRequest, _READER, configs.get),
    Operation(
        f"List{_PUSH}s",
        a2a_pb2.ListTaskPushNotificationConfigsRequest,
        _READER,
        configs.list_configs,
    ),
    Operation(
        f"Delete{_PUSH}",
        a2a_pb2.DeleteTaskPushNotificationConfigRequest,
        _PRODUCER,
        configs.delete,
    ),
    Operation(
        "GetExtendedAgentCard", a2a_pb2.GetExtendedAgentCardRequest, _READER, get_extended_card
    ),
)
OPERATIONS: Mapping[str, Operation] = {operation.name: operation for operation in _ALL}
"""The operations by the names that JSON-RPC has for them."""
