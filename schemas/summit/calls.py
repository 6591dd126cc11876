"""The rules of requests (spec 2.3, 3): those on the log, and the queries of `POST /summit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas.canonical import MAX_SAFE_INTEGER
from schemas.objects import ABSENT
from schemas.problems import Problem
from schemas.summit import rules, words
from schemas.summit.checker import (
    ANY_ORDER,
    Checker,
    Place,
    chars,
    is_integer,
)
from schemas.summit.ijson import is_text
from schemas.summit.params import (
    check_agent,
    check_cancel,
    check_invoke,
    check_run,
    check_tool_params,
)
from schemas.summit.texts import is_position, is_version

JsonObject = dict[str, Any]
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
