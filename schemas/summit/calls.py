"""The rules of requests (Summit guide, 2.3, 3): on the log, and to `POST /summit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas.canonical import MAX_SAFE_INTEGER
from schemas.json_mapping.json_form import UnparsableJson
from schemas.objects import ABSENT
from schemas.problems import Problem
from schemas.summit import rules, words
from schemas.summit.caps import NO_CAPS, BudgetCaps, check_caps
from schemas.summit.checker import (
    ANY_ORDER,
    Checker,
    JsonPath,
    chars,
    in_range,
    is_agent_id,
    is_id,
    is_integer,
    is_position,
    is_tool_call_id,
    is_tool_name,
    is_version,
    others,
)
from schemas.summit.ijson import is_text

JsonObject = dict[str, Any]
_CONTEXT = ("traceId", "parentRunId", "budget")
_BUDGET = ("usd", "tokens", "seconds")
_ID = "an id of 1 to 128 letters, digits, ., _, : and -, with a letter or digit first"
_AGENT = "1 to 100 lower-case letters, digits and -"


def _check_common(check: Checker, params: JsonObject, path: JsonPath) -> None:
    """Check agent, run and context, which invoke and tool.call share."""
    check_agent(check, params, path)
    check_run(check, params, path)
    if "context" in params:
        check_context(check, params["context"], (*path, "context"), params.get("runId"))


def check_agent(check: Checker, params: JsonObject, path: JsonPath) -> None:
    check.text(
        params, "agentId", path, rules.PARAMS_AGENT_ID, is_agent_id, _AGENT, rules.PARAMS_SHAPE
    )


def check_run(check: Checker, params: JsonObject, path: JsonPath) -> None:
    check.text(params, "runId", path, rules.PARAMS_RUN_ID, is_id, _ID, rules.PARAMS_SHAPE)


def check_invoke(check: Checker, params: JsonObject, path: JsonPath) -> None:
    listed = ("agentId", "inputs", "runId", "context")
    check.members(params, path, listed, listed[:3], rules.PARAMS_SHAPE)
    _check_common(check, params, path)
    _check_open_object(check, params, "inputs", path)


def check_tool_params(check: Checker, params: JsonObject, path: JsonPath) -> None:
    listed = ("agentId", "runId", "toolCall", "context")
    check.members(params, path, listed, listed[:3], rules.PARAMS_SHAPE)
    _check_common(check, params, path)
    if "toolCall" in params:
        check_tool_call(check, params["toolCall"], (*path, "toolCall"))


def check_tool_call(check: Checker, tool: Any, path: JsonPath) -> None:
    if not check.an_object(rules.PARAMS_SHAPE, tool, path):
        return
    named = ("id", "name", "arguments")
    check.members(tool, path, named, named, rules.PARAMS_SHAPE)
    check.text(
        tool,
        "id",
        path,
        rules.PARAMS_TOOL_CALL,
        is_tool_call_id,
        "1 to 128 visible ASCII characters",
        rules.PARAMS_SHAPE,
    )
    check.text(
        tool,
        "name",
        path,
        rules.PARAMS_TOOL_CALL,
        is_tool_name,
        "1 to 64 letters, digits, _ and -",
        rules.PARAMS_SHAPE,
    )
    _check_open_object(check, tool, "arguments", path)


def _check_open_object(check: Checker, owner: JsonObject, name: str, path: JsonPath) -> None:
    """Check inputs or arguments: an object of I-JSON of limited size."""
    if name not in owner:
        return
    value, path = owner[name], (*path, name)
    if not check.well_formed(rules.JSON_INVALID, value, path):
        return
    if check.an_object(rules.PARAMS_SHAPE, value, path):
        check.at_most(rules.PARAMS_SIZE, value, path, words.MAX_INPUTS_BYTES)


def check_cancel(check: Checker, params: JsonObject, path: JsonPath) -> None:
    listed = ("runId", "agentId", "reason")
    check.members(params, path, listed, listed[:1], rules.PARAMS_SHAPE)
    check_run(check, params, path)
    check_agent(check, params, path)
    check.text(
        params,
        "reason",
        path,
        rules.PARAMS_REASON,
        chars(1, 1000),
        "a string of 1 to 1000 characters",
        rules.PARAMS_SHAPE,
    )


def check_context(check: Checker, context: Any, path: JsonPath, run_id: Any = None) -> None:
    """Check the context of a call.

    run_id: that of the call.
    """
    shape = rules.PARAMS_SHAPE
    if not check.an_object(shape, context, path):
        return
    check.text(context, "traceId", path, rules.CONTEXT_TRACE_ID, is_id, _ID, shape)
    check.text(context, "parentRunId", path, rules.CONTEXT_PARENT, is_id, _ID, shape)
    if isinstance(run_id, str) and context.get("parentRunId") == run_id:
        check.add_problem(rules.CONTEXT_PARENT, (*path, "parentRunId"), "must be another run's id")
    extra = others(context, _CONTEXT)
    for name, value in extra.items():
        check.well_formed(rules.JSON_INVALID, value, (*path, str(name)))
    if extra and not any(isinstance(value, UnparsableJson) for value in extra.values()):
        check.at_most(rules.CONTEXT_SIZE, extra, path, words.MAX_EXTRA_BYTES)
    if "budget" in context:
        check_budget(check, context["budget"], (*path, "budget"))


def check_budget(check: Checker, budget: Any, path: JsonPath) -> None:
    if not check.an_object(rules.PARAMS_SHAPE, budget, path):
        return
    for name in budget:
        if name not in _BUDGET:
            check.add_problem(rules.BUDGET_KEY, (*path, str(name)), "is no budget that is known")
    check.number(budget, "usd", path, rules.BUDGET_VALUE, 0, words.MAX_USD)
    check.integer(budget, "tokens", path, rules.BUDGET_VALUE)
    seconds = budget.get("seconds")
    if "seconds" in budget and not (in_range(seconds, 0, words.MAX_SECONDS) and seconds > 0):
        what = f"must be a number above 0, at most {words.MAX_SECONDS}"
        check.add_problem(rules.BUDGET_VALUE, (*path, "seconds"), what)


_REQUEST = ("jsonrpc", "id", "method", "params", "caller", "delivery")
_PARAMS: JsonPath = ("params",)


def check_call(value: object, caps: BudgetCaps = NO_CAPS) -> list[Problem]:
    """Check the JSON of a SummitCall; return the problems, the deciding one first."""
    return call_problems(value, words.LOGGED_METHODS, caps)


def check_request(value: object, caps: BudgetCaps = NO_CAPS) -> list[Problem]:
    """Check one request to `POST /summit`, which may also be a query."""
    return call_problems(value, words.METHODS, caps)


def request_id(value: object) -> Any:
    """Return the id that a response echoes: the request's if it is valid, else ABSENT."""
    id = value.get("id") if isinstance(value, dict) else None
    return id if _is_request_id(id) else ABSENT


