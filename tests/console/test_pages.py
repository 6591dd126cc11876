"""The console's own pages, built and committed, over a worker and a gateway on real Kafka."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.console.browser import Watch
from tests.integration.system import Live, live
from tests.unit.envelopes import idea

READY = "html[data-ready=true]"
RULE, REFUSED, ACCEPTED = "phase_type", 3, 12
HOSTILE = '<img src=x onerror="window.ran = true">'
PAGES = (
    *(
        "",
        "live",
        "verdicts",
        "agents",
        "apc",
        "sap",
        "asap",
        "summit",
        "saop",
        "lineage",
        "spread",
    ),
    *("dead-letters", "audit", "log", "nowhere"),
)
AXE = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}
Theme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def system(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Twelve packets that were accepted, and three that were refused by one rule."""
    with live(broker, tmp_path_factory.mktemp("console")) as system, system.client as client:
        packets = [idea(number, payload__intent=HOSTILE) for number in range(ACCEPTED)]
        packets += [idea(100 + number, run_phase="EXECUTION") for number in range(REFUSED)]
        answer = client.post("/v1/apc/packets", json=packets)
        assert answer.status_code == 202, answer.text
        seen = client.get("/v1/overview", params={"fresh": "true"}, timeout=60)
        while seen.json()["commands"] < len(packets):
            seen = client.get("/v1/overview", params={"fresh": "true"}, timeout=60)
        yield system


def show(page: Page, system: Live, path: str = "") -> Watch:
    """Open a page of the console and wait until it has data."""
    watch = Watch(page, system.url)
    page.goto(f"{system.url}/console/{path}")
    page.wait_for_selector(READY, state="attached")
    return watch


def figure(page: Page, name: str) -> str | None:
    return page.locator(f"[data-figure={name}]").first.get_attribute("data-value")


def test_the_overview_shows_the_figures_of_the_route(system: Live, page: Page) -> None:
    watch = show(page, system)
    with system.client as client:
        overview = client.get("/v1/overview").json()
    assert (overview["rejected"], overview["accepted"]) == (REFUSED, ACCEPTED)
    for name in ("commands", "accepted", "duplicate", "rejected"):
        assert figure(page, name) == str(overview[name])
    watch.require_clean()


def test_a_refusal_is_followed_with_the_mouse(system: Live, page: Page) -> None:
    """Go from the overview's bar to the refused packets, to one, why, its proof and envelope."""
    watch = show(page, system)
    page.get_by_role("link", name=RULE).first.click()
    page.wait_for_selector("main[data-page=verdicts]")
    rows = page.locator("[data-row]")
    rows.first.wait_for()
    assert rows.count() == REFUSED
    rows.first.get_by_role("link").first.click()
    page.wait_for_selector("main[data-page=thing]")
    page.get_by_role("tab", name="Why").click()
    verdict = page.locator(f"[data-verdict=rejected][data-rule={RULE}]").first
    verdict.wait_for()
    for proof in ("recorded", "rederived"):
        badge = page.locator(f"[data-proof={proof}]")
        badge.wait_for()
        assert badge.get_attribute("data-holds") == "true"
    page.get_by_role("tab", name="Envelope").click()
    page.locator("[data-json]").first.wait_for()
    watch.require_clean()


@pytest.mark.slow
def test_what_agents_send_is_text(system: Live, page: Page) -> None:
    with system.client as client:
        (first, *_) = client.get("/v1/apc/packets", params={"state": "ROUTED"}).json()["packets"]
    node = quote(f"apc:packet:{first['packet_id']}", safe="")
    watch = show(page, system, f"things/{node}?tab=envelope")
    page.get_by_text(HOSTILE.partition('"')[0]).first.wait_for()
    assert page.evaluate("window.ran") is None
    watch.require_clean()


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_in_both_themes_and_widths(
    name: str, system: Live, browser: Browser
) -> None:
    """Require that axe reports nothing, the policy was kept, and nothing scrolls sideways."""
    themes: tuple[Theme, ...] = ("light", "dark")
    for theme, width in itertools.product(themes, (1280, 320)):
        context = browser.new_context(color_scheme=theme, viewport={"width": width, "height": 900})
        page = context.new_page()
        watch = show(page, system, name)
        report = Axe().run(page, options=AXE)
        assert report.violations_count == 0, f"{theme} {width}: {report.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (theme, width)
        watch.require_clean()
        context.close()


@pytest.mark.slow
def test_each_page_says_its_name(system: Live, page: Page) -> None:
    for name in PAGES:
        show(page, system, name)
        expected = {"": "overview", "nowhere": "not-found"}.get(name, name)
        assert page.locator("main").get_attribute("data-page") == expected
