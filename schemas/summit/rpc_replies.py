"""Replies in the form of JSON-RPC responses, as the draft of Summit has them (Summit guide, 2.8).

An edge makes a SummitReply of each; the log has no other form.
"""

from __future__ import annotations

from typing import Any

from schemas.problems import Problem
from schemas.summit import words
from schemas.summit.checker import ANY_ORDER, Checker, is_integer
from schemas.summit.rules import REPLY_SHAPE

JsonObject = dict[str, Any]
REPLY_ID = "rpc"
"""The replyId of every reply of this form: a run has one answer."""
OWN_CODE = 1
"""What stands for a code that only JSON-RPC may use."""
_MEMBERS = ("jsonrpc", "id", "result", "error", "runId", "agentId")
_RESULT = ("status", "output", "metrics", "provenance", "verification", "error")
_ERROR = ("code", "message", "data")
_PARTS = ("metrics", "provenance")


def is_rpc_reply(value: Any) -> bool:
    """Return whether a value is meant as a JSON-RPC response: a SummitReply has no `jsonrpc`."""
    return isinstance(value, dict) and "jsonrpc" in value


def address_reply(value: Any, run_id: str | None, agent_id: str | None) -> Any:
    """Return a JSON-RPC response with the run and the agent that it does not name itself.

    Anything else is returned as it is.
    """
    if not is_rpc_reply(value):
        return value
    known = {"runId": run_id, "agentId": agent_id}
    return {**{name: text for name, text in known.items() if text is not None}, **value}


def rpc_problems(response: JsonObject) -> list[Problem]:
    """Return why a JSON-RPC response cannot be made a reply, the deciding problem first."""
    check = Checker("reply", ANY_ORDER)
    needed = ("id", "runId", "agentId")
    check.members(response, (), _MEMBERS, needed, REPLY_SHAPE)
    if response["jsonrpc"] != words.JSONRPC:
        check.add_problem(REPLY_SHAPE, ("jsonrpc",), f"must be {words.JSONRPC}")
    if ("result" in response) == ("error" in response):
        check.add_problem(REPLY_SHAPE, (), "must have either result or error")
    for name, members in (("result", _RESULT), ("error", _ERROR)):
        if name in response and check.an_object(REPLY_SHAPE, response[name], (name,)):
            check.members(response[name], (name,), members, (), REPLY_SHAPE)
    return check.problems()


def as_reply(response: JsonObject) -> JsonObject:
    """Return the JSON of the SummitReply that a JSON-RPC response stands for.

    response: one without `rpc_problems`.  Its `id` is not compared with anything.
    A result without a status is completed.
    """
    reply = {"replyId": REPLY_ID, "runId": response["runId"], "agentId": response["agentId"]}
    if "error" in response:
        error, parts = _split(response["error"])
        return {**reply, "kind": words.ERROR, "status": words.FAILED, "error": error, **parts}
    result = response["result"]
    if result.get("status", words.COMPLETED) == words.COMPLETED:
        return {**reply, "kind": words.RESULT, **result}
    if isinstance(result.get("error"), dict):
        result = {**result, "error": _with_own_code(result["error"])}
    return {**reply, "kind": words.ERROR, **result}


def _split(error: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Return an error, and the parts of a reply that its data has."""
    data = error.get("data")
    parts: JsonObject = {}
    if isinstance(data, dict) and any(name in data for name in _PARTS):
        parts = {name: data[name] for name in _PARTS if name in data}
        remaining = {name: member for name, member in data.items() if name not in parts}
        error = {name: member for name, member in error.items() if name != "data"}
        error |= {"data": remaining} if remaining else {}
    return _with_own_code(error), parts


def _with_own_code(error: JsonObject) -> JsonObject:
    """Return an error whose code an agent may use; a reserved one is kept as `data.rpc_code`."""
    code = error.get("code")
    if not is_integer(code) or int(code) not in words.RESERVED_CODES:
        return error
    data = error.get("data", {})
    if not isinstance(data, dict):
        data = {"data": data}
    return {**error, "code": OWN_CODE, "data": {**data, "rpc_code": int(code)}}
