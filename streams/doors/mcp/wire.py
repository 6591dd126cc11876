"""Errors of JSON-RPC as the door answers them."""

from __future__ import annotations

from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS


def unknown(rule: str, detail: str, **more: Any) -> MCPError:
    """Return the error for something that is not there: a tool, a resource, a cursor."""
    return MCPError(INVALID_PARAMS, detail, {"rule": rule, "detail": detail, **more})
