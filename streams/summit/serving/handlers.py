"""From what a handler returns or raises to the final reply (Summit 6.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schemas import summit
from streams.summit.errors import BudgetExceeded

Json = dict[str, Any]
START, FINAL = "start", "final"
NO_MODEL = "none"
ERROR_CODE = 1
MOST_TEXT = 2000


@dataclass(frozen=True)
class AgentResult:
    """What a handler returns when there is more to say than the output.

    output: an object; of a tool any JSON.  model: `none` without one.
    metrics: totals, as JSON or a model; per member the larger of these and the charges counts.
    verification: as JSON or a model; its `status` may be left out where it has `checks`.
    """

    output: Any
    model: str = NO_MODEL
    metrics: Any = None
    verification: Any = None


def result_reply(returned: Any, charged: Json, latency_ms: float, timestamp: str) -> Json:
    """The members of a result beside its ids.  charged: totals of tokens and cost_usd.

    latency_ms: as measured; a handler's own figure stands before it.
    """
    found = returned if isinstance(returned, AgentResult) else AgentResult(returned)
    given = _json(found.metrics) or {}
    totals = {name: max(charged[name], given.get(name) or 0) for name in charged}
    reply: Json = {
        "kind": "result",
        "output": found.output,
        "metrics": {"latency_ms": latency_ms, **given, **totals},
        "provenance": {"model": found.model, "timestamp": timestamp},
    }
    if found.verification is not None:
        reply["verification"] = _with_status(_json(found.verification))
    return reply


def error_reply(error: BaseException, charged: Json, latency_ms: float, timestamp: str) -> Json:
    """The members of an error reply beside its ids."""
    status = "budget_exceeded" if isinstance(error, BudgetExceeded) else "failed"
    return {
        "kind": "error",
        "status": status,
        "error": {"code": ERROR_CODE, "message": _text(error)},
        "metrics": {**charged, "latency_ms": latency_ms},
        "provenance": {"model": NO_MODEL, "timestamp": timestamp},
    }


def _json(given: Any) -> Any:
    """Of a model of `schemas.summit`; JSON as it is."""
    return given.to_json() if hasattr(given, "to_json") else given


def _with_status(verification: Json) -> Json:
    """It follows from the checks where the handler gives checks only."""
    if "status" in verification or not verification.get("checks"):
        return verification
    claimed = {"status": "passed", **verification}
    return {**claimed, "status": summit.effective_status(claimed)}


def _text(error: BaseException) -> str:
    """Class and text, as a record can carry them."""
    try:
        said = f"{type(error).__name__}: {error}"
    except Exception:  # its own text cannot be made
        said = type(error).__name__
    return said.encode(errors="replace").decode()[:MOST_TEXT]
