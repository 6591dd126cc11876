"""One POST to an address that a client named: resolved, checked, pinned, and bounded."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import NamedTuple

import httpx

from streams.doors.push.addresses import (
    AllowList,
    IpAddress,
    Receiver,
    UrlRefused,
    parse_receiver,
)

ADDRESS_REFUSED, UNREACHABLE = "address_refused", "connection_refused"
TIMEOUT, TLS_ERROR = "timeout", "tls_error"
MAX_ANSWER = 64 * 1024
"""The most bytes of an answer that are read."""
CONNECT_S, ANSWER_S = 5.0, 10.0
MOST_AT_ONCE, MOST_PER_HOST = 64, 8
Resolve = Callable[[str, int], Awaitable[Sequence[IpAddress]]]


class Posted(NamedTuple):
    """The outcome of a POST.

    status: of the answer, None without one.  error: why there was none.  body: the beginning of
    the answer, if it was asked for.
    """

    status: int | None
    error: str | None = None
    body: bytes = b""

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def fault(self) -> str | None:
        """Return what went wrong, in one word; None if nothing did."""
        if self.is_success:
            return None
        return self.error or f"http_{self.status}"


class Poster:
    """Posts for one gateway, at most 64 requests at once and 8 to one host.

    resolve: returns the addresses of a host.  tls: the context of connections.
    """

    def __init__(
        self,
        allowed: AllowList,
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
        answer_s: float = ANSWER_S,
    ) -> None:
        self.allowed = allowed
        self._resolve = resolve or resolve_host
        self._tls = tls
        self._answer_s = answer_s
        self._all = asyncio.Semaphore(MOST_AT_ONCE)
        self._hosts: dict[str, asyncio.Semaphore] = {}
        self._users: Counter[str] = Counter()
        self._client: httpx.AsyncClient | None = None

    async def check(self, url: str) -> None:
        """Check that events may be posted to a URL.  Raises UrlRefused.

        A host that cannot be resolved now passes: posting to it fails, and is repeated.
        """
        receiver = parse_receiver(url, self.allowed)
        try:
            await self._choose(receiver)
        except (OSError, TimeoutError):
            return

    async def post(
        self,
        url: str,
        content: bytes,
        headers: Mapping[str, str],
        *,
        reads_answer: bool = False,
    ) -> Posted:
        """Post once; no redirect is followed.  headers: content type and signatures."""
        try:
            receiver = parse_receiver(url, self.allowed)
        except UrlRefused:
            return Posted(None, ADDRESS_REFUSED)
        async with self._take_place(receiver.host):
            try:
                async with asyncio.timeout(CONNECT_S + self._answer_s):
                    return await self._send(receiver, content, headers, reads_answer)
            except UrlRefused:
                return Posted(None, ADDRESS_REFUSED)
            except (TimeoutError, httpx.TimeoutException):
                return Posted(None, TIMEOUT)
            except (OSError, httpx.HTTPError, ValueError) as exc:
                return Posted(None, TLS_ERROR if _is_tls(exc) else UNREACHABLE)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def _send(
        self, receiver: Receiver, content: bytes, headers: Mapping[str, str], reads_answer: bool
    ) -> Posted:
        address = await self._choose(receiver)
        request = self._open().build_request(
            "POST",
            receiver.url.copy_with(host=str(address)),
            content=content,
            headers={
                "accept-encoding": "identity",
                "user-agent": "headrace",
                **headers,
                "host": receiver.authority,
            },
            extensions={
                "sni_hostname": receiver.host,
                "timeout": {
                    **dict.fromkeys(("read", "write"), self._answer_s),
                    **dict.fromkeys(("connect", "pool"), CONNECT_S),
                },
            },
        )
        response = await self._open().send(request, stream=True)
        try:
            body = await _read(response) if reads_answer else b""
        finally:
            await response.aclose()
        return Posted(response.status_code, None, body)

    async def _choose(self, receiver: Receiver) -> IpAddress:
        """Return the address to connect to.  Raises UrlRefused, OSError, TimeoutError."""
        literal = receiver.address
        if literal is not None:
            return self.allowed.choose(receiver.host, (literal,))
        async with asyncio.timeout(CONNECT_S):
            addresses = await self._resolve(receiver.host, receiver.port)
        return self.allowed.choose(receiver.host, addresses)

    def _open(self) -> httpx.AsyncClient:
        """Return the client.  It keeps no connection, as that was checked for one host only."""
        if self._client is None:
            self._client = httpx.AsyncClient(
                verify=self._tls or httpx.create_ssl_context(),
                trust_env=False,
                follow_redirects=False,
                limits=httpx.Limits(max_keepalive_connections=0),
            )
        return self._client

    @asynccontextmanager
    async def _take_place(self, host: str) -> AsyncIterator[None]:
        """Wait until a request to this host may begin."""
        places = self._hosts.setdefault(host, asyncio.Semaphore(MOST_PER_HOST))
        self._users[host] += 1
        try:
            async with places, self._all:
                yield
        finally:
            self._users[host] -= 1
            if not self._users[host]:
                del self._users[host], self._hosts[host]


async def resolve_host(host: str, port: int) -> Sequence[IpAddress]:
    """Return the addresses of a host.  Raises OSError."""
    loop = asyncio.get_running_loop()
    infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ipaddress.ip_address(str(info[4][0]).partition("%")[0]) for info in infos]


async def _read(response: httpx.Response) -> bytes:
    """Return the beginning of an answer."""
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) >= MAX_ANSWER:
            break
    return bytes(body[:MAX_ANSWER])


def _is_tls(exc: BaseException) -> bool:
    """Return whether an error came of TLS."""
    cause: BaseException | None = exc
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def category_of(fault: str | None) -> str | None:
    """Return a fault as clients are told it: statuses of HTTP by their hundreds."""
    if fault is None or not fault.startswith("http_"):
        return fault
    status = int(fault.removeprefix("http_"))
    return f"http_{status // 100}xx"


GONE, TOO_LARGE = HTTPStatus.GONE.value, HTTPStatus.REQUEST_ENTITY_TOO_LARGE.value
