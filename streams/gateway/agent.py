"""The log connection of an agent that has a server of its own (ASAP guide, 6.3)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from streams.asap.on_log import LogStream
from streams.errors import ViewNotReady
from streams.gateway.app import make_gateway
from streams.gateway.server import PATIENCE_S, open_log, start_view
from streams.protocols.asap.rpc import GatewayHost
from streams.settings import Settings
from streams.view_store.live import LiveView

_POLL_S = 0.05


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
    deadline = time.monotonic() + patience_s
    while not view.status().ready:
        if time.monotonic() > deadline:
            raise ViewNotReady(f"the view is not ready after {patience_s:.0f} s")
        time.sleep(_POLL_S)
