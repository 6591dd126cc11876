"""The process of a gateway: it binds the address, starts, serves and stops in order."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
import uvloop
from fastapi import FastAPI

from streams.access.tokens import load
from streams.doors.console.endpoints import read_views_file
from streams.engine.kafka import KafkaLog
from streams.engine.store import limit_block_cache
from streams.errors import (
    AddressTaken,
    BrokerRefuses,
    BrokerUnavailable,
    SettingsError,
    StateLocked,
    TokensMissing,
    TopicsMismatch,
)
from streams.gateway.app import create_app
from streams.gateway.await_view import await_view
from streams.gateway.http_protocol import BoundedProtocol
from streams.gateway.limits import KEEP_ALIVE_S, STOP_S
from streams.gateway.live_tail import TailHub
from streams.gateway.open_files import RESERVE, bound_connections, raise_file_limit
from streams.log import connecting
from streams.registry.binding import use_registry
from streams.registry.ids import RegistryIds
from streams.routes.table import INPUTS
from streams.settings import Settings
from streams.settings.addresses import Address as Address
from streams.settings.addresses import (
    GatewayAddress,
    address_file,
    gateway_directory,
    published,
)
from streams.telemetry import logs
from streams.view_store.live import LiveView
from streams.view_store.transparency import followed_log
from topology.core import PUSH, TRANSPARENCY

log = logging.getLogger("streams.gateway")

PATIENCE_S = 60.0
"""How long a gateway waits for Kafka when it starts."""
_RETRY_S = 0.5


def run_gateway(
    settings: Settings,
    *,
    patience_s: float = PATIENCE_S,
    on_ready: Callable[[str], None] = print,
) -> None:
    """Serve until SIGINT or SIGTERM, then finish the requests in flight and close.

    on_ready: called with the address once the gateway answers queries.
    Raises SettingsError (TokensMissing, ViewsInvalid), AddressTaken, BrokerUnavailable,
    TopicsMismatch, RegistryUnavailable, SchemasMismatch.
    """
    _configure_logs(settings)
    if settings.tokens is not None:
        _check_tokens(settings.tokens, settings.principal_key)
    read_views_file(settings)
    listener = bind(Address.parse(settings.gateway), settings.tokens is not None)
    address = Address(*listener.getsockname()[:2])
    with (
        contextlib.closing(listener),
        use_registry(settings) as ids,
        open_log(settings, patience_s) as source,
        start_view(source, settings) as (view, owns_directory),
        ExitStack() as stack,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        if ids is not None:
            ids.load()
        source.submit(())

        def when_ready() -> None:
            if owns_directory:
                stack.enter_context(_published(settings, address))
            on_ready(address.url)

        hub = TailHub(source, settings, max_clients=settings.gateway_max_streams)
        app = create_app(settings, source, view, hub=hub, ids=ids)
        runner.run(
            _serve(
                Server(_make_uvicorn_config(app, settings), hub, view, ids),
                listener,
                address,
                _when_ready(view, address, when_ready),
            )
        )


def _check_tokens(path: Path, principal_key: str | None) -> None:
    """Check the token file before anything else starts.  Raises SettingsError."""
    load(path)
    if principal_key is None:
        log.warning("HEADRACE_PRINCIPAL_KEY is not set: facts will not show who sent what")


def _configure_logs(settings: Settings) -> None:
    """Write access log lines as they are, since they are JSON already."""
    logs.configure(settings)
    access = logging.getLogger("streams.gateway.access")
    access.handlers[:] = [logs.handler(logging.Formatter("%(message)s"))]
    access.propagate = False


@contextmanager
def open_log(settings: Settings, patience_s: float) -> Iterator[KafkaLog]:
    """Open the log once a broker answers and all topics exist."""
    deadline = time.monotonic() + patience_s
    warned = False
    while True:
        source: KafkaLog | None = None
        try:
            source = connecting.connect(settings)
            _check_topics(source, settings)
            break
        except BrokerUnavailable as exc:
            if source is not None:
                source.close()
            if isinstance(exc, BrokerRefuses) or time.monotonic() > deadline:
                raise
            if not warned:
                log.warning("waiting up to %.0f s for Kafka: %s", patience_s, exc.message)
                warned = True
            time.sleep(_RETRY_S)
    try:
        yield source
    finally:
        source.close()


def _check_topics(source: KafkaLog, settings: Settings) -> None:
    topics = source.topics()
    required = list(INPUTS)
    required += () if settings.tlog_policy is None else TRANSPARENCY
    required += () if settings.gateway_key is None else PUSH
    names = [settings.prefix + topic.name for topic in required]
    if missing := [name for name in names if name not in topics]:
        raise TopicsMismatch(
            f"topics are missing: {', '.join(missing)}", advice="Run `headrace topics create`."
        )


@contextmanager
def start_view(source: KafkaLog, settings: Settings) -> Iterator[tuple[LiveView, bool]]:
    """Start a view; yield it, and whether it uses the state directory.

    While another gateway uses that directory, the view is built in a temporary one.
    """
    directory = gateway_directory(settings)
    transparency = followed_log(settings)
    limit_block_cache(settings.block_cache_mib << 20)
    with tempfile.TemporaryDirectory(prefix="headrace-gateway-") as folder:
        owns_directory = True
        view = LiveView(source, directory / "view", settings, transparency=transparency)
        try:
            view.start()
        except StateLocked:
            log.warning("%s is in use: the view is built in a temporary directory", directory)
            owns_directory = False
            view = LiveView(source, Path(folder) / "view", settings, transparency=transparency)
            view.start()
        try:
            yield view, owns_directory
        finally:
            view.stop()


def _published(settings: Settings, address: Address) -> AbstractContextManager[None]:
    """Return the context in which the state directory names this gateway."""
    bootstrap = settings.bootstrap or connecting.bootstrap_of(settings)
    current = GatewayAddress(address.url, bootstrap, settings.prefix, os.getpid())
    return published(address_file(settings), current)


def _make_uvicorn_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    max_connections = bound_connections(settings.gateway_max_connections, raise_file_limit())
    bounded: Any = partial(
        BoundedProtocol,
        max_connections=max_connections,
        waiting={},
        write_timeout_s=settings.gateway_write_timeout_s,
    )
    return uvicorn.Config(
        app,
        loop="uvloop",
        http=bounded,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=RESERVE // 2,  # all of them may be accepted at once, before any is refused
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=STOP_S,
    )


class Server(uvicorn.Server):
    """A server that leaves signals to the caller and ends streams and waits before connections."""

    def __init__(
        self, config: uvicorn.Config, hub: TailHub, view: LiveView, ids: RegistryIds | None = None
    ) -> None:
        super().__init__(config)
        self._hub, self._view, self._ids = hub, view, ids

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def end(self) -> None:
        """Stop gracefully; stop at once when called a second time."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        log.info("stopping: no new requests; those in flight have %d s", STOP_S)
        self._hub.drain()
        self._view.drain()
        if self._ids is not None:
            self._ids.close()
        await super().shutdown(sockets)


