"""The client class that users create."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, overload

from streams.apc import ApcQueries
from streams.client.librarian import Librarian
from streams.client.stream import TailStream
from streams.client.summit import SummitCalls
from streams.client.summit_transport import SummitTransport
from streams.client.transport import Following, ProduceRequest, Transport
from streams.client.values import Scalar, current_context, parcel_of, target_of
from streams.errors import BrokerUnavailable, GatewayUnavailable, ProduceUnknown, UsageError
from streams.settings import Settings

PATIENCE_S = 60.0
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0
_AGAIN = (ProduceUnknown, GatewayUnavailable, BrokerUnavailable)


class Client(SummitCalls):
    """Sends envelopes, follows topics, asks queries, and calls agents (`SummitCalls`).

        async with Client() as hr:
            position = await hr.send("apc.packets", packet)
            async for record in hr.tail("rtes.events", session_id="s1"):
                ...
            rows = await hr.query("/v1/lineage/protocols", after=position)

    gateway: `http://host:port`.  Without it the client talks to Kafka itself: to the broker that
    HEADRACE_BOOTSTRAP names, else the local one that runs; it then checks, masks and queries in
    this process, and keeps a view under HEADRACE_STATE_DIR as `headrace query` does.
    token: bearer token for that gateway; default: HEADRACE_TOKEN.
    settings: default: from the environment.
    patience_s: how long a tail over HTTP tries to come back when its gateway is away.

    One client serves any number of tasks of one event loop.  Both ways raise the same errors, of
    `streams.errors`.  Raises UsageError for an address that is none, SettingsError.
    """

    def __init__(
        self,
        gateway: str | None = None,
        *,
        token: str | None = None,
        settings: Settings | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._make = _maker(gateway, token, settings, patience_s)
        self._transport: Transport | None = None
        self._tails: weakref.WeakSet[TailStream] = weakref.WeakSet()

    async def __aenter__(self) -> Self:
        """Open the client.

        Raises BrokerUnavailable when no broker responds.  A gateway is first contacted by the first
        call.
        """
        if self._transport is not None:
            raise UsageError("the client is open already", advice="Use one `async with` at a time.")
        transport = self._transport = self._make()
        try:
            await transport.open()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End all tails, wait for what is being sent, release all resources.  Idempotent."""
        transport, self._transport = self._transport, None
        for tail in list(self._tails):
            await tail.aclose()
        if transport is not None:
            await transport.close()

    @overload
    async def send(
        self,
        topic: str,
        values: Mapping[str, Any],
        *,
        traceparent: str | None = None,
        attempts: int = 1,
    ) -> str: ...
    @overload
    async def send(
        self,
        topic: str,
        values: Sequence[Mapping[str, Any]],
        *,
        traceparent: str | None = None,
        attempts: int = 1,
    ) -> list[str]: ...
    async def send(
        self, topic: str, values: Any, *, traceparent: str | None = None, attempts: int = 1
    ) -> str | list[str]:
        """Put one value on a topic, or a list of at most 1,000; all of them or, if one is not
        valid, none.

        topic: one that clients write, as `sap.tasks`.  values: the protocol's own JSON form.
        traceparent: W3C trace context, which the records carry; without it that of the current
        span, if the program uses OpenTelemetry.
        attempts: how often to send when the outcome is unknown or nobody answers.  Sending again
        is safe with ids in the values: what was written already is answered as a duplicate.

        Returns the position of the record, `topic/partition/offset`, for a list a list of them in
        its order; `query` takes one as `after`.
        Raises InvalidInput (`problems`, and for a list `indexes`), OutputTooLarge,
        ProduceUnknown (send again with the same ids), GatewayUnavailable (nothing was sent).
        Sends of several tasks share their way; those of one task arrive in their order.
        """
        transport, many = self._opened(), isinstance(values, list | tuple)
        context = current_context() if traceparent is None else traceparent
        parcel = parcel_of(topic, values if many else [values], many, context)
        if not parcel.values:
            return []
        positions = await _persist(transport, parcel, attempts)
        return positions if many else positions[0]

    def tail(
        self,
        topic: str,
        *,
        session_id: str | None = None,
        type: str | None = None,
        task_id: str | None = None,
        start: str = "latest",
    ) -> TailStream:
        """Follow a topic, only what is committed: an async iterator of `TailRecord`.

        topic: over HTTP `rtes.events` alone, on Kafka any.  session_id, type (of payload or
        packet), task_id: only such records.  start: `latest`, `earliest` or the cursor of a
        record; a cursor fits the filters that it was made with, over Kafka and HTTP alike.

        Over HTTP it comes back by itself when the connection is lost, and goes on with the next
        record.  The iterator raises CursorInvalid, CursorExpired (the next record is deleted),
        CursorAhead (the topic was created anew), GatewayUnavailable.
        """
        following = Following(topic, session_id, type, task_id, start)
        stream = TailStream(self._opened().follow(following))
        self._tails.add(stream)
        return stream

    async def query(self, path: str, *, after: str | None = None, **params: Scalar) -> Any:
        """Return the response of any read route, as parsed JSON.

        A gateway lists the routes at /openapi.json.

        path: ids in it are percent-encoded; it may have a query.  params: more query parameters;
        None is left out.  after: a position; the response has seen what was decided about that
        record. Without it, the client on Kafka has seen everything that was committed before; a
        gateway responds from what its view has seen so far.

        Raises NotFound, InvalidInput (QueryError) for a parameter, UsageError for an invalid path,
        ViewBehind when `after` was not seen within HEADRACE_GATEWAY_WAIT_S, BrokerUnavailable,
        ViewNotReady, GatewayUnavailable.
        """
        return await self._opened().query(*target_of(path, after, params))

    async def pages(
        self, path: str, *, after: str | None = None, **params: Scalar
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield every page of a list, `{"items", "next"}`.

        params: `limit` is the size of a page.

        Raises what `query` raises, and UsageError for a response that is no list.
        """
        while True:
            page = await self.query(path, after=after, **params)
            if not isinstance(page, dict) or not isinstance(page.get("items"), list):
                raise UsageError(f"{path} does not answer in pages", advice="Use query().")
            yield page
            if page.get("next") is None:
                return
            params["cursor"] = page["next"]
            after = None

    @property
    def apc(self) -> ApcQueries:
        """Return the queries of APC by the names of its text, with typed results."""
        return ApcQueries(self.query)

    @property
    def librarian(self) -> Librarian:
        """Return what searches SAP's playbooks and punch-cards."""
        return Librarian(self)

    def _desk(self) -> SummitTransport:
        return self._opened().summit()

    def _opened(self) -> Transport:
        if self._transport is None:
            raise UsageError(
                "the client is not open", advice="Use it inside `async with Client() as hr:`."
            )
        return self._transport


def _maker(
    gateway: str | None, token: str | None, settings: Settings | None, patience_s: float
) -> Any:
    """Return a factory of the transport; import only what that transport needs."""
    if gateway is not None:
        from streams.client.http import HttpTransport, checked_url

        url, bearer_token = checked_url(gateway), token
        if bearer_token is None:
            bearer_token = (Settings.load() if settings is None else settings).token
        return lambda: HttpTransport(url, patience_s, bearer_token)
    from streams.client.kafka import KafkaTransport

    loaded = Settings.load() if settings is None else settings
    return lambda: KafkaTransport(loaded)


async def _persist(transport: Transport, parcel: ProduceRequest, attempts: int) -> list[str]:
    """Send a parcel, with retries, and return its positions.

    Once an outcome was unknown, a later GatewayUnavailable or BrokerUnavailable does not settle it:
    the unknown outcome is raised.
    """
    pause, doubt = _FIRST_PAUSE_S, None
    while True:
        attempts -= 1
        try:
            return await transport.send(parcel)
        except _AGAIN as exc:
            doubt = exc if isinstance(exc, ProduceUnknown) else doubt
            if attempts <= 0:
                raise doubt or exc from exc
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_S)
