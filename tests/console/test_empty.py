"""The console over a system in memory to which nothing was sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.console.browser import Watch
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.test_connections import serving

LISTS = (
    *(
        "apc",
        "apc?tab=packets",
        "apc?tab=coordination",
        "sap",
        "sap?tab=cache",
        "sap?tab=learning",
        "sap?tab=heuristics",
    ),
    *(
        "asap",
        "asap?tab=conversations",
        "asap?tab=agents",
        "summit",
        "summit?tab=agents",
        "summit?tab=tree",
    ),
    *("saop", "saop?tab=tasks", "saop?tab=escalations", "saop?tab=rewinds", "verdicts", "agents"),
    *("lineage", "spread", "spread?tab=generations", "dead-letters"),
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with (
        GatewayBench(tmp_path_factory.mktemp("empty")) as bench,
        serving(100, bench.app) as port,
    ):
        yield f"http://127.0.0.1:{port}"


def show(page: Page, url: str, path: str) -> Watch:
    watch = Watch(page, url)
    page.goto(f"{url}/console/{path}")
    page.wait_for_selector("html[data-ready=true]", state="attached")
    return watch


def test_the_overview_says_how_to_send_a_first_packet(url: str, page: Page) -> None:
    watch = show(page, url, "")
    assert page.locator("[data-figure=commands]").get_attribute("data-value") == "0"
    assert "headrace send apc.packets" in page.locator("main .empty").first.inner_text()
    watch.require_clean()


@pytest.mark.slow
def test_each_list_says_what_would_be_in_it(url: str, page: Page) -> None:
    for path in LISTS:
        page.goto("about:blank")
        show(page, url, path)
        text = page.locator("main .empty").first.inner_text()
        assert len(text) > len("None."), path
        assert "`" not in text, path
        assert page.locator("[data-row]").count() == 0, path
        assert page.locator("[role=alert]").count() == 0, path
