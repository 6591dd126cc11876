"""Conversion of what a handler returns or raises to the Result that its agent reports.

Source: SAP guide, 6.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas import sap
from schemas.sap import SapResult, rules
from streams.sdk.local_bus.agents import Agent
from streams.sdk.local_bus.envelopes import is_json, plain

Json = dict[str, Any]
_MESSAGE = 4000


def of_value(value: Any, agent: Agent, task: Mapping[str, Any], now: int) -> Json:
    """Return a Result as it is; any other JSON value becomes the output of a successful Result."""
    if isinstance(value, SapResult):
        result: Json = plain(value)
        return result
    output = plain(value)
    if not is_json(output):
        return failed(
            f"the handler returned {type(value).__name__}, which is no JSON", agent, task, now
        )
    succeeded = _result("SUCCEEDED", agent, task, now)
    return succeeded if output is None else succeeded | {"output": output}


def of_error(exc: Exception, agent: Agent, task: Mapping[str, Any], now: int) -> Json:
    """Return the failed Result of a handler that raised."""
    return failed(f"{type(exc).__name__}: {exc}", agent, task, now)


def failed(message: str, agent: Agent, task: Mapping[str, Any], now: int) -> Json:
    text = message.encode("utf-8", "replace").decode()[:_MESSAGE]
    details = {"rule": rules.HANDLER_ERROR.code}
    error = {"code": "INTERNAL", "message": text, "details": details}
    return _result("FAILED", agent, task, now) | {"error": error}


def _result(status: str, agent: Agent, task: Mapping[str, Any], now: int) -> Json:
    return {
        "protocolVersion": "2.0",
        "taskId": task["taskId"],
        "correlationId": task["correlationId"],
        "reportedAt": sap.protocol_time(now),
        "producer": {"agentId": agent.id, "agentKind": "agent"},
        "status": status,
        "constitutionalEvidence": {"alignment": "VALID"},
    }
