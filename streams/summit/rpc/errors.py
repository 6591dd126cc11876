"""What a request is answered that has no result (Summit 3 and 6.1)."""

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
"""Of every code that an error may have: the name in JSON-RPC, or a short phrase."""


class RpcError(Exception):
    """data: more members of it; those that are None are left out."""

    def __init__(self, rule: str, detail: str | None = None, **data: Any) -> None:
        self.rule = rule
        self.code = rules.RPC.get(rule, rules.INTERNAL_ERROR)
        name = NAMES[self.code]
        self.message = name if detail is None else f"{name}: {detail}"
        self.data = {"rule": rule, **{k: v for k, v in data.items() if v is not None}}
        super().__init__(self.message)

    def body(self, id: Any) -> dict[str, Any]:
        """id: of the request, None where it could not be read."""
        return build_error(id, ErrorObject(self.code, self.message, self.data))


def broken(problem: Problem) -> RpcError:
    """For a rule that the request itself breaks."""
    return RpcError(problem.rule, problem.message, path=problem.path or None)


def rejected(fact: Mapping[str, Any], status: str | None = None) -> RpcError:
    """fact: a SummitEvent about a call that was not accepted.  status: of its run."""
    return RpcError(
        fact["rule"],
        fact["message"],
        path=fact["path"],
        errors=fact["errors"] or None,
        runId=fact["runId"],
        status=status,
        position=fact["cause"],
    )


def pending(run_id: str, status: str | None, position: str) -> RpcError:
    """status: None while no verdict is seen."""
    error = RpcError(rules.RUN_PENDING.code, runId=run_id)
    error.data |= {"status": status, "poll": "agent.status", "position": position}
    return error


def unavailable(text: str) -> RpcError:
    return RpcError(rules.SERVICE_UNAVAILABLE.code, text)
