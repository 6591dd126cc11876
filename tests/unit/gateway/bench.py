"""The gateway's application over the system in memory, called without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import httpx
from fastapi import FastAPI

from streams.client.http import position_of
from streams.gateway.app import create_app
from streams.settings import Settings
from streams.view_store.live import LiveView
from tests.unit.views.bench import Bench
from tests.unit.views.living import live_over, until

Json = dict[str, Any]


class GatewayBench:
    """Processors work when `send` is called; the live view follows by itself."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        common = {k: v for k, v in settings.items() if k in ("principal_key", "prefix")}
        self.bench = Bench(folder, **common)
        self.settings: Settings = replace(self.bench.settings, **{"gateway_wait_s": 5, **settings})
        self.view: LiveView = live_over(self.bench)
        self.app: FastAPI = create_app(
            self.settings, self.bench.log, self.view, clock=lambda: self.bench.now
        )
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self.view.start()
        self._stack.callback(self.bench.close)
        self._stack.callback(self.view.stop)
        until(self.view, "ready")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def ask(self, method: str, target: str, **more: Any) -> httpx.Response:
        """One request."""
        return self.ask_all([(method, target, more)])[0]

    def ask_all(self, requests: Sequence[tuple[str, str, Json]]) -> list[httpx.Response]:
        """All at once."""

        async def ask() -> list[httpx.Response]:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
                waiting = [http.request(m, target, **more) for m, target, more in requests]
                return await asyncio.gather(*waiting)

        return asyncio.run(ask())

    def get(self, target: str, **query: str) -> Json:
        """The body of a 200."""
        answer = self.ask("GET", target, params=query or None)
        assert answer.status_code == 200, answer.text
        body: Json = answer.json()
        return body

    def send(self, path: str, *values: Any) -> str:
        """Produce over HTTP and let the processors come to rest; the last position."""
        answer = self.ask("POST", path, json=list(values))
        assert answer.status_code == 202, answer.text
        self.bench.host.run()
        return position_of(answer.json()["positions"][-1])
