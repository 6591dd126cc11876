"""The async client of an ASAP server (asap spec 6.4)."""

from __future__ import annotations

import asyncio
import copy
import itertools
import random
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from schemas.asap import (
    INTERNAL_ERROR,
    Envelope,
    MalformedEnvelopeError,
    Manifest,
    TaskRequest,
    TaskResponse,
    TaskUpdate,
    make_envelope,
)
from streams.asap.blocking import blocking
from streams.asap.errors import ASAPConnectionError, ASAPRemoteError
from streams.asap.exchange import (
    Backoff,
    Result,
    Sending,
    bearer,
    check_status,
    checked_url,
    in_old_spelling,
    judged,
    result_of,
)
from streams.asap.jsonrpc import MANIFEST_PATH, PATH

_KEPT_CONNECTIONS = 100
_MARGIN_S = 5.0
"""How much longer than a wait its answer may take."""


class ASAPClient:
    """Sends envelopes to one server.

        async with ASAPClient("http://127.0.0.1:8640", sender="urn:asap:agent:planner") as client:
            answer = await client.send_task(request, recipient="urn:asap:agent:indexer", wait=30)

    base_url: where `/asap` is found.  timeout: of one attempt, in seconds.  max_retries: attempts
    in all, for answers of 500 and above and where no connection came about.
    transport: of httpx, e.g. `httpx.ASGITransport(app)`.  token: sent as bearer.
    retry_base_delay, retry_max_delay: seconds; rng: of their jitter.
    Raises ValueError for an address that is none.  Deployed 0.1 peers know six states: they cannot
    read a TaskUpdate or TaskResponse with `paused` or `rejected`.
    """

    def __init__(
        self,
        base_url: str,
        timeout: float = 60.0,
        max_retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
        *,
        token: str | None = None,
        sender: str = "urn:asap:agent:client",
        retry_base_delay: float = 0.1,
        retry_max_delay: float = 5.0,
        rng: random.Random | None = None,
    ) -> None:
        self.base_url = checked_url(base_url)
        self.timeout = timeout
        self.sender = sender
        self._token = token
        self._transport = transport
        chance = random.Random() if rng is None else rng
        self._backoff = Backoff(max_retries, retry_base_delay, retry_max_delay, chance)
        self._numbers = itertools.count(1)
        self._http: httpx.AsyncClient | None = None
        self._recipient: str | None = None
        self._asking = asyncio.Lock()

    @property
    def is_connected(self) -> bool:
        """Whether it is open; the server is met with the first send."""
        return self._http is not None

    async def __aenter__(self) -> Self:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=_KEPT_CONNECTIONS)
        # Only headrace's settings read the environment, so no proxy is taken from there.
        if self._http is not None:
            raise RuntimeError("the client is open already")
        self._asking = asyncio.Lock()
        self._http = httpx.AsyncClient(
            transport=self._transport, timeout=self.timeout, limits=limits, trust_env=False
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def send(self, envelope: Envelope) -> Envelope:
        """The reply.

        Raises ASAPConnectionError, ASAPTimeoutError, ASAPRemoteError.  The envelope's id makes it
        safe to send again after a timeout.
        """
        return (await self._exchange(envelope)).envelope

    async def send_task(
        self,
        request: TaskRequest | Envelope,
        *,
        recipient: str | None = None,
        sender: str | None = None,
        trace_id: str | None = None,
        wait: int | None = None,
        extensions: Mapping[str, Any] | None = None,
    ) -> TaskResponse | TaskUpdate:
        """What the server says to a request: the response, or how the task stands.

        request: a ready envelope goes as it is.  recipient: default, whose server it is.
        wait: for the response, in seconds.
        Raises what `send` raises; ASAPRemoteError "Correlation mismatch" for an answer to another
        envelope that is not said to be this one's duplicate.
        """
        envelope = request
        if isinstance(envelope, TaskRequest):
            envelope = make_envelope(
                envelope,
                sender=sender or self.sender,
                recipient=recipient or await self._server_agent(),
                trace_id=trace_id,
                extensions=None if extensions is None else dict(extensions),
            )
        return _told(envelope, await self._exchange(envelope, wait))

    async def _server_agent(self) -> str:
        """The URN in the server's manifest."""
        async with self._asking:
            if self._recipient is None:
                self._recipient = await self._published()
            return self._recipient

    async def _published(self) -> str:
        response = await self._attempts("GET", MANIFEST_PATH, self.timeout, bearer(self._token))
        try:
            return Manifest.model_validate_json(response.content).id
        except ValueError as exc:
            raise ASAPConnectionError(f"{self.base_url} has no manifest: {exc}", exc) from exc

    async def _exchange(self, envelope: Envelope, wait: int | None = None) -> Result:
        timeout = self.timeout if wait is None else max(self.timeout, wait + _MARGIN_S)
        sending = self._sending(envelope, None, wait)
        try:
            return await self._post(sending, timeout)
        except ASAPRemoteError as exc:
            again = in_old_spelling(envelope, exc)
            if again is None:
                raise
        return await self._post(self._sending(again, sending.key, wait), timeout)

    def _sending(self, envelope: Envelope, key: str | None, wait: int | None) -> Sending:
        return Sending.of(envelope, f"req-{next(self._numbers)}", key, self._token, wait)

    async def _post(self, sending: Sending, timeout: float) -> Result:
        response = await self._attempts("POST", PATH, timeout, sending.headers, sending.body)
        try:
            return result_of(response)
        except ValueError as exc:
            raise ASAPConnectionError(f"the answer cannot be read: {exc}", exc) from exc

    async def _attempts(
        self,
        method: str,
        path: str,
        timeout: float,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> httpx.Response:
        """The first answer below 500, or what the last attempt came to."""
        http, url = self._http, self.base_url + path
        if http is None:
            raise ASAPConnectionError("the client is not connected: use `async with`")
        for attempt in itertools.count(1):
            try:
                outcome: httpx.Response | Exception = await http.request(
                    method, url, content=body, headers=headers, timeout=timeout
                )
            except Exception as exc:
                outcome = exc
            found = judged(outcome, attempt, self._backoff, url, timeout)
            if isinstance(found, httpx.Response):
                check_status(found)
                return found
            await asyncio.sleep(found)
        raise AssertionError


def _told(envelope: Envelope, result: Result) -> TaskResponse | TaskUpdate:
    """The payload of the answer, once it is sure that it is one to this envelope."""
    answer = result.envelope
    if answer.correlation_id != envelope.id and result.more.get("verdict") != "duplicate":
        raise ASAPRemoteError(
            INTERNAL_ERROR,
            "Correlation mismatch",
            {"expected": envelope.id, "correlation_id": answer.correlation_id},
        )
    try:
        payload = answer.typed_payload()
    except MalformedEnvelopeError as exc:
        raise ASAPConnectionError(f"the answer cannot be read: {exc}", exc) from exc
    if not isinstance(payload, TaskResponse | TaskUpdate):
        message = f"Unexpected payload type: {answer.payload_type}"
        raise ASAPRemoteError(INTERNAL_ERROR, message)
    return payload


async def send_task(
    client: ASAPClient, request: TaskRequest | Envelope, **options: Any
) -> TaskResponse | TaskUpdate:
    """As `client.send_task`."""
    return await client.send_task(request, **options)


def send_task_sync(
    client: ASAPClient, request: TaskRequest | Envelope, **options: Any
) -> TaskResponse | TaskUpdate:
    """As `client.send_task`, from any thread, also from several at once: on connections of its own.

    Raises RuntimeError when the client is open: then it belongs to an event loop.
    """
    if client.is_connected:
        raise RuntimeError("the client is open: await client.send_task instead")

    async def once() -> TaskResponse | TaskUpdate:
        async with copy.copy(client) as own:
            try:
                return await own.send_task(request, **options)
            finally:
                client._recipient = own._recipient  # whose server it is is asked once

    return blocking(once())
