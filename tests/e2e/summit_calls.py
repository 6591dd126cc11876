"""The run that a call makes.

Source: Summit guide, 2.3, 5.2 and 5.7.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from typing import Any

from tests.e2e.outputs import Json
from tests.e2e.summit_history import hash_of
from tests.e2e.summit_model import Run
from tests.e2e.summit_registry import Generation

_CONTEXT = frozenset({"traceId", "parentRunId", "budget"})


def due_after(budget: Json, default_s: int) -> int:
    """Ms, rounded up."""
    seconds = Decimal(repr(budget.get("seconds", default_s)))
    return int((seconds * 1000).to_integral_value(ROUND_CEILING))


def queued(
    call: Json, inputs: Json, hash: str, position: str, at: int, seen: Generation, default_s: int
) -> Run:
    """The run that a call makes.  inputs: effective."""
    params, context = call["params"], call["params"].get("context", {})
    tool: Json | None = params.get("toolCall")
    others = {name: value for name, value in context.items() if name not in _CONTEXT}
    optional: dict[str, Any] = {
        "caller": call.get("caller"),
        "traceId": context.get("traceId"),
        "parentRunId": context.get("parentRunId"),
        "budget": context.get("budget"),
        "contextExtra": others or None,
        "toolName": tool and tool["name"],
        "toolCallId": tool and tool["id"],
    }
    row = {name: value for name, value in optional.items() if value is not None}
    row |= {"runId": params["runId"], "kind": "tool" if tool else "invoke"}
    row |= {"agentId": params["agentId"], "state": "queued", "reason": "call.accepted"}
    row |= {"version": 1, "createdAt": at, "updatedAt": at}
    row |= {"dueAt": at + due_after(context.get("budget", {}), default_s)}
    row |= {"metrics": {"tokens": 0, "cost_usd": 0}}
    version, manifest_hash = seen.contract
    row["evidence"] = {
        "callPosition": position,
        "callHash": hash,
        "inputHash": hash_of(inputs),
        "manifestVersion": version,
        "manifestHash": manifest_hash,
        "manifestPosition": seen.row["position"],
    }
    return Run(row, seen.row["manifest"], inputs, tool)
