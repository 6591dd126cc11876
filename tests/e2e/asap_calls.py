"""MCP calls as the spec tells them, written anew.

Source: ASAP guide, 4.2 and 5.5.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.e2e.asap_states import ms_of
from tests.e2e.outputs import Json

OPENING = ("McpToolCall", "McpResourceFetch")
ANSWERING = {"McpToolResult": "McpToolCall", "McpResourceData": "McpResourceFetch"}


@dataclass
class Call:
    """envelope: the one that opened it."""

    key: str
    envelope: Json
    opened_at: str
    timeout_ms: int
    is_open: bool = True

    @property
    def due_ms(self) -> int:
        return ms_of(self.opened_at) + self.timeout_ms

    @property
    def session(self) -> str:
        return str(self.envelope["trace_id"] or self.key)

    @property
    def is_tool(self) -> bool:
        return bool(self.envelope["payload_type"] == "McpToolCall")

    def opened(self) -> list[tuple[str, Json]]:
        """What RTES is told, by session."""
        if not self.is_tool:
            return []
        payload = self.envelope["payload"]
        invocation = {
            "type": "TOOL_LIFECYCLE_INVOKED",
            "call_id": self.key,
            "tool": payload["tool_name"],
            "arguments": payload["arguments"],
            "timestamp": self.opened_at,
        }
        return [(self.session, invocation)]

    def closed(self, status: str, at: str) -> list[tuple[str, Json]]:
        self.is_open = False
        if not self.is_tool:
            return []
        payload = {
            "type": "TOOL_LIFECYCLE_COMPLETED",
            "call_id": self.key,
            "tool": self.envelope["payload"]["tool_name"],
            "status": status,
            "duration_ms": ms_of(at) - ms_of(self.opened_at),
            "timestamp": at,
        }
        return [(self.session, payload)]


def answers(call: Call, envelope: Json) -> bool:
    """Whether its kind is that of an answer to the call."""
    return bool(ANSWERING.get(envelope["payload_type"]) == call.envelope["payload_type"])


def judge(call: Call | None, envelope: Json) -> str:
    """The rule of an MCP envelope that is neither broken nor known."""
    kind = envelope["payload_type"]
    if kind in OPENING:
        return "call_opened" if call is None else "call_conflict"
    if call is None or not answers(call, envelope):
        return "call_not_found"
    request = call.envelope
    if envelope["sender"] != request["recipient"]:
        return "not_participant"
    if envelope["recipient"] != request["sender"]:
        return "wrong_recipient"
    if envelope["correlation_id"] != request["id"]:
        return "correlation_mismatch"
    if envelope["payload"].get("resource_uri") != request["payload"].get("resource_uri"):
        return "resource_mismatch"
    return "call_answered" if call.is_open else "call_closed"
