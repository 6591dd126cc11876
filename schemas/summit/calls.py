"""The rules of requests (spec 2.3, 3): calls on the log, and the queries of `POST /summit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas.canonical import MAX_SAFE_INTEGER
from schemas.json_mapping.json_form import UnparsableJson
from schemas.objects import ABSENT
from schemas.problems import Problem
from schemas.summit import rules, words
from schemas.summit.checker import (
    ANY_ORDER,
    Checker,
    Place,
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


def _common(check: Checker, params: JsonObject, place: Place) -> None:
    """Agent, run and context, of invoke and tool.call."""
    check_agent(check, params, place)
    check_run(check, params, place)
    if "context" in params:
        check_context(check, params["context"], (*place, "context"), params.get("runId"))


def check_agent(check: Checker, params: JsonObject, place: Place) -> None:
    check.text(
        params, "agentId", place, rules.PARAMS_AGENT_ID, is_agent_id, _AGENT, rules.PARAMS_SHAPE
    )


def check_run(check: Checker, params: JsonObject, place: Place) -> None:
    check.text(params, "runId", place, rules.PARAMS_RUN_ID, is_id, _ID, rules.PARAMS_SHAPE)


def check_invoke(check: Checker, params: JsonObject, place: Place) -> None:
    listed = ("agentId", "inputs", "runId", "context")
    check.members(params, place, listed, listed[:3], rules.PARAMS_SHAPE)
    _common(check, params, place)
    _open(check, params, "inputs", place)


def check_tool_params(check: Checker, params: JsonObject, place: Place) -> None:
    listed = ("agentId", "runId", "toolCall", "context")
    check.members(params, place, listed, listed[:3], rules.PARAMS_SHAPE)
    _common(check, params, place)
    if "toolCall" in params:
        check_tool_call(check, params["toolCall"], (*place, "toolCall"))


def check_tool_call(check: Checker, tool: Any, place: Place) -> None:
    if not check.an_object(rules.PARAMS_SHAPE, tool, place):
        return
    named = ("id", "name", "arguments")
    check.members(tool, place, named, named, rules.PARAMS_SHAPE)
    check.text(
        tool,
        "id",
        place,
        rules.PARAMS_TOOL_CALL,
        is_tool_call_id,
        "1 to 128 visible ASCII characters",
        rules.PARAMS_SHAPE,
    )
    check.text(
        tool,
        "name",
        place,
        rules.PARAMS_TOOL_CALL,
        is_tool_name,
        "1 to 64 letters, digits, _ and -",
        rules.PARAMS_SHAPE,
    )
    _open(check, tool, "arguments", place)


def _open(check: Checker, owner: JsonObject, name: str, place: Place) -> None:
    """Inputs or arguments: an object of I-JSON of limited size."""
    if name not in owner:
        return
    value, place = owner[name], (*place, name)
    if not check.well_formed(rules.JSON_INVALID, value, place):
        return
    if check.an_object(rules.PARAMS_SHAPE, value, place):
        check.at_most(rules.PARAMS_SIZE, value, place, words.MAX_INPUTS_BYTES)


def check_cancel(check: Checker, params: JsonObject, place: Place) -> None:
    listed = ("runId", "agentId", "reason")
    check.members(params, place, listed, listed[:1], rules.PARAMS_SHAPE)
    check_run(check, params, place)
    check_agent(check, params, place)
    check.text(
        params,
        "reason",
        place,
        rules.PARAMS_REASON,
        chars(1, 1000),
        "a string of 1 to 1000 characters",
        rules.PARAMS_SHAPE,
    )


def check_context(check: Checker, context: Any, place: Place, run_id: Any = None) -> None:
    """run_id: of the call."""
    shape = rules.PARAMS_SHAPE
    if not check.an_object(shape, context, place):
        return
    check.text(context, "traceId", place, rules.CONTEXT_TRACE_ID, is_id, _ID, shape)
    check.text(context, "parentRunId", place, rules.CONTEXT_PARENT, is_id, _ID, shape)
    if isinstance(run_id, str) and context.get("parentRunId") == run_id:
        check.broken(rules.CONTEXT_PARENT, (*place, "parentRunId"), "must be another run's id")
    extra = others(context, _CONTEXT)
    for name, value in extra.items():
        check.well_formed(rules.JSON_INVALID, value, (*place, str(name)))
    if extra and not any(isinstance(value, UnparsableJson) for value in extra.values()):
        check.at_most(rules.CONTEXT_SIZE, extra, place, words.MAX_EXTRA_BYTES)
    if "budget" in context:
        check_budget(check, context["budget"], (*place, "budget"))


def check_budget(check: Checker, budget: Any, place: Place) -> None:
    if not check.an_object(rules.PARAMS_SHAPE, budget, place):
        return
    for name in budget:
        if name not in _BUDGET:
            check.broken(rules.BUDGET_KEY, (*place, str(name)), "is no budget that is known")
    check.number(budget, "usd", place, rules.BUDGET_VALUE, 0, words.MAX_USD)
    check.integer(budget, "tokens", place, rules.BUDGET_VALUE)
    seconds = budget.get("seconds")
    if "seconds" in budget and not (in_range(seconds, 0, words.MAX_SECONDS) and seconds > 0):
        what = f"must be a number above 0, at most {words.MAX_SECONDS}"
        check.broken(rules.BUDGET_VALUE, (*place, "seconds"), what)


_LISTED = ("jsonrpc", "id", "method", "params", "caller", "delivery")
_PARAMS: Place = ("params",)


def check_call(value: object) -> list[Problem]:
    """What breaks the rules of a SummitCall's JSON, what decides first; none if it is valid."""
    return call_problems(value, words.LOGGED_METHODS)


