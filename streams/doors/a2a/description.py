"""The part of the OpenAPI document for the door, its access rules and its codes."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from streams.access.callers import AccessRule, Role
from streams.api.description import DescribeParameter, Description, PathId
from streams.api.media import JSON_TYPE
from streams.api.openapi import (
    TEXT,
    Json,
    closed_object,
    header,
    json_response,
    problem_responses,
    ref,
)
from streams.api.problems import Code
from streams.doors.a2a.protocol import A2A_TYPE, CARD_PATH, ROOT, VERSION, VERSION_NAME
from streams.views.query_params import AFTER, CURSOR, FRESH, Parameter, limit

_TAG, _ERROR = "a2a", "A2aError"
PAGED = (limit(100, 500), CURSOR, FRESH)
_AGENT = f"{ROOT}{{agentId}}"
_TASK = f"{_AGENT}/tasks/{{taskId}}"
_CONFIGS = f"{_TASK}/pushNotificationConfigs"
_ANY = AccessRule(tuple(Role))
_READER, _PRODUCER = AccessRule((Role.READER,)), AccessRule((Role.PRODUCER,))
_CARD = AccessRule(tuple(Role), optional=True)
"""The endpoint asks for a token itself, unless cards are public."""
_OBJECT: Json = {"type": "object"}


class EndpointDeclaration(NamedTuple):
    """One method of one path.

    name: of its function in `streams.doors.a2a.serving`.  query: parameters that are not A2A's.
    """

    method: str
    path: str
    name: str
    summary: str
    rule: AccessRule
    streams: bool = False
    query: tuple[Parameter, ...] = ()

    @property
    def operation_id(self) -> str:
        suffix = "_" if self.path.endswith("/") else ""
        return f"{self.method.lower()}_a2a_{self.name}{suffix}"

    @property
    def has_body(self) -> bool:
        return self.method == "POST"

    @property
    def media_type(self) -> str:
        is_binding = self.path.startswith(f"{_AGENT}/") and not self.path.endswith((".json", "/"))
        return A2A_TYPE if is_binding else JSON_TYPE


ENDPOINTS: tuple[EndpointDeclaration, ...] = (
    EndpointDeclaration(
        "GET",
        "/v1/a2a/agents",
        "list_agents",
        "The agents that can be called by A2A",
        _READER,
        query=PAGED,
    ),
    EndpointDeclaration(
        "GET", CARD_PATH, "show_root_card", "The card of the agent of this address", _CARD
    ),
    EndpointDeclaration("GET", f"{_AGENT}{CARD_PATH}", "show_card", "The card of an agent", _CARD),
    EndpointDeclaration("POST", _AGENT, "call_jsonrpc", "One JSON-RPC request of A2A", _ANY, True),
    EndpointDeclaration(
        "POST", f"{_AGENT}/", "call_jsonrpc", "The same, for clients that end it so", _ANY, True
    ),
    EndpointDeclaration(
        "POST", f"{_AGENT}/message:send", "send_message", "Send a message", _PRODUCER
    ),
    EndpointDeclaration(
        "POST",
        f"{_AGENT}/message:stream",
        "stream_message",
        "Send a message, and follow its task",
        _PRODUCER,
        True,
    ),
    EndpointDeclaration(
        "GET", f"{_AGENT}/tasks", "list_tasks", "Tasks, the last changed first", _READER
    ),
    EndpointDeclaration(
        "GET", _TASK, "use_task", "A task; with `:subscribe` its events", _READER, True
    ),
    EndpointDeclaration(
        "POST", _TASK, "use_task", "`:cancel` a task, or `:subscribe` to it", _ANY, True
    ),
    EndpointDeclaration(
        "POST", _CONFIGS, "use_push_configs", "Have events of a task pushed", _PRODUCER
    ),
    EndpointDeclaration(
        "GET", _CONFIGS, "use_push_configs", "Where events of a task are pushed", _READER
    ),
    EndpointDeclaration(
        "GET", f"{_CONFIGS}/{{configId}}", "use_push_config", "One of these", _READER
    ),
    EndpointDeclaration(
        "DELETE", f"{_CONFIGS}/{{configId}}", "use_push_config", "Stop pushing", _PRODUCER
    ),
    EndpointDeclaration(
        "GET", f"{_AGENT}/extendedAgentCard", "show_extended_card", "The whole card", _READER
    ),
)


def _paths(describe: DescribeParameter) -> Json:
    paths: dict[str, Json] = defaultdict(dict)
    for endpoint in ENDPOINTS:
        operation = _operation(endpoint)
        if endpoint.method == "GET":
            operation["parameters"] += [describe(each) for each in (*endpoint.query, AFTER)]
        paths[endpoint.path][endpoint.method.lower()] = operation
    return dict(paths)


def _operation(endpoint: EndpointDeclaration) -> Json:
    ids = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    operation: Json = {
        "operationId": endpoint.operation_id,
        "summary": endpoint.summary,
        "tags": [_TAG],
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": TEXT} for name in ids),
            header(VERSION_NAME, "The version of A2A that the client speaks.", VERSION),
        ],
        "responses": _responses(endpoint),
    }
    if endpoint.has_body:
        content = {endpoint.media_type: {"schema": _OBJECT}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _responses(endpoint: EndpointDeclaration) -> Json:
    answer = json_response(_OBJECT, "The answer of A2A.", endpoint.media_type)
    if not endpoint.path.startswith(ROOT):
        return {"200": answer, **problem_responses(401, 403, 404, 429, 501, 503)}
    error = json_response(ref(_ERROR), "An error of A2A, or a refusal of the gateway.")
    error["content"][A2A_TYPE] = error["content"][JSON_TYPE]
    if not endpoint.streams:
        return {"200": answer, "default": error}
    answer["content"]["text/event-stream"] = {"schema": TEXT}
    ended = {"description": "The task has ended, and the client has its last event."}
    return {"200": answer, "204": ended, "default": error}


def _components() -> Json:
    """Return google.rpc.Status, the form of errors."""
    status = {
        "code": {"type": "integer", "description": "The HTTP status."},
        "status": {"type": "string", "description": "The name in google.rpc.Code."},
        "message": {"type": "string"},
        "details": {"type": "array", "items": _OBJECT},
    }
    return {_ERROR: closed_object({"error": closed_object(status)})}


DESCRIPTION = Description(
    tags={_TAG: "Agent2Agent (A2A) 1.0: `docs/a2a.md` says what it offers."},
    ids={"taskId": PathId("adaa3e69-07a4-506f-9423-e7166b1f2f47"), "configId": PathId("hook-1")},
    paths=_paths,
    components=_components,
    needs={(each.method, each.path): each.rule for each in ENDPOINTS},
    http_rules=(
        Code("a2a.shape", 400, "A member of a request is missing or has a wrong type or word."),
        Code("a2a.role", 400, "The message of a client is not from ROLE_USER."),
        Code("a2a.message_id", 400, "messageId is not 1 to 256 characters."),
        Code("a2a.parts", 400, "The parts of a message do not make the inputs of the agent."),
        Code("a2a.content_type", 400, "The agent takes or gives no content of that type."),
        Code("a2a.context_id", 400, "contextId is not an id of Summit."),
        Code("a2a.context_mismatch", 400, "contextId is not that of the task."),
        Code("a2a.metadata", 400, "The extension in the metadata has a member that is unknown."),
        Code("a2a.history_length", 400, "historyLength is negative."),
        Code("a2a.page_size", 400, "pageSize is not 1 to 100."),
        Code("a2a.page_token", 400, "pageToken is none that the list has given."),
        Code("a2a.cursor", 400, "Last-Event-ID is no event of the task."),
        Code("a2a.push_url", 400, "Events may not be posted to that URL."),
        Code("a2a.push_limit", 400, "The task has ten push configurations already."),
        Code("a2a.push_off", 400, "The gateway sends no push notifications."),
        Code("a2a.no_turns", 400, "The task has its one message already."),
        Code("a2a.task_ended", 400, "The task has ended."),
        Code("a2a.no_extended_card", 400, "The card of the agent is whole."),
        Code("a2a.version", 400, "The client speaks another version of A2A."),
    ),
)
