"""A gateway as a process: start, serve, stop in order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
import uvloop
from fastapi import FastAPI

from streams.addresses import address_file, gateway_directory
from streams.engine.kafka import KafkaLog
from streams.engine.task import group_of
from streams.errors import AddressTaken, BrokerUnavailable, StateLocked, TopicsMismatch
from streams.gateway.address import Address, bind
from streams.gateway.app import create_app
from streams.gateway.limits import KEEP_ALIVE_S, STOP_S
from streams.gateway.protocol import BoundedProtocol
from streams.gateway.sse import TailHub
from streams.registry.binding import bound
from streams.registry.ids import RegistryIds
from streams.routes.table import INPUTS
from streams.settings import Settings
from streams.views import LiveView

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
    Raises SettingsError, AddressTaken, BrokerUnavailable, TopicsMismatch, RegistryUnavailable,
    SchemasMismatch.
    """
    _configure_logs(settings)
    listener = bind(Address.parse(settings.gateway))
    address = Address(*listener.getsockname()[:2])
    with (
        contextlib.closing(listener),
        bound(settings) as ids,
        connected(settings, patience_s) as source,
        followed(source, settings) as (view, own),
        _told(settings, address if own else None),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        if ids is not None:
            ids.load()
        source.submit(())
        hub = TailHub(source, settings)
        app = create_app(settings, source, view, hub=hub, ids=ids)
        runner.run(
            _serve(
                Server(_config(app), hub, view, ids),
                listener,
                address,
                _when_ready(view, address, on_ready),
            )
        )


def _configure_logs(settings: Settings) -> None:
    """One line each on stderr; requests as JSON."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    plain = logging.StreamHandler(sys.stderr)
    plain.setFormatter(logging.Formatter("%(message)s"))
    root, own = logging.getLogger(), logging.getLogger("streams")
    root.handlers[:] = [lines]
    root.setLevel(logging.WARNING)
    own.setLevel(settings.log_level.upper())
    access = logging.getLogger("streams.gateway.access")
    access.handlers[:], access.propagate = [plain], False


@contextmanager
def connected(settings: Settings, patience_s: float) -> Iterator[KafkaLog]:
    """The log, once a broker answers and the topics are there."""
    deadline = time.monotonic() + patience_s
    told = False
    while True:
        source: KafkaLog | None = None
        try:
            source = KafkaLog(_bootstrap(settings), settings.security(), group_of(settings))
            _check_topics(source, settings)
            break
        except BrokerUnavailable as exc:
            if source is not None:
                source.close()
            if time.monotonic() > deadline:
                raise
            if not told:
                log.warning("waiting up to %.0f s for Kafka: %s", patience_s, exc.message)
                told = True
            time.sleep(_LOOK_S)
    try:
        yield source
    finally:
        source.close()


def _bootstrap(settings: Settings) -> str:
    """Raises BrokerUnavailable."""
    from streams.broker import status

    found = status(settings)
    if found.bootstrap is None:
        raise BrokerUnavailable("no broker is set, and no local one runs")
    if not found.running:
        raise BrokerUnavailable(f"no broker answers at {found.bootstrap}")
    return found.bootstrap


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


def _config(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="uvloop",
        http=BoundedProtocol,
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
