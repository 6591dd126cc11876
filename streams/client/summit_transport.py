"""The second seam of the client: what calls of Summit take, over Kafka and over a gateway."""

from __future__ import annotations

from typing import Any, Protocol

from schemas.summit import rules
from streams.errors import InvalidInput
from streams.summit.errors import CallRejected

Json = dict[str, Any]
WAIT_S = 30.0


class SummitTransport(Protocol):
    """A way to send Summit calls and to read their results.

    wait_s: the default limit of a wait.
    """

    @property
    def wait_s(self) -> float: ...

    async def send_command(self, topic: str, key: str, value: Json | None, wait_s: float) -> Json:
        """Put one record on a command topic; the SummitEvent of its verdict.

        value: None is a null record.  Raises VerdictPending, and what `Client.send` raises.
        """

    async def ended(self, call: Json, wait_s: float, traceparent: str | None) -> Json:
        """Make a run; its RunResult or ToolResult.  traceparent: W3C trace context of its record.

        Raises CallRejected, RunPending, and what `Client.send` raises.
        """

    async def status(self, params: Json) -> Json:
        """Return the result of `agent.status`.  Raises CallRejected."""


def refusal(error: InvalidInput) -> CallRejected:
    """Make the error for a command that ingress refuses."""
    rule, path, message = error.problems[0]
    return CallRejected(rule, message, {"path": path}, rules.RPC.get(rule))


def rejection(event: Json) -> CallRejected:
    """Make the error for a SummitEvent that rejects a command."""
    rule = event["rule"]
    members = {name: event[name] for name in ("errors", "path", "runId") if event.get(name)}
    data = {**members, "position": event["cause"]}
    return CallRejected(rule, event["message"], data, rules.RPC.get(rule))
