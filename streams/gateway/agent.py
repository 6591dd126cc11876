"""An agent's own server on the log: what it stands on (asap spec 6.3)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from streams.asap.on_log import LogStream
from streams.errors import ViewNotReady
from streams.gateway.app import gateway_over
from streams.gateway.server import PATIENCE_S, connected, followed
from streams.protocols.asap.rpc import GatewayHost
from streams.settings import Settings
from streams.view_store.live import LiveView

_LOOK_S = 0.05


@contextmanager
def agent_stream(settings: Settings, patience_s: float = PATIENCE_S) -> Iterator[LogStream]:
    """For `streams.create_app(manifest, registry, stream=…)`, as long as the context lasts.

        with agent_stream(Settings.load()) as stream:
            uvicorn.run(create_app(manifest, registry, stream=stream))

    What is posted to that server goes on the log and is decided there before a handler sees it; an
    agent that is served so does not read its inbox too.
    Raises BrokerUnavailable, TopicsMismatch, ViewNotReady.
    """
    with connected(settings, patience_s) as source, followed(source, settings) as (view, _):
        gateway = gateway_over(settings, source, view)
        gateway.broker.start()
        try:
            _wait_ready(view, patience_s)
            yield LogStream(GatewayHost(gateway))
        finally:
            gateway.broker.stop()
            gateway.stop()


def _wait_ready(view: LiveView, patience_s: float) -> None:
    """Until it has read the log."""
    deadline = time.monotonic() + patience_s
    while not view.status().ready:
        if time.monotonic() > deadline:
            raise ViewNotReady(f"the view is not ready after {patience_s:.0f} s")
        time.sleep(_LOOK_S)
