"""The log connection of an agent that has a server of its own (ASAP guide, 6.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from streams.asap.on_log import LogStream
from streams.errors import ViewNotReady
from streams.gateway.app import make_gateway
from streams.gateway.await_view import await_view
from streams.gateway.server import PATIENCE_S, open_log, start_view
from streams.protocols.asap.rpc import GatewayHost
from streams.settings import Settings
from streams.view_store.live import LiveView


@contextmanager
def agent_stream(settings: Settings, patience_s: float = PATIENCE_S) -> Iterator[LogStream]:
    """Open the stream for `streams.create_app(manifest, registry, stream=…)`.

        with agent_stream(Settings.load()) as stream:
            uvicorn.run(create_app(manifest, registry, stream=stream))

    A request to that server is written to the log and decided there before a handler sees it; an
    agent served like this does not read its inbox as well.
    Raises BrokerUnavailable, TopicsMismatch, ViewNotReady.
    """
    with open_log(settings, patience_s) as source, start_view(source, settings) as (view, _):
        gateway = make_gateway(settings, source, view)
        gateway.broker.start()
        try:
            _wait_ready(view, patience_s)
            yield LogStream(GatewayHost(gateway))
        finally:
            gateway.broker.stop()
            gateway.stop()


def _wait_ready(view: LiveView, patience_s: float) -> None:
    """Wait until the view has read the log.  Raises ViewNotReady."""
    with ThreadPoolExecutor(1) as waiting:  # the caller may have an event loop
        if not waiting.submit(asyncio.run, await_view(view, patience_s)).result():
            raise ViewNotReady(f"the view is not ready after {patience_s:.0f} s")
