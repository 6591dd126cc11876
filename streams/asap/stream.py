"""The interface between a server and the log that decides its envelopes (ASAP guide, 6.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

from schemas.asap import Envelope, Manifest


class Hosted(NamedTuple):
    """The agent that the server hosts.

    handles: returns whether there is a handler for a payload type.
    handle: returns the reply; raises RpcFault if the handler fails or returns no envelope.
    """

    manifest: Manifest
    handles: Callable[[str], bool]
    handle: Callable[[Envelope], Awaitable[Envelope]]


class Served(NamedTuple):
    """A reply.  more: members of `result` beside the envelope.  headers: of HTTP."""

    reply: Envelope
    more: Mapping[str, Any]
    headers: Mapping[str, str]


class Stream(Protocol):
    """A log of envelopes; `streams.asap.on_log.LogStream` implements it."""

    async def serve(self, envelope: Envelope, hosted: Hosted, headers: Mapping[str, str]) -> Served:
        """Append an envelope of a known type, wait for its verdict, and return the reply.

        headers: of the request, names in lower case.  Raises RpcFault: rows 12 to 14 of the table
        in ASAP guide, 6.2, and what 6.3 adds to them.
        """
