"""What a server hands an envelope to when a log decides it (asap spec 6.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

from schemas.asap import Envelope, Manifest


class Hosted(NamedTuple):
    """The agent that the server speaks for.

    handles: whether there is a handler for a payload type.
    handle: its reply; raises faults.Fault, for one that has failed or gave no envelope.
    """

    manifest: Manifest
    handles: Callable[[str], bool]
    handle: Callable[[Envelope], Awaitable[Envelope]]


class Served(NamedTuple):
    """reply: the answer's envelope.  more: members of `result` beside it.  headers: of HTTP."""

    reply: Envelope
    more: Mapping[str, Any]
    headers: Mapping[str, str]


class Stream(Protocol):
    """`streams.protocols.asap.rpc.LogStream` is one."""

    async def serve(self, envelope: Envelope, hosted: Hosted, headers: Mapping[str, str]) -> Served:
        """Append an envelope of a known type, wait for its verdict, and say what came of it.

        headers: of the request, names in lower case.  Raises faults.Fault: rows 12 to 14 of the
        table in asap spec 6.2, and what 6.3 adds to them.
        """
