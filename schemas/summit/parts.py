"""The rules of parts of envelopes by themselves, for the models (spec 2.2, 2.3, 2.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas.problems import Problem
from schemas.summit import manifests, params, reply_parts, rules
from schemas.summit.checker import ANY_ORDER, Checker, Place

_PARTS: dict[str, Callable[[Checker, Any, Place], None]] = {
    "Context": params.check_context,
    "Budget": params.check_budget,
    "ToolCall": params.check_tool_call,
    "InvokeParams": params.check_invoke,
    "ToolCallParams": params.check_tool_params,
    "CancelParams": params.check_cancel,
    "ToolDefinition": manifests.check_tool,
    "Metadata": manifests.check_metadata,
    "Spec": manifests.check_spec,
    "Interface": manifests.check_interface,
    "Metrics": reply_parts.check_metrics,
    "Provenance": reply_parts.check_provenance,
    "Verification": reply_parts.check_verification,
    "Check": reply_parts.check_check,
    "RunError": reply_parts.check_error,
}
_CLOSED = {
    "Metrics": reply_parts.CLOSED["metrics"],
    "Verification": reply_parts.CLOSED["verification"],
    "Check": ("name", "passed"),
    "RunError": reply_parts.CLOSED["error"],
}


def part_problems(name: str, value: dict[str, Any]) -> list[Problem]:
    """What breaks the rules in a part's JSON; paths begin at the part, what decides is first.

    Parts that the service makes have no rules at the edges.
    """
    check = Checker(name, ANY_ORDER)
    if name in _CLOSED:
        check.members(value, (), _CLOSED[name], (), rules.REPLY_SHAPE)
    if name in _PARTS:
        _PARTS[name](check, value, ())
    return check.problems()
