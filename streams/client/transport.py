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
    """What one `send` hands over: values as parsed JSON, and their texts.

    many: a list was given.
    """

    topic: str
    values: Sequence[Any]
    texts: Sequence[bytes]
    many: bool
    traceparent: str | None


class Following(NamedTuple):
    """start: earliest, latest or a cursor.  A filter that is None lets everything pass."""

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
        """Raises BrokerUnavailable."""

    async def send(self, parcel: ProduceRequest) -> list[str]:
        """The positions of its records, which are written all or none if one is not valid.

        Raises InvalidInput, OutputTooLarge, ProduceUnknown, GatewayUnavailable.
        """

    def follow(self, what: Following) -> AsyncGenerator[Step, None]:
        """The first step has no records: it says where the stream begins.

        Raises CursorInvalid, CursorExpired, CursorAhead, QueryError, GatewayUnavailable.
        """

    async def query(self, path: str, query: str) -> Any:
        """The body of a read route; path and query are percent-encoded.

        Raises NotFound, QueryError, UsageError, ViewBehind and InfrastructureError.
        """

    def summit(self) -> SummitTransport:
        """For calls of Summit."""

    async def close(self) -> None: ...