def call_problems(
    value: Any, methods: tuple[str, ...], caps: BudgetCaps = NO_CAPS
) -> list[Problem]:
    check = Checker("request", ANY_ORDER)
    if check.an_object(rules.RPC_SHAPE, value, ()):
        _check_envelope(check, value, methods)
        makes_run = value.get("method") in (words.INVOKE_METHOD, words.TOOL_METHOD)
        if makes_run and caps != NO_CAPS and isinstance(value.get("params"), dict):
            check_caps(check, value["params"], caps)
    return check.problems()


def _check_envelope(check: Checker, call: JsonObject, methods: tuple[str, ...]) -> None:
    check.members(call, (), _REQUEST, ("method",), rules.RPC_SHAPE)
    if call.get("jsonrpc") != words.JSONRPC:
        check.add_problem(rules.RPC_VERSION, ("jsonrpc",), f"must be {words.JSONRPC}")
    method = call.get("method")
    if "id" in call and not _is_request_id(call["id"]):
        what = f"must be a string of at most 256 characters or an integer within {MAX_SAFE_INTEGER}"
        check.add_problem(rules.RPC_ID, ("id",), what)
    if "id" not in call and method != words.CANCEL_METHOD:
        check.add_problem(rules.RPC_ID_REQUIRED, ("id",), "is missing")
    if "delivery" in call:
        check.add_problem(rules.PARAMS_SHAPE, ("delivery",), "is for the service to set")
    check.text(
        call, "caller", (), rules.CALLER_VALUE, chars(1, 200), "a string of 1 to 200 characters"
    )
    if not isinstance(method, str):
        if "method" in call:
            check.add_problem(rules.RPC_SHAPE, ("method",), "must be a string")
    elif method not in methods:
        check.add_problem(rules.RPC_METHOD, ("method",), f"must be one of {', '.join(methods)}")
    elif "params" not in call:
        if method not in ("agent.list", "tool.list"):
            check.add_problem(rules.PARAMS_SHAPE, _PARAMS, "is missing")
    elif check.an_object(rules.PARAMS_SHAPE, call["params"], _PARAMS):
        _PARAMS_CHECKS[method](check, call["params"], _PARAMS)


