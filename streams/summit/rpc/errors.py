"""JSON-RPC error objects of Summit (Summit guide, 3 and 6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas import Problem
from schemas.summit import rules
from streams.api.jsonrpc import ErrorObject, build_error

NAMES: Mapping[int, str] = {
    rules.PARSE_ERROR: "Parse error",
    rules.INVALID_REQUEST: "Invalid Request",
    rules.METHOD_NOT_FOUND: "Method not found",
    rules.INVALID_PARAMS: "Invalid params",
    rules.INTERNAL_ERROR: "Internal error",
    rules.NOT_FINISHED: "Run not finished",
    rules.NO_RUN: "No such run",
    rules.CONFLICT: "Run exists with another call",
    rules.NO_AGENT: "No such agent",
    rules.ENDED: "Run has ended",
    rules.NO_TOOL: "No such tool",
    rules.DENIED: "Not allowed",
}
"""The JSON-RPC name of each error code, or a short phrase."""


class RpcError(Exception):
    """A JSON-RPC error; `data` holds more members of its data, without those that are None."""

    def __init__(self, rule: str, detail: str | None = None, **data: Any) -> None:
        self.rule = rule
        self.code = rules.RPC.get(rule, rules.INTERNAL_ERROR)
        name = NAMES[self.code]
        self.message = name if detail is None else f"{name}: {detail}"
        self.data = {"rule": rule, **{k: v for k, v in data.items() if v is not None}}
        super().__init__(self.message)

    def body(self, id: Any) -> dict[str, Any]:
        """Return the response body.  id: the request's id, None if it could not be read."""
        return build_error(id, ErrorObject(self.code, self.message, self.data))


def rule_violation(problem: Problem) -> RpcError:
    """Build the error for a rule that the request itself breaks."""
    return RpcError(problem.rule, problem.message, path=problem.path or None)


def call_rejected(fact: Mapping[str, Any], status: str | None = None) -> RpcError:
    """Build the error for a call that the service rejected.

    fact: the SummitEvent with the verdict.  status: the status of its run.
    """
    return RpcError(
        fact["rule"],
        fact["message"],
        path=fact["path"],
        errors=fact["errors"] or None,
        runId=fact["runId"],
        status=status,
        position=fact["cause"],
    )


def run_pending(run_id: str, status: str | None, position: str) -> RpcError:
    """Build the error for a wait that timed out.  status: None if no verdict was seen."""
    error = RpcError(rules.RUN_PENDING.code, runId=run_id)
    error.data |= {"status": status, "poll": "agent.status", "position": position}
    return error


def service_unavailable(text: str) -> RpcError:
    return RpcError(rules.SERVICE_UNAVAILABLE.code, text)