async def _when_ready(view: LiveView, address: Address, on_ready: Callable[[], None]) -> None:
    log.info("listening on %s", address.url)
    await await_view(view)
    on_ready()


async def _serve(
    server: Server, listener: socket.socket, address: Address, ready: Coroutine[Any, Any, None]
) -> None:
    """Serve until a signal comes.  Raises AddressTaken."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.end)
    ready_task = loop.create_task(ready)
    try:
        await server.serve([listener])
    except OSError as exc:
        message = f"the gateway cannot listen on {address}: {exc.strerror}"
        raise AddressTaken(message) from exc
    finally:
        ready_task.cancel()


def bind(address: Address, guarded: bool = False) -> socket.socket:
    """Return a socket bound to the address that does not listen yet.

    guarded: the gateway requires tokens.
    Raises TokensMissing if other machines can reach the address and it does not; SettingsError,
    AddressTaken.
    """
    family, socket_address = _resolve(address, guarded)
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(socket_address)
    except OSError as exc:
        listener.close()
        raise AddressTaken(f"the gateway cannot listen on {address}: {exc.strerror}") from exc
    return listener


def _resolve(address: Address, guarded: bool) -> tuple[socket.AddressFamily, tuple[str, int]]:
    try:
        candidates = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError as exc:
        raise SettingsError(f"HEADRACE_GATEWAY: {address.host} is not known here") from exc
    if not guarded and not all(
        ipaddress.ip_address(entry[4][0]).is_loopback for entry in candidates
    ):
        raise TokensMissing(
            f"HEADRACE_GATEWAY={address} can be reached from other machines, and whoever reaches"
            " it could send and read everything"
        )
    family, _, _, _, socket_address = candidates[0]
    return family, (str(socket_address[0]), int(socket_address[1]))
