"""A gateway as a process: start, serve, stop in order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
import uvloop
from fastapi import FastAPI

from streams.access.tokens import load
from streams.engine.kafka import KafkaLog
from streams.engine.store import limit_block_cache
from streams.errors import (
    AddressTaken,
    BrokerRefuses,
    BrokerUnavailable,
    StateLocked,
    TopicsMismatch,
)
from streams.gateway.address import Address, bind
from streams.gateway.app import create_app
from streams.gateway.limits import KEEP_ALIVE_S, STOP_S
from streams.gateway.protocol import BoundedProtocol
from streams.gateway.sse import TailHub
from streams.log import connecting
from streams.registry.binding import use_registry
from streams.registry.ids import RegistryIds
from streams.routes.table import INPUTS
from streams.settings import Settings
from streams.settings.addresses import address_file, gateway_directory
from streams.telemetry import logs
from streams.view_store.live import LiveView

log = logging.getLogger("streams.gateway")

PATIENCE_S = 60.0
"""How long a gateway waits for Kafka when it starts."""
_LOOK_S = 0.5
_READY_S = 0.05


def run_gateway(
    settings: Settings,
    *,
    patience_s: float = PATIENCE_S,
    on_ready: Callable[[str], None] = print,
) -> None:
    """Serve until SIGINT or SIGTERM, then finish what is in flight and close.

    on_ready: is given the address once queries are answered.
    Raises SettingsError (TokensMissing), AddressTaken, BrokerUnavailable, TopicsMismatch,
    RegistryUnavailable, SchemasMismatch.
    """
    _configure_logs(settings)
    if settings.tokens is not None:
        _check_tokens(settings.tokens, settings.principal_key)
    listener = bind(Address.parse(settings.gateway), settings.tokens is not None)
    address = Address(*listener.getsockname()[:2])
    with (
        contextlib.closing(listener),
        use_registry(settings) as ids,
        connected(settings, patience_s) as source,
        followed(source, settings) as (view, own),
        _told(settings, address if own else None),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        if ids is not None:
            ids.load()
        source.submit(())
        hub = TailHub(source, settings, most_clients=settings.gateway_max_streams)
        app = create_app(settings, source, view, hub=hub, ids=ids)
        runner.run(
            _serve(
                Server(_config(app, settings), hub, view, ids),
                listener,
                address,
                _when_ready(view, address, on_ready),
            )
        )


def _check_tokens(path: Path, principal_key: str | None) -> None:
    """Before anything is waited for.  Raises SettingsError."""
    load(path)
    if principal_key is None:
        log.warning("HEADRACE_PRINCIPAL_KEY is not set: facts will not show who sent what")


def _configure_logs(settings: Settings) -> None:
    """Requests are JSON as they come."""
    logs.configure(settings)
    access = logging.getLogger("streams.gateway.access")
    access.handlers[:] = [logs.handler(logging.Formatter("%(message)s"))]
    access.propagate = False


@contextmanager
def connected(settings: Settings, patience_s: float) -> Iterator[KafkaLog]:
    """The log, once a broker answers and the topics are there."""
    deadline = time.monotonic() + patience_s
    told = False
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
            if not told:
                log.warning("waiting up to %.0f s for Kafka: %s", patience_s, exc.message)
                told = True
            time.sleep(_LOOK_S)
    try:
        yield source
    finally:
        source.close()


def _check_topics(source: KafkaLog, settings: Settings) -> None:
    there = source.topics()
    names = [settings.prefix + topic.name for topic in INPUTS]
    if missing := [name for name in names if name not in there]:
        raise TopicsMismatch(
            f"topics are missing: {', '.join(missing)}", advice="Run `headrace topics create`."
        )


@contextmanager
def followed(source: KafkaLog, settings: Settings) -> Iterator[tuple[LiveView, bool]]:
    """A started view, and whether it is the one under the state directory.

    While another gateway has that one, it is a private temporary one.
    """
    directory = gateway_directory(settings)
    limit_block_cache(settings.block_cache_mib << 20)
    with tempfile.TemporaryDirectory(prefix="headrace-gateway-") as folder:
        kept = True
        view = LiveView(source, directory / "view", settings)
        try:
            view.start()
        except StateLocked:
            log.warning("%s is in use: the view is built in a temporary directory", directory)
            kept = False
            view = LiveView(source, Path(folder) / "view", settings)
            view.start()
        try:
            yield view, kept
        finally:
            view.stop()


@contextmanager
def _told(settings: Settings, address: Address | None) -> Iterator[None]:
    """address: None for a gateway that is not the one of its state directory."""
    if address is None:
        yield
        return
    path = address_file(settings)
    path.write_text(f"{address.url}\n")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    bounded: Any = partial(BoundedProtocol, most_connections=settings.gateway_max_connections)
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
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=STOP_S,
    )


class Server(uvicorn.Server):
    """Signals are the caller's, and streams and waits end before connections are waited for."""

    def __init__(
        self, config: uvicorn.Config, hub: TailHub, view: LiveView, ids: RegistryIds | None = None
    ) -> None:
        super().__init__(config)
        self._hub, self._view, self._ids = hub, view, ids

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def end(self) -> None:
        """Gracefully; at once when asked a second time."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        log.info("stopping: no new requests; those in flight have %d s", STOP_S)
        self._hub.drain()
        self._view.drain()
        if self._ids is not None:
            self._ids.close()
        await super().shutdown(sockets)


async def _when_ready(view: LiveView, address: Address, on_ready: Callable[[str], None]) -> None:
    log.info("listening on %s", address.url)
    while not view.status().ready:
        await asyncio.sleep(_READY_S)
    on_ready(address.url)


async def _serve(
    server: Server, listener: socket.socket, address: Address, ready: Coroutine[Any, Any, None]
) -> None:
    """Raises AddressTaken."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.end)
    telling = loop.create_task(ready)
    try:
        await server.serve([listener])
    except OSError as exc:
        message = f"the gateway cannot listen on {address}: {exc.strerror}"
        raise AddressTaken(message) from exc
    finally:
        telling.cancel()