def _is_request_id(id: Any) -> bool:
    if isinstance(id, str):
        return len(id) <= 256 and is_text(id)
    return is_integer(id) and abs(id) <= MAX_SAFE_INTEGER


def _check_query(check: Checker, params: JsonObject, path: JsonPath, *listed: str) -> None:
    """Check the members of a query; those that calls have too follow the same rules."""
    check.members(params, path, listed, (), rules.PARAMS_SHAPE)
    check_agent(check, params, path)
    check_run(check, params, path)
    for name, holds, what in _QUERY_TEXTS:
        check.text(params, name, path, rules.PARAMS_SHAPE, holds, what)
    check.integer(params, "limit", path, rules.PARAMS_SHAPE, 1, words.MAX_PAGE)


def _check_status_query(check: Checker, params: JsonObject, path: JsonPath) -> None:
    _check_query(check, params, path, "runId", "agentId", "after")
    if "runId" not in params and "agentId" not in params:
        check.add_problem(rules.PARAMS_SHAPE, (*path, "runId"), "is missing, and so is agentId")


def _check_schema_query(check: Checker, params: JsonObject, path: JsonPath) -> None:
    _check_query(check, params, path, "agentId", "version", "after")
    if "agentId" not in params:
        check.add_problem(rules.PARAMS_SHAPE, (*path, "agentId"), "is missing")


def _check_agents_query(check: Checker, params: JsonObject, path: JsonPath) -> None:
    _check_query(check, params, path, "role", "capability", "limit", "cursor", "after")


def _check_tools_query(check: Checker, params: JsonObject, path: JsonPath) -> None:
    _check_query(check, params, path, "agentId", "dialect", "limit", "cursor", "after")


_QUERY_TEXTS: tuple[tuple[str, Callable[[str], bool], str], ...] = (
    ("after", is_position, "a position, topic/partition/offset"),
    ("version", is_version, "a version, x.y.z"),
    ("role", chars(0, 200), "at most 200 characters"),
    ("capability", chars(0, 200), "at most 200 characters"),
    ("cursor", chars(1, 4096), "a cursor of an earlier answer"),
    ("dialect", words.DIALECTS.__contains__, "summit or mcp"),
)
_PARAMS_CHECKS: dict[str, Callable[[Checker, JsonObject, JsonPath], None]] = {
    words.INVOKE_METHOD: check_invoke,
    words.TOOL_METHOD: check_tool_params,
    words.CANCEL_METHOD: check_cancel,
    "agent.status": _check_status_query,
    "agent.schema": _check_schema_query,
    "agent.list": _check_agents_query,
    "tool.list": _check_tools_query,
}
assert set(_PARAMS_CHECKS) == set(words.METHODS)
