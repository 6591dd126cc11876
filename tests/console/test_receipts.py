"""Tests of the badges of the transparency log, and of a receipt that is downloaded."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from streams.gateway.app import create_app
from streams.ops.tlog.log_keys import LogKeys
from streams.ops.tlog.policy import parse_policy
from streams.ops.tlog.receipt import check_receipt, parse_receipt
from streams.ops.tlog.tile_directory import TileDirectory
from streams.ops.tlog.witness_client import WitnessClient
from streams.ops.tlog.writer import LogWriter
from streams.ops.topics import create_topics
from streams.view_store.live import LiveView
from streams.view_store.transparency import followed_log
from tests.console.browser import Watch
from tests.console.office import READY
from tests.console.test_pages import AXE
from tests.processes import wait_for
from tests.unit.envelopes import idea
from tests.unit.gateway.test_connections import serving
from tests.unit.ops.tlog.example_log import KEY, ORIGIN, PRIVATE
from tests.unit.ops.tlog.witness_double import WitnessDouble, route
from tests.unit.views.bench import Bench
from tests.unit.views.living import until

pytestmark = pytest.mark.slow


class LoggedGateway:
    """A gateway with a transparency log that two witnesses cosign."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.url = ""
        self._witnesses = WitnessDouble("w1"), WitnessDouble("w2")
        lines = "".join(witness.line for witness in self._witnesses)
        text = f"log {KEY}\n{lines}group both all w1 w2\nquorum both\n"
        self.policy = parse_policy(text.encode())
        path = bench.folder / "policy"
        path.write_text(text)
        self.settings = replace(bench.settings, tlog_policy=path, gateway_wait_s=5)
        create_topics(bench.log, self.settings)

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Serve the gateway while the context is open."""
        bench, settings = self.bench, self.settings
        log = followed_log(settings)
        view = LiveView(bench.log, bench.folder / "live", settings, lambda: bench.now, log)
        view.start()
        try:
            until(view, "ready")
            app = create_app(settings, bench.log, view, clock=lambda: bench.now)
            with serving(100, app) as port:
                self.url = f"http://127.0.0.1:{port}"
                yield
        finally:
            view.stop()

    def publish(self) -> None:
        """Give all facts entries, and wait until the gateway has the checkpoint over them.

        The client of witnesses has an event loop of its own, and the thread that drives the browser
        has one already.
        """
        with ThreadPoolExecutor(1) as pool:
            pool.submit(self._write).result()
        wait_for(lambda: self._size() > 0, "the gateway has the checkpoint")

    def _write(self) -> None:
        keys, directory = LogKeys(ORIGIN, PRIVATE, (PRIVATE,), self.policy), self.bench.folder
        tiles, clock = TileDirectory(directory / "tlog"), lambda: self.bench.now
        with (
            WitnessClient(self.policy, 60, transport=route(*self._witnesses)) as witnesses,
            LogWriter(self.bench.log, "", keys, tiles, clock, (), witnesses) as writer,
        ):
            writer.round()

    def _size(self) -> int:
        return int(httpx.get(f"{self.url}/v1/audit/log").raise_for_status().json()["size"])


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[LoggedGateway]:
    bench = Bench(tmp_path)
    logged = LoggedGateway(bench)
    try:
        with logged.serve():
            yield logged
    finally:
        bench.close()


def test_a_receipt_of_a_verdict_is_downloaded_and_holds(gateway: LoggedGateway, page: Page) -> None:
    packet = idea(1)
    gateway.bench.send("apc.packets", packet)
    node = quote(f"apc:packet:{packet['packet_id']}", safe="")
    watch = Watch(page, gateway.url)
    page.goto(f"{gateway.url}/console/things/{node}?tab=why")
    page.wait_for_selector(READY, state="attached")
    included = page.locator("[data-proof=included]").first
    witnessed = page.locator("[data-proof=witnessed]").first
    for badge in (included, witnessed):
        expect(badge).to_have_attribute("data-holds", "absent")
    gateway.publish()
    page.reload()
    for badge in (included, witnessed):
        expect(badge).to_have_attribute("data-holds", "true")
    witnessed.click()
    expect(page.locator(".proof p").first).to_contain_text("w1, w2")
    included.click()
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download the receipt").click()
    data = downloading.value.path().read_bytes()
    position = parse_receipt(data).entry.position
    assert check_receipt(data, gateway.policy).fault is None
    assert downloading.value.suggested_filename == f"{position.replace('/', '-')}.tlog-proof"
    report = Axe().run(page, options=AXE)
    assert report.violations_count == 0, report.generate_report()
    watch.require_clean()