def check_request(value: object) -> list[Problem]:
    """The same of one request to `POST /summit`, which may be a query as well."""
    return call_problems(value, words.METHODS)


def request_id(value: object) -> Any:
    """The id that an answer echoes: the request's if it is one, else ABSENT."""
    told = value.get("id") if isinstance(value, dict) else None
    return told if _is_request_id(told) else ABSENT


def call_problems(value: Any, methods: tuple[str, ...]) -> list[Problem]:
    check = Checker("request", ANY_ORDER)
    if check.an_object(rules.RPC_SHAPE, value, ()):
        _request(check, value, methods)
    return check.problems()


def _request(check: Checker, call: JsonObject, methods: tuple[str, ...]) -> None:
    check.members(call, (), _LISTED, ("method",), rules.RPC_SHAPE)
    if call.get("jsonrpc") != words.JSONRPC:
        check.broken(rules.RPC_VERSION, ("jsonrpc",), f"must be {words.JSONRPC}")
    method = call.get("method")
    if "id" in call and not _is_request_id(call["id"]):
        what = f"must be a string of at most 256 characters or an integer within {MAX_SAFE_INTEGER}"
        check.broken(rules.RPC_ID, ("id",), what)
    if "id" not in call and method != words.CANCEL_METHOD:
        check.broken(rules.RPC_ID_REQUIRED, ("id",), "is missing")
    if "delivery" in call:
        check.broken(rules.PARAMS_SHAPE, ("delivery",), "is for the service to set")
    check.text(
        call, "caller", (), rules.CALLER_VALUE, chars(1, 200), "a string of 1 to 200 characters"
    )
    if not isinstance(method, str):
        if "method" in call:
            check.broken(rules.RPC_SHAPE, ("method",), "must be a string")
    elif method not in methods:
        check.broken(rules.RPC_METHOD, ("method",), f"must be one of {', '.join(methods)}")
    elif "params" not in call:
        if method not in ("agent.list", "tool.list"):
            check.broken(rules.PARAMS_SHAPE, _PARAMS, "is missing")
    elif check.an_object(rules.PARAMS_SHAPE, call["params"], _PARAMS):
        _METHODS[method](check, call["params"], _PARAMS)


def _is_request_id(told: Any) -> bool:
    if isinstance(told, str):
        return len(told) <= 256 and is_text(told)
    return is_integer(told) and abs(told) <= MAX_SAFE_INTEGER


def _query(check: Checker, params: JsonObject, place: Place, *listed: str) -> None:
    """Members of a query; those that are the forms of a call's have the same rules."""
    check.members(params, place, listed, (), rules.PARAMS_SHAPE)
    check_agent(check, params, place)
    check_run(check, params, place)
    for name, holds, what in _QUERY_TEXTS:
        check.text(params, name, place, rules.PARAMS_SHAPE, holds, what)
    check.integer(params, "limit", place, rules.PARAMS_SHAPE, 1, words.MAX_PAGE)


def _status(check: Checker, params: JsonObject, place: Place) -> None:
    _query(check, params, place, "runId", "agentId", "after")
    if "runId" not in params and "agentId" not in params:
        check.broken(rules.PARAMS_SHAPE, (*place, "runId"), "is missing, and so is agentId")


def _schema(check: Checker, params: JsonObject, place: Place) -> None:
    _query(check, params, place, "agentId", "version", "after")
    if "agentId" not in params:
        check.broken(rules.PARAMS_SHAPE, (*place, "agentId"), "is missing")


def _agents(check: Checker, params: JsonObject, place: Place) -> None:
    _query(check, params, place, "role", "capability", "limit", "cursor", "after")


def _tools(check: Checker, params: JsonObject, place: Place) -> None:
    _query(check, params, place, "agentId", "dialect", "limit", "cursor", "after")


_QUERY_TEXTS: tuple[tuple[str, Callable[[str], bool], str], ...] = (
    ("after", is_position, "a position, topic/partition/offset"),
    ("version", is_version, "a version, x.y.z"),
    ("role", chars(0, 200), "at most 200 characters"),
    ("capability", chars(0, 200), "at most 200 characters"),
    ("cursor", chars(1, 4096), "a cursor of an earlier answer"),
    ("dialect", words.DIALECTS.__contains__, "summit or mcp"),
)
_METHODS: dict[str, Callable[[Checker, JsonObject, Place], None]] = {
    words.INVOKE_METHOD: check_invoke,
    words.TOOL_METHOD: check_tool_params,
    words.CANCEL_METHOD: check_cancel,
    "agent.status": _status,
    "agent.schema": _schema,
    "agent.list": _agents,
    "tool.list": _tools,
}
assert set(_METHODS) == set(words.METHODS)
