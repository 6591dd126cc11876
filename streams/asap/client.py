"""The async client of an ASAP server (ASAP guide, 6.4)."""

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
from streams.asap.blocking import run_blocking
from streams.asap.errors import ASAPConnectionError, ASAPRemoteError
from streams.asap.exchange import (
    Backoff,
    PreparedRequest,
    Result,
    bearer,
    check_status,
    normalize_url,
    read_result,
    respell_for_old_peer,
    response_or_pause,
)
from streams.asap.jsonrpc import MANIFEST_PATH, PATH

_MAX_IDLE_CONNECTIONS = 100
_MARGIN_S = 5.0
"""The time limit of a waiting request exceeds its wait by this."""


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
        self.base_url = normalize_url(base_url)
        self.timeout = timeout
        self.sender = sender
        self._token = token
        self._transport = transport
        chance = random.Random() if rng is None else rng
        self._backoff = Backoff(max_retries, retry_base_delay, retry_max_delay, chance)
        self._numbers = itertools.count(1)
        self._http: httpx.AsyncClient | None = None
        self._recipient: str | None = None
        self._manifest_lock = asyncio.Lock()

    @property
    def is_connected(self) -> bool:
        """Return whether the client is open; the first send opens the connection."""
        return self._http is not None

    async def __aenter__(self) -> Self:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=_MAX_IDLE_CONNECTIONS)
        # Only headrace's settings read the environment, so no proxy is taken from there.
        if self._http is not None:
            raise RuntimeError("the client is open already")
        self._manifest_lock = asyncio.Lock()
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
        """Send an envelope and return the reply.

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
        """Send a request and return the response, or an update with the task's status.

        request: a ready envelope is sent unchanged.  recipient: the server's own agent by default.
        wait: for the response, in seconds.
        Raises what `send` raises; ASAPRemoteError "Correlation mismatch" for a reply to another
        envelope, unless the verdict is `duplicate`.
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
        return _reply_payload(envelope, await self._exchange(envelope, wait))

    async def _server_agent(self) -> str:
        """Return the URN in the server's manifest, which is fetched once."""
        async with self._manifest_lock:
            if self._recipient is None:
                self._recipient = await self._fetch_recipient()
            return self._recipient

    async def _fetch_recipient(self) -> str:
        response = await self._attempts("GET", MANIFEST_PATH, self.timeout, bearer(self._token))
        try:
            return Manifest.model_validate_json(response.content).id
        except ValueError as exc:
            raise ASAPConnectionError(f"{self.base_url} has no manifest: {exc}", exc) from exc

    async def _exchange(self, envelope: Envelope, wait: int | None = None) -> Result:
        timeout = self.timeout if wait is None else max(self.timeout, wait + _MARGIN_S)
        sending = self._prepare(envelope, None, wait)
        try:
            return await self._post(sending, timeout)
        except ASAPRemoteError as exc:
            again = respell_for_old_peer(envelope, exc)
            if again is None:
                raise
        return await self._post(self._prepare(again, sending.key, wait), timeout)

    def _prepare(self, envelope: Envelope, key: str | None, wait: int | None) -> PreparedRequest:
        return PreparedRequest.of(envelope, f"req-{next(self._numbers)}", key, self._token, wait)

    async def _post(self, sending: PreparedRequest, timeout: float) -> Result:
        response = await self._attempts("POST", PATH, timeout, sending.headers, sending.body)
        try:
            return read_result(response)
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
        """Return the first response with a status below 500, or raise the last attempt's error."""
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
            response = response_or_pause(outcome, attempt, self._backoff, url, timeout)
            if isinstance(response, httpx.Response):
                check_status(response)
                return response
            await asyncio.sleep(response)
        raise AssertionError


def _reply_payload(envelope: Envelope, result: Result) -> TaskResponse | TaskUpdate:
    """Return the payload of the reply, after checking that it answers this envelope."""
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
    """Call `client.send_task`."""
    return await client.send_task(request, **options)


def send_task_sync(
    client: ASAPClient, request: TaskRequest | Envelope, **options: Any
) -> TaskResponse | TaskUpdate:
    """Call `client.send_task` from any thread, on new connections; concurrent calls are safe.

    Raises RuntimeError when the client is open: then it belongs to an event loop.
    """
    if client.is_connected:
        raise RuntimeError("the client is open: await client.send_task instead")

    async def once() -> TaskResponse | TaskUpdate:
        async with copy.copy(client) as session:
            try:
                return await session.send_task(request, **options)
            finally:
                client._recipient = session._recipient  # the manifest is fetched once

    return run_blocking(once())
