"""RunResult, ToolResult, and the error of a run that did not complete (spec 2.2, 2.5, 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schemas.formats import parse_ms
from schemas.objects import ABSENT
from schemas.summit import rules, words

JsonObject = dict[str, Any]
_MEANINGS = {rule.code: rule.meaning for rule in rules.ALL}
_SCHEMA_RULES = (rules.INPUTS_SCHEMA.code, rules.OUTPUT_SCHEMA.code)


def run_error(
    rule: str,
    *,
    path: str | None = None,
    errors: Sequence[JsonObject] | None = None,
    agent_error: JsonObject | None = None,
) -> JsonObject:
    """The RunError of a run that a rule ended: one of F or B, of a timer, or `cancel.accepted`.

    errors: of a schema.  agent_error: the agent's own RunError.
    """
    data: JsonObject = {"rule": rule}
    if path is not None:
        data["path"] = path
    if errors:
        data["errors"] = [dict(error) for error in errors]
    if agent_error is not None:
        data["agentError"] = agent_error
    cancelled = rule == rules.CANCEL_ACCEPTED.code
    code = rules.CANCELLED if cancelled else rules.ENDS[rule].code
    return {"code": code, "message": rule_message(rule, errors), "data": data}


def rule_message(rule: str, errors: Sequence[JsonObject] | None = None) -> str:
    """`<rule>: ` and the rule's phrase, or the first error of a schema."""
    if errors and rule in _SCHEMA_RULES:
        return schema_message(rule, errors)
    return f"{rule}: {_MEANINGS[rule]}"


def schema_message(rule: str, errors: Sequence[JsonObject]) -> str:
    """`<rule>: <path>: <keyword>` of the first of the errors."""
    return f"{rule}: {errors[0]['path']}: {errors[0]['keyword']}"


def call_result(run: JsonObject, output: Any = ABSENT) -> JsonObject:
    """What `agent.invoke` or `tool.call` answers of a run that has ended.

    run: the JSON form of its row.  output: of a completed one.
    """
    return (run_result if run["kind"] == words.INVOKE else tool_result)(run, output)


def run_result(run: JsonObject, output: Any = ABSENT) -> JsonObject:
    """The RunResult of a run that has ended; members as in `call_result`."""
    completed = run["state"] == words.COMPLETED
    result: JsonObject = {"status": run["state"]}
    if completed:
        result["output"] = output
    metrics = {name: run["metrics"][name] for name in ("tokens", "cost_usd")}
    result["metrics"] = {**metrics, "latency_ms": _latency(run)}
    result["provenance"] = run.get("provenance") or {
        "model": words.UNKNOWN_MODEL,
        "timestamp": run["finishedAt"],
    }
    if not completed:
        result["error"] = run["error"]
    elif run.get("verification") is not None:
        result["verification"] = shown_verification(run["verification"])
    return result


def tool_result(run: JsonObject, output: Any = ABSENT) -> JsonObject:
    """The ToolResult of a tool run that has ended; members as in `call_result`."""
    if run["state"] == words.COMPLETED:
        return {"id": run["toolCallId"], "output": output}
    return {"id": run["toolCallId"], "error": run["error"]}


def shown_verification(verification: JsonObject) -> JsonObject:
    """A Verification of a row as it goes out: the effective status, without the claim."""
    shown = {
        name: verification[name]
        for name in ("status", "score")
        if verification.get(name) is not None
    }
    return {**shown, "checks": verification["checks"]} if verification.get("checks") else shown


def _latency(run: JsonObject) -> Any:
    """The agent's, else the time from the call's record to the final one, in ms."""
    told = run["metrics"].get("latency_ms")
    if told is not None:
        return told
    created, finished = parse_ms(run["createdAt"]), parse_ms(run["finishedAt"])
    return max(0, (finished or 0) - (created or 0))
