"""The Tasks extension: what takes long is answered by a handle, by which clients come back.

The wire shapes are here alone, so that those of the SDK can take their place when it has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mcp.shared.exceptions import MCPError

from streams.api.agent_tools import AgentTools
from streams.api.long_work import Question, WorkState
from streams.api.problems import error_response
from streams.doors.mcp.door import Client, Door
from streams.doors.mcp.handles import Handle, read_handle, write_handle
from streams.doors.mcp.results import Json, refused_by
from streams.doors.mcp.waiting import LONG_WORK, Awaited, await_outcome, find_awaited, message_of
from streams.doors.mcp.wire import refusal_error, unknown
from streams.errors import ViewNotReady
from streams.gateway.caller import get_caller
from streams.protocols.queries import QUERIES
from topology.lineage import kind_of

EXTENSION = "io.modelcontextprotocol/tasks"
MISSING_CAPABILITY = -32021
POLL_MS = 1000
WORKING, ASKING, COMPLETED, CANCELLED = "working", "input_required", "completed", "cancelled"
_KINDS = {work.letter: kind for kind, work in LONG_WORK.items()}
_TOOLS_BY_KIND: Mapping[str, AgentTools] = {
    kind_of(side.agent_tools.node("a")): side.agent_tools
    for side in QUERIES
    if side.agent_tools is not None
}
_FLAT = ("string", "number", "integer", "boolean")
_REPLY: Json = {
    "type": "object",
    "required": ["reply"],
    "properties": {"reply": {"type": "string"}},
}
"""The form of an answer where the question has none that a client can show."""


class Task(NamedTuple):
    """A task of the caller.  id: its handle.  outcome: None before its end."""

    id: str
    handle: Handle
    awaited: Awaited
    standing: WorkState
    outcome: Json | None

    @property
    def tools(self) -> AgentTools | None:
        """Return the tools of which one has made it, None if `send` has."""
        return None if self.handle.by_send else _TOOLS_BY_KIND.get(kind_of(self.awaited.node))

    def status(self, client: Client) -> str:
        if self.outcome is not None:
            is_cancelled = self.standing.state == self.awaited.work.cancelled
            return CANCELLED if is_cancelled else COMPLETED
        is_asking = self.standing.question is not None and client.takes_input
        return ASKING if is_asking else WORKING

    def to_json(self, client: Client) -> Json:
        """Return the task without its result."""
        standing, status = self.standing, self.status(client)
        described: Json = {
            "taskId": self.id,
            "status": status,
            "statusMessage": message_of(standing),
            "createdAt": standing.created_at,
            "lastUpdatedAt": standing.updated_at,
            "ttlMs": None,  # the log keeps it
            "pollIntervalMs": POLL_MS,
        }
        if status == ASKING and standing.question is not None:
            described["inputRequests"] = _input_requests(standing.question)
        return described


async def try_task(
    door: Door, awaited: Awaited | None, client: Client, meta: Mapping[str, Any], *, by_send: bool
) -> Json | None:
    """Return the CreateTaskResult for a thing that was accepted.

    None for a client that knows no tasks, and for what ends at once.
    """
    if awaited is None or not client.takes_tasks:
        return None
    wait_ms = door.settings.mcp_task_after_ms
    if wait_ms and await await_outcome(door, awaited, wait_ms / 1000) is not None:
        return None
    standing = awaited.find_standing(door)
    if standing is None:
        return None
    handle = _handle_of(awaited, by_send)
    id = write_handle(door.task_keys, principal_of_caller(), handle)
    created = Task(id, handle, awaited, standing, None).to_json(client)
    created.pop("inputRequests", None)
    return {"resultType": "task", **created, "_meta": dict(meta)}


def _handle_of(awaited: Awaited, by_send: bool) -> Handle:
    kind = kind_of(awaited.node)
    name = awaited.node.removeprefix(f"{kind}:")
    return Handle(awaited.work.letter, name, by_send and kind in _TOOLS_BY_KIND)


def require_extension(client: Client) -> None:
    """Raise MCPError if the client has not said that it knows tasks."""
    if not client.takes_tasks:
        needed: Json = {"extensions": {EXTENSION: {}}}
        detail = f"the client has not declared the extension {EXTENSION}"
        raise MCPError(MISSING_CAPABILITY, detail, {"requiredCapabilities": needed})


def find_task(door: Door, task_id: str) -> Task:
    """Return the caller's task of a handle.  Raises MCPError."""
    handle = read_handle(door.task_keys, principal_of_caller(), task_id)
    kind = None if handle is None else _KINDS.get(handle.letter)
    try:
        if handle is not None and kind is not None:
            awaited = find_awaited(door, f"{kind}:{handle.name}")
            standing = None if awaited is None else awaited.find_standing(door)
            if awaited is not None and standing is not None:
                return Task(task_id, handle, awaited, standing, awaited.find_outcome(door))
    except ViewNotReady as exc:
        raise refusal_error(refused_by(error_response(exc))) from exc
    raise unknown("task_unknown", "the caller has no task of that id")


def principal_of_caller() -> str | None:
    caller = get_caller()
    return None if caller is None else caller.principal


def _input_requests(question: Question) -> Json:
    params = {
        "mode": "form",
        "message": question.prompt,
        "requestedSchema": question.schema if _is_flat(question.schema) else _REPLY,
    }
    return {question.id: {"method": "elicitation/create", "params": params}}


def _is_flat(schema: Any) -> bool:
    """Return whether a client can show a form of it: an object of texts, numbers and flags."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return False
    members = schema.get("properties")
    return isinstance(members, dict) and all(
        isinstance(each, dict) and each.get("type") in _FLAT for each in members.values()
    )
