"""The part of the OpenAPI document for `/mcp`, its access rule and its codes."""

from __future__ import annotations

from streams.access.callers import AccessRule, Role
from streams.api.description import DescribeParameter, Description
from streams.api.media import JSON_TYPE
from streams.api.openapi import Json, json_response, problem_responses
from streams.api.problems import Code

PATH = "/mcp"
_TAG = "mcp"
_MESSAGE: Json = {"type": "object"}


def _paths(describe: DescribeParameter) -> Json:
    return {PATH: {"post": _post()}}


def _post() -> Json:
    example = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    body = {"schema": _MESSAGE, "example": example}
    stream = {"schema": {"type": "string"}}
    response = json_response(_MESSAGE, "The JSON-RPC response, or a stream that ends with it.")
    response["content"]["text/event-stream"] = stream
    return {
        "operationId": "post_mcp",
        "summary": "One JSON-RPC message of the Model Context Protocol",
        "tags": [_TAG],
        "requestBody": {"required": True, "content": {JSON_TYPE: body}},
        "responses": {
            "200": response,
            "202": {"description": "A notification was taken."},
            **problem_responses(401, 403, 408, 413, 429, 503),
        },
    }


DESCRIPTION = Description(
    tags={_TAG: "The Model Context Protocol: `docs/mcp.md` says what it offers."},
    paths=_paths,
    needs={("POST", PATH): AccessRule(tuple(Role), checks_origin=True)},
    http_rules=(
        Code("arguments_invalid", 422, "The arguments of an MCP tool break its input schema."),
        Code("node_kind", 404, "Things of that kind have no state."),
        Code("position_unknown", 404, "No record that may be shown is at that position."),
        Code(
            "result_too_large", 413, "The result of an MCP tool is above its limit; ask for less."
        ),
        Code("setting_refused", 422, "A simulation may not change that setting."),
        Code("simulation_failed", 422, "The scenario does not run, or not within its limits."),
        Code("simulations_busy", 429, "As many scenarios as allowed are running."),
        Code("scenario_method", 404, "A scenario does not serve the MCP methods that stream."),
        Code("event_arguments", 422, "The arguments of MCP events break their schema."),
        Code("event_forbidden", 403, "The messages are another agent's."),
        Code("event_mode", 422, "MCP events are not delivered in that mode."),
        Code("event_unknown", 404, "The caller has no MCP events of that name."),
        Code("subscription_unknown", 404, "The caller has no such subscription to MCP events."),
        Code("webhook_url", 422, "Events may not be posted to that URL."),
        Code("webhook_secret", 422, "The signing secret of a webhook is none."),
        Code("webhook_limit", 429, "The caller has as many webhooks as it may have."),
        Code("webhook_challenge", 422, "The address has not answered its challenge."),
        Code("event_cursor", 400, "The cursor is none of these MCP events and arguments."),
        Code("tool_unknown", 404, "The caller has no MCP tool of that name."),
        Code("task_unknown", 404, "The caller has no MCP task of that id."),
        Code("resource_unknown", 404, "There is no MCP resource of that address."),
        Code("prompt_unknown", 404, "There is no MCP prompt of that name."),
        Code("list_cursor", 400, "The cursor is not one that this list has given."),
    ),
)
