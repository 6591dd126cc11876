"""The rules of what logged calls ask for (spec 2.3, 3)."""

from __future__ import annotations

from typing import Any

from schemas.json_mapping.json_form import Unread
from schemas.summit import rules, words
from schemas.summit.checker import Checker, Place, chars, in_range, others
from schemas.summit.texts import is_agent_id, is_id, is_tool_call_id, is_tool_name

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
    if extra and not any(isinstance(value, Unread) for value in extra.values()):
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
