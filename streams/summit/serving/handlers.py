"""Final replies, built from what a handler returns or raises (Summit guide, 6.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schemas import summit
from streams.summit.errors import AgentError, BudgetExceeded

Json = dict[str, Any]
START, FINAL = "start", "final"
NO_MODEL = "none"
ERROR_CODE = 1
MAX_ERROR_CHARS = 2000


@dataclass(frozen=True)
class AgentResult:
    """A handler's result with more than the output.

    output: an object; for a tool any JSON.  model: `none` without one.
    metrics: totals, as JSON or a model; per member the larger of these and the charges counts.
    verification: as JSON or a model; its `status` may be left out if it has `checks`.
    provenance: more members of the reply's provenance, beside `model` and `timestamp`.
    """

    output: Any
    model: str = NO_MODEL
    metrics: Any = None
    verification: Any = None
    provenance: Mapping[str, Any] | None = None


def result_reply(returned: Any, charged: Json, latency_ms: float, timestamp: str) -> Json:
    """Return the members of a result reply except its ids.  charged: totals of tokens and cost_usd.

    latency_ms: the measured latency; the handler's own metric replaces it.
    """
    result = returned if isinstance(returned, AgentResult) else AgentResult(returned)
    metrics = _json(result.metrics) or {}
    totals = {name: max(charged[name], metrics.get(name) or 0) for name in charged}
    reply: Json = {
        "kind": "result",
        "output": result.output,
        "metrics": {"latency_ms": latency_ms, **metrics, **totals},
        "provenance": {**(result.provenance or {}), "model": result.model, "timestamp": timestamp},
    }
    if result.verification is not None:
        reply["verification"] = _fill_status(_json(result.verification))
    return reply


def error_reply(error: BaseException, charged: Json, latency_ms: float, timestamp: str) -> Json:
    """Return the members of an error reply except its ids."""
    status = "budget_exceeded" if isinstance(error, BudgetExceeded) else "failed"
    provenance = error.provenance if isinstance(error, AgentError) else {}
    return {
        "kind": "error",
        "status": status,
        "error": _error_members(error),
        "metrics": {**charged, "latency_ms": latency_ms},
        "provenance": {**provenance, "model": NO_MODEL, "timestamp": timestamp},
    }


def _error_members(error: BaseException) -> Json:
    """Return code, message and data; only an AgentError has a code and data of its own."""
    if not isinstance(error, AgentError):
        return {"code": ERROR_CODE, "message": _text(error)}
    data = {} if error.data is None else {"data": error.data}
    return {"code": error.code, "message": _shortened(str(error)) or _text(error), **data}


def _json(value: Any) -> Any:
    """Return a model of `schemas.summit` as JSON, and any other value unchanged."""
    return value.to_json() if hasattr(value, "to_json") else value


def _fill_status(verification: Json) -> Json:
    """Fill in the status that follows from the checks, if there is none."""
    if "status" in verification or not verification.get("checks"):
        return verification
    provisional = {"status": "passed", **verification}
    return {**provisional, "status": summit.effective_status(provisional)}


def _text(error: BaseException) -> str:
    """Return the error's class and message, in UTF-8 and shortened, for the reply."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # `str` of the error fails
        text = type(error).__name__
    return _shortened(text)


def _shortened(text: str) -> str:
    return text.encode(errors="replace").decode()[:MAX_ERROR_CHARS]
