"""Errors of JSON-RPC as the door answers them."""

from __future__ import annotations

from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS

from streams.doors.mcp.results import FORBIDDEN, ToolRefused

_CODES = {
    "event_unknown": -32011,
    "subscription_unknown": -32011,
    "event_forbidden": FORBIDDEN,
    "webhook_limit": -32013,
    "event_mode": -32014,
    "webhook_challenge": -32015,
}
"""The codes of refusals that have one of their own."""
_KINDS = {"event_unknown": "event", "subscription_unknown": "subscription"}
"""What is not there, where one code stands for several things."""


def refusal_error(refusal: ToolRefused, **more: Any) -> MCPError:
    """Return a refusal as an error, for what is no call of a tool."""
    rule, detail = refusal.body.get("rule"), str(refusal.body.get("detail"))
    code, kind = _CODES.get(str(rule), INVALID_PARAMS), _KINDS.get(str(rule))
    members = {"path": refusal.body.get("path"), "kind": kind}
    known = {name: value for name, value in members.items() if value is not None}
    return MCPError(code, detail, {"rule": rule, "detail": detail, **known, **more})


def unknown(rule: str, detail: str, **more: Any) -> MCPError:
    """Return the error for something that is not there: a tool, a resource, a cursor."""
    return MCPError(INVALID_PARAMS, detail, {"rule": rule, "detail": detail, **more})
