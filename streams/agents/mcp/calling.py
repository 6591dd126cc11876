"""The steps of both agents of a bridge before they call the server."""

from __future__ import annotations

from streams.agents.mcp.journal import CallJournal
from streams.agents.mcp.pins import Pin
from streams.doors.mcp.foreign_calls import CallFailed, Failure
from streams.doors.mcp.foreign_server import ServerDescription, ServerUnreachable
from streams.doors.mcp.foreign_session import RETURN_S, ForeignSession


def check_repeatable(journal: CallJournal, key: str, pin: Pin | None) -> None:
    """Raise CallFailed for a call that has its answer, or that a crash has left in doubt.

    pin: the tool; None for what may be repeated always, as reading a resource.
    """
    if journal.is_answered(key):
        raise CallFailed(Failure.MCP_IN_DOUBT, "The call has been answered before.")
    if journal.is_begun(key) and pin is not None and not pin.may_be_repeated():
        message = "The bridge died while it made the call, which may have been done or not."
        raise CallFailed(Failure.MCP_IN_DOUBT, message)


async def described(session: ForeignSession) -> ServerDescription:
    """Return what the server is now.  Raises CallFailed when it is not there."""
    try:
        return await session.describe(RETURN_S)
    except ServerUnreachable as exc:
        raise CallFailed(Failure.MCP_UNREACHABLE, str(exc)) from exc
