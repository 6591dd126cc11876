"""Messages as calls on the log.

The id of a task is made of who sends which message to which agent.  So a message that is sent again
makes the same call, which runs once, and nobody reaches the task of another by its messageId.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas import canonical_json, uuid5_url
from schemas.summit.checker import is_id
from schemas.summit.ijson import fault
from streams.access.callers import OPERATOR_NAME, Caller
from streams.doors.a2a.errors import A2aError
from streams.doors.a2a.mapping import AgentMapping
from streams.doors.a2a.protocol import EXTENSION, MAX_KEPT_BYTES, Json
from topology.keys import composite

_MAX_ID = 256
_OF_TASKS = ("contextId", "taskId")
_OF_SENDS = ("budget", "parentTaskId")
_OF_CANCELS = ("reason",)


class Call(NamedTuple):
    """A call, and the task that it makes.  value: SummitCall, JSON."""

    task_id: str
    value: Json


def make_call(request: Json, agent_id: str, mapping: AgentMapping, caller: Caller | None) -> Call:
    """Return the call that a message makes.

    request: SendMessageRequest, as `read_request` returns it.  Raises A2aError.
    """
    message = request["message"]
    message_id = _check_message(message)
    extension = _read_extension(request, _OF_SENDS)
    sent = {name: member for name, member in message.items() if name not in _OF_TASKS}
    principal = None if caller is None else caller.principal
    task_id = task_id_of(principal, agent_id, message_id)
    context: Json = {"traceId": message.get("contextId", task_id)}
    for name, member in zip(_OF_SENDS, ("budget", "parentRunId"), strict=True):
        if name in extension:
            context[member] = extension[name]
    context["a2a"] = _keep(sent, request.get("metadata", {}), mapping)
    params = {
        "agentId": agent_id,
        "runId": task_id,
        "inputs": mapping.read_inputs(sent),
        "context": context,
    }
    value: Json = {"jsonrpc": "2.0", "id": message_id, "method": "agent.invoke", "params": params}
    return Call(task_id, value if principal is None else {**value, "caller": principal})


def make_cancel(request: Json, owner: str | None, caller: Caller | None) -> Json:
    """Return the call that cancels a task.

    owner: who made the task.  Operators cancel the tasks of others by the name that they share.
    Raises A2aError.
    """
    params: Json = {"runId": request["id"], **_read_extension(request, _OF_CANCELS)}
    value: Json = {
        "jsonrpc": "2.0",
        "id": f"{request['id']}-cancel",
        "method": "agent.cancel",
        "params": params,
    }
    if caller is None:
        return value
    is_other = caller.is_operator and owner not in (None, caller.principal)
    return {**value, "caller": OPERATOR_NAME if is_other else caller.principal}


def task_id_of(principal: str | None, agent_id: str, message_id: str) -> str:
    """Return the id of the task that a message makes.  principal: None without tokens."""
    return uuid5_url(f"headrace:a2a:{composite(principal or '', agent_id, message_id)}")


def _check_message(message: Json) -> str:
    """Return the messageId.  Raises A2aError."""
    message_id: str = message["messageId"]
    if len(message_id) > _MAX_ID:
        detail = f"messageId is 1 to {_MAX_ID} characters"
        raise A2aError("a2a.message_id", detail, "/message/messageId")
    if message["role"] != "ROLE_USER":
        raise A2aError("a2a.role", "a client sends as ROLE_USER", "/message/role")
    if violation := fault(message, 1):
        raise A2aError("json.invalid", f"the message {violation}", "/message")
    if "contextId" in message and not is_id(message["contextId"]):
        detail = "contextId is 1 to 128 letters, digits, ., _, : and -, with no sign first"
        raise A2aError("a2a.context_id", detail, "/message/contextId")
    return message_id


def _read_extension(request: Json, known: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the extension's part of a request's metadata.

    A limit that is misspelt must not vanish, so unknown members are refused.  Raises A2aError.
    """
    extension = request.get("metadata", {}).get(EXTENSION, {})
    path = f"/metadata/{EXTENSION}"
    if not isinstance(extension, dict):
        raise A2aError("a2a.metadata", "the extension is an object", path)
    for name in extension:
        if name not in known:
            detail = f"{name} is none of {', '.join(known)}"
            raise A2aError("a2a.metadata", detail, f"{path}/{name}")
    return extension


def _keep(message: Json, metadata: Json, mapping: AgentMapping) -> Json:
    """Return what the run keeps of a message: all of it, or its id where it is long."""
    is_long = len(canonical_json(message)) > MAX_KEPT_BYTES
    short = {"messageId": message["messageId"]}
    content = short if mapping.takes_message or is_long else {"message": message}
    others = {name: member for name, member in metadata.items() if name != EXTENSION}
    return {**content, "metadata": others} if others else content
