"""Errors of JSON-RPC as the door answers them."""

from __future__ import annotations

from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS

from streams.doors.mcp.results import ToolRefused

FORBIDDEN = -32012
_CODES = {"event_unknown": -32011, "event_forbidden": FORBIDDEN}
"""The codes of refusals that have one of their own."""


def refusal_error(refusal: ToolRefused, **more: Any) -> MCPError:
    """Return a refusal as an error, for what is no call of a tool."""
    rule, detail = refusal.body.get("rule"), str(refusal.body.get("detail"))
    code = _CODES.get(str(rule), INVALID_PARAMS)
    return MCPError(code, detail, {"rule": rule, "detail": detail, **more})


def unknown(rule: str, detail: str, **more: Any) -> MCPError:
    """Return the error for something that is not there: a tool, a resource, a cursor."""
    return MCPError(INVALID_PARAMS, detail, {"rule": rule, "detail": detail, **more})
