"""The one seam of the client: what Kafka and the gateway each do in their own way.

Everything else, what a value is, streams, pages, is the same over both, and so are the errors.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, NamedTuple, Protocol

from streams.client.summit_transport import SummitTransport


class TailRecord(NamedTuple):
    """One record of a followed topic.

    value: the protocol's JSON, None for a tombstone.  topic: its name without prefix.
    partition, offset, timestamp (ms since the epoch): None where the gateway does not tell them.
    cursor: follow from here, over Kafka or HTTP, and the next record comes next.
    traceparent: W3C trace context, for `send` of what answers it; None over HTTP.
    """

    value: Any
    topic: str
    partition: int | None
    offset: int | None
    timestamp: int | None
    cursor: str
    traceparent: str | None = None


class ProduceRequest(NamedTuple):
    """The values of one `send`, as parsed JSON and as texts.

    many: the caller passed a list.
    """

    topic: str
    values: Sequence[Any]
    texts: Sequence[bytes]
    many: bool
    traceparent: str | None


class Following(NamedTuple):
    """The start and the filters of a stream.

    start: earliest, latest or a cursor.  A filter that is None accepts everything.
    """

    topic: str
    session_id: str | None
    type: str | None
    task_id: str | None
    start: str


class Step(NamedTuple):
    """Records that came together, and the cursor behind them."""

    cursor: str
    records: Sequence[TailRecord] = ()


class Transport(Protocol):
    async def open(self) -> None:
        """Open the transport.  Raises BrokerUnavailable."""

    async def send(self, parcel: ProduceRequest) -> list[str]:
        """Write the records of a parcel, all or none, and return their positions.

        Raises InvalidInput, OutputTooLarge, ProduceUnknown, GatewayUnavailable.
        """

    def follow(self, what: Following) -> AsyncGenerator[Step, None]:
        """Yield the steps of a stream; the first has only the cursor where the stream begins.

        Raises CursorInvalid, CursorExpired, CursorAhead, QueryError, GatewayUnavailable.
        """

    async def query(self, path: str, query: str) -> Any:
        """Return the body of a read route; path and query are percent-encoded.

        Raises NotFound, QueryError, UsageError, ViewBehind and InfrastructureError.
        """

    def summit(self) -> SummitTransport:
        """Return the transport for calls of Summit."""

    async def close(self) -> None: ...
