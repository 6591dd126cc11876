"""Whether a call, a reply and its parts keep to their bounds, written anew from the guide.

Only what Avro can carry.  Each function gives the first rule that is broken.

Source: Summit guide, 1, 2.3 to 2.5 and 3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import rfc8785

from tests.e2e.outputs import Json
from tests.e2e.summit_history import Unread

AGENT_ID = re.compile(r"[a-z0-9-]{1,100}")
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
TOOL_CALL_ID = re.compile(r"[!-~]{1,128}")
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
LARGEST = 2**53 - 1
MAX_INPUTS, MAX_OUTPUT, MAX_EXTRA = 262_144, 393_216, 16_384
OWN = {
    "agent.invoke": {"agentId", "runId", "inputs", "context"},
    "tool.call": {"agentId", "runId", "toolCall", "context"},
    "agent.cancel": {"agentId", "runId", "reason"},
}
REQUIRED = {
    "agent.invoke": {"agentId", "runId", "inputs"},
    "tool.call": {"agentId", "runId", "toolCall"},
    "agent.cancel": {"runId"},
}
MEMBERS = {
    "progress": {"metrics", "provenance", "message"},
    "result": {"status", "output", "metrics", "provenance", "verification"},
    "error": {"status", "error", "metrics", "provenance"},
    "verification": {"metrics", "provenance", "verification"},
}
STATUSES = {"result": ("completed",), "error": ("failed", "budget_exceeded")}
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?Z")


def size(value: Any) -> int:
    return len(rfc8785.dumps(value))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def within(value: Any, minimum: float, maximum: float) -> bool:
    return is_number(value) and minimum <= value <= maximum


def _has_unread(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_unread(each) for each in value.values())
    return isinstance(value, Unread)


def call_rule(call: Json) -> str | None:
    return next(_broken(call), None)


def _broken(call: Json) -> Iterator[str]:
    method, params, id = call["method"], call["params"], call.get("id")
    if _has_unread(params):
        yield "json.invalid"
    if call["jsonrpc"] != "2.0":
        yield "rpc.version"
    if (isinstance(id, str) and len(id) > 256) or (isinstance(id, int) and abs(id) > LARGEST):
        yield "rpc.id"
    if id is None and method != "agent.cancel":
        yield "rpc.id_required"
    if method not in OWN:
        yield "rpc.method"
        return
    if not REQUIRED[method] <= params.keys() <= OWN[method] or "delivery" in call:
        yield "params.shape"
        return
    yield from _params(params)
    yield from _context(params.get("context", {}), params["runId"])
    if not 1 <= len(call.get("caller", "x")) <= 200:
        yield "caller.value"


def _params(params: Json) -> Iterator[str]:
    tool: Json = params.get("toolCall", {})
    inputs = params.get("inputs", tool.get("arguments", {}))
    if not isinstance(inputs, dict):
        yield "params.shape"
    if "agentId" in params and not AGENT_ID.fullmatch(params["agentId"]):
        yield "params.agent_id"
    if not ID.fullmatch(params["runId"]):
        yield "params.run_id"
    if tool and not (TOOL_CALL_ID.fullmatch(tool["id"]) and TOOL_NAME.fullmatch(tool["name"])):
        yield "params.tool_call"
    if not 1 <= len(params.get("reason", "x")) <= 1000:
        yield "params.reason"
    if size(inputs) > MAX_INPUTS:
        yield "params.size"


def _context(context: Json, run_id: str) -> Iterator[str]:
    budget: Json = context.get("budget", {})
    others = {
        name: value
        for name, value in context.items()
        if name not in ("traceId", "parentRunId", "budget")
    }
    if "traceId" in context and not ID.fullmatch(context["traceId"]):
        yield "context.trace_id"
    parent = context.get("parentRunId")
    if parent is not None and (parent == run_id or not ID.fullmatch(parent)):
        yield "context.parent"
    if others and size(others) > MAX_EXTRA:
        yield "context.size"
    usd, tokens, seconds = (budget.get(name, 1) for name in ("usd", "tokens", "seconds"))
    if not (within(usd, 0, 1_000_000) and within(tokens, 0, LARGEST)):
        yield "budget.value"
    if not within(seconds, 0, 604_800) or not seconds > 0:
        yield "budget.value"


def reply_rule(reply: Json) -> str | None:
    """Step 1 of 5.4, but for the key."""
    kind, members = reply["kind"], reply.keys() - {"replyId", "runId", "agentId", "kind"}
    ids = ID.fullmatch(reply["replyId"]) and ID.fullmatch(reply["runId"])
    if not ids or not AGENT_ID.fullmatch(reply["agentId"]):
        return "reply.shape"
    if not members <= MEMBERS[kind] or (kind == "verification" and "verification" not in members):
        return "reply.shape"
    return None


def content_rules(reply: Json) -> Iterator[str]:
    """What is wrong with status, metrics and provenance, in the order of 5.4."""
    kind, status = reply["kind"], reply.get("status")
    if status is not None and status not in STATUSES.get(kind, ()):
        yield "status.value"
    if "metrics" not in reply and kind != "verification":
        yield "metrics.missing"
    elif metrics_of(reply) is None and "metrics" in reply:
        yield "metrics.value"
    if "provenance" not in reply and kind != "progress":
        yield "provenance.missing"
    elif provenance_of(reply) is None and "provenance" in reply:
        yield "provenance.value"


def metrics_of(reply: Json) -> Json | None:
    """If they are sound."""
    metrics: Json | None = reply.get("metrics")
    if metrics is None or not within(metrics["tokens"], 0, LARGEST):
        return None
    latency, cost = metrics.get("latency_ms", 0), metrics["cost_usd"]
    return metrics if within(cost, 0, 1_000_000) and within(latency, 0, 1e12) else None


def provenance_of(reply: Json) -> Json | None:
    provenance: Json | None = reply.get("provenance")
    if provenance is None or not 1 <= len(provenance["model"]) <= 200:
        return None
    stamp = _STAMP.fullmatch(provenance["timestamp"])
    try:
        datetime.fromisoformat(stamp[1] if stamp else "")
    except ValueError:
        return None
    return provenance


def verification_of(reply: Json) -> Json | None:
    verification: Json | None = reply.get("verification")
    if verification is None or not within(verification.get("score", 0), 0, 1):
        return None
    names = [check["name"] for check in verification["checks"]]
    sound = len(names) <= 64 and len({*names}) == len(names)
    return verification if sound and all(1 <= len(name) <= 100 for name in names) else None


def error_of(reply: Json) -> Json | None:
    error: Json | None = reply.get("error")
    if error is None or -32768 <= error["code"] <= -32000:
        return None
    sound = 1 <= len(error["message"]) <= 2000 and not isinstance(error.get("data"), Unread)
    return error if sound else None
