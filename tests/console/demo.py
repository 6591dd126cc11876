"""The story of `headrace demo`, told over a system in memory at a fixed time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
from playwright.sync_api import Page

from streams.demo import DemoContext, tell
from streams.gateway.app import create_app
from streams.gateway.live_tail import TailHub
from tests.unit.cli.door import BenchDoor
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.test_connections import serving
from tests.unit.views.bench import Bench

SESSION, RULE = "demo-00000001", "min_generation"
PAUSE_MS = 100


class PassingDoor(BenchDoor):
    """A door to a system whose time passes while the demo waits."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._clock = bench

    def pause(self) -> None:
        self._clock.now += PAUSE_MS
        super().pause()


class ToldDemo(NamedTuple):
    """A gateway over a system to which the demo was told."""

    url: str
    bench: Bench

    @property
    def now(self) -> int:
        """Return the time of the system, ms since the epoch."""
        return self.bench.now

    def find_words(self) -> dict[str, str]:
        """Return the node of a packet that was refused, and the trace that has all protocols."""
        verdicts = self.ask(f"/v1/verdicts?protocol=apc&rule={RULE}&fresh=true")
        run = self.ask(f"/v1/summit/runs/audit-{SESSION}")
        node = quote(verdicts["items"][0]["node"], safe="")
        return {"refused": node, "trace": run["traceId"]}

    def ask(self, path: str) -> Any:
        return httpx.get(f"{self.url}{path}", timeout=60).raise_for_status().json()


@contextmanager
def told_demo(folder: Path) -> Iterator[ToldDemo]:
    """Tell the demo, and serve a gateway while the context is open."""
    with GatewayBench(folder) as gateway:
        bench = gateway.bench
        door = PassingDoor(bench)
        ctx = DemoContext(
            door, bench.log, bench.settings, print, SESSION, agent=door.agent, example=door.example
        )
        tell(ctx)
        hub = TailHub(bench.log, gateway.settings)
        app = create_app(
            gateway.settings, bench.log, gateway.view, clock=lambda: bench.now, hub=hub
        )
        with serving(100, app, lifespan="on") as port:
            yield ToldDemo(f"http://127.0.0.1:{port}", bench)
            hub.drain()


def settle(page: Page) -> None:
    """Wait until a page has its data; the stream of a tail never ends."""
    page.wait_for_selector("html[data-ready=true]", state="attached")
    if page.locator("main[data-page=live]").count() == 0:
        page.wait_for_load_state("networkidle")
    else:
        page.locator("[data-tail][data-state=live]").wait_for()
        page.locator("[data-row]").first.wait_for()
