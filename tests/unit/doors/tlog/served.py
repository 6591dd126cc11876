"""A gateway that serves the transparency log of a log in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from streams.gateway.app import create_app
from streams.settings import Settings
from streams.view_store.live import LiveView
from streams.view_store.transparency import followed_log
from tests.unit.ops.tlog.example_log import POLICY
from tests.unit.ops.tlog.logged import Logged
from tests.unit.views.living import until


class ServedLog:
    """A gateway over a log in memory, and over its transparency log."""

    def __init__(self, folder: Path) -> None:
        self.logged = Logged(folder)
        policy = folder / "policy"
        policy.write_text(POLICY)
        self.settings: Settings = replace(self.logged.settings, tlog_policy=policy)
        self.folder = folder

    @contextmanager
    def view(self, settings: Settings) -> Iterator[LiveView]:
        """Start a view, and wait until it has read the log."""
        log, clock = self.logged.log, self.logged.tick
        view = LiveView(log, self.folder / "view", settings, clock, followed_log(settings))
        view.start()
        try:
            until(view, "ready")
            yield view
        finally:
            view.stop()

    @contextmanager
    def gateway(self, **settings: Any) -> Iterator[httpx.AsyncClient]:
        """Start a gateway with these settings, and wait until its view has read the log."""
        chosen: Settings = replace(self.settings, **settings)
        with self.view(chosen) as view:
            app = create_app(chosen, self.logged.log, view, clock=self.logged.tick)
            transport = httpx.ASGITransport(app)
            yield httpx.AsyncClient(transport=transport, base_url="http://localhost")

    def write(self, count: int) -> None:
        """Log facts, and publish a checkpoint over them."""
        self.logged.write_facts(count)
        with self.logged.writer() as writer:
            writer.round()


def get(http: httpx.AsyncClient, path: str, **headers: str) -> httpx.Response:
    return asyncio.run(http.get(path, headers={"accept-encoding": "identity", **headers}))


def rule_of(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["rule"]
