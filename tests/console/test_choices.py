"""Tests of what people choose: themes, clocks, filters, saved views, keys of the lineage graph."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.console.browser import Watch
from tests.console.conftest import PATIENCE_MS
from tests.unit.envelopes import ack, idea
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.test_connections import serving

pytestmark = pytest.mark.slow

READY = "html[data-ready=true]"
REFUSED, RULE = 3, "phase_type"
VIEW = "the refused ones"
ACCEPTED = idea(1)
MOVING = """
() => [...document.querySelectorAll('*')].flatMap(each => {
  const { transitionDuration, animationName } = getComputedStyle(each);
  const moves = /[1-9]/.test(transitionDuration) || animationName !== 'none';
  return moves ? [each.tagName] : [];
})
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the console over a packet that was acknowledged, and three that were refused."""
    with GatewayBench(tmp_path_factory.mktemp("choices")) as bench:
        bench.send("/v1/apc/packets", ACCEPTED)
        bench.send("/v1/apc/packets", ack(ACCEPTED, 2))
        bench.send(
            "/v1/apc/packets", *(idea(10 + n, run_phase="EXECUTION") for n in range(REFUSED))
        )
        with serving(100, bench.app) as port:
            yield f"http://127.0.0.1:{port}"


def show(page: Page, url: str, path: str = "") -> Watch:
    watch = Watch(page, url)
    page.goto(f"{url}/console/{path}")
    page.wait_for_selector(READY, state="attached")
    return watch


def read_background(page: Page) -> Any:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_a_theme_is_kept(url: str, browser: Browser) -> None:
    """Go from the system's theme to light and dark; the last one is there after a reload."""
    context = browser.new_context(color_scheme="light")
    page = context.new_page()
    watch = show(page, url)
    light = read_background(page)
    for theme in ("light", "dark"):
        page.get_by_role("button", name="Theme:").click()
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
    dark = read_background(page)
    assert dark != light
    page.reload()
    page.wait_for_selector(READY, state="attached")
    assert read_background(page) == dark
    page.get_by_role("button", name="Theme: dark").click()
    expect(page.locator("html:not([data-theme])")).to_be_attached()
    assert read_background(page) == light
    watch.require_clean()
    context.close()


def test_a_clock_is_kept(url: str, browser: Browser) -> None:
    """Require local times, five and a half hours later, after a reload too; and UTC in titles."""
    context = browser.new_context(timezone_id="Asia/Kolkata")
    page = context.new_page()
    watch = show(page, url, "verdicts")
    time = page.locator("[data-row] time").first
    utc = time.inner_text()
    page.get_by_role("button", name="Switch the clock").click()
    expect(time).not_to_have_text(utc)
    local = time.inner_text()
    assert (utc[-12:-7], local[-12:-7]) == ("00:00", "05:30")
    page.reload()
    expect(time).to_have_text(local)
    expect(page.get_by_role("button", name="local. Switch the clock")).to_be_visible()
    assert re.fullmatch(r"2026-01-01T00:00:\d\d\.\d{3}Z", time.get_attribute("title") or "")
    watch.require_clean()
    context.close()


def chip(page: Page, name: str) -> Locator:
    return page.locator(f"[data-filter={name}]")


def test_filters_are_chips_in_the_address(url: str, page: Page) -> None:
    watch = show(page, url, "verdicts")
    rows = page.locator("[data-row]")
    expect(rows).to_have_count(REFUSED)
    page.get_by_label("protocol", exact=True).select_option("apc")
    expect(chip(page, "protocol")).to_contain_text("apc")
    page.get_by_label("rule", exact=True).fill("no_such_rule")
    page.keyboard.press("Enter")
    expect(page.locator(".empty").first).to_contain_text("Nothing matches.")
    assert page.url.endswith("/verdicts?protocol=apc&rule=no_such_rule")
    page.go_back()
    expect(rows).to_have_count(REFUSED)
    assert chip(page, "rule").count() == 0
    page.get_by_label("Text in the rows").fill("no row has this")
    expect(rows).to_have_count(0)
    page.get_by_label("Text in the rows").fill("execution")
    expect(rows).to_have_count(REFUSED)
    page.reload()
    expect(rows).to_have_count(REFUSED)
    page.get_by_role("button", name="Clear protocol").click()
    expect(chip(page, "protocol")).to_have_count(0)
    assert page.url.endswith("/verdicts?q=execution")
    watch.require_clean()


def test_a_refused_filter_is_shown_at_its_control(url: str, page: Page) -> None:
    show(page, url, "verdicts?from=yesterday&protocol=apc")
    expect(chip(page, "from")).to_contain_text("query_value")
    expect(chip(page, "protocol")).not_to_contain_text("query_value")
    alert = page.locator("[role=alert][data-code=query_value]")
    expect(alert).to_contain_text("from: an ISO 8601 time with zone")
    page.get_by_role("button", name="Clear from").click()
    expect(page.locator("[data-row]")).to_have_count(REFUSED)
    expect(alert).to_have_count(0)
    expect(chip(page, "protocol")).to_contain_text("apc")


def test_a_refused_point_of_time_is_shown_with_the_way_back_to_now(url: str, page: Page) -> None:
    node = quote(f"apc:packet:{ACCEPTED['packet_id']}", safe="")
    show(page, url, f"things/{node}?as_of=yesterday")
    expect(page.locator("[role=alert][data-code=query_value]")).to_contain_text("as_of: ")
    page.locator("section[aria-label='Time travel']").get_by_role("button", name="To now").click()
    expect(page.locator(".state").first).to_have_text("ARCHIVED")


def save_view(page: Page) -> None:
    page.get_by_role("button", name="Save view").click()
    page.get_by_label("Name of the view").fill(VIEW)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_label("Name of the view").wait_for(state="detached")


def open_found(page: Page, text: str, label: str) -> None:
    """Find something by its words, and open the first choice with the keyboard."""
    page.keyboard.press("Control+k")
    page.get_by_label("Id, page or view").fill(text)
    expect(page.locator("#choice-0")).to_contain_text(label)
    page.keyboard.press("Enter")


def test_pages_and_saved_views_are_found(url: str, page: Page) -> None:
    watch = show(page, url, f"verdicts?rule={RULE}")
    save_view(page)
    open_found(page, "dead le", "Dead letters")
    page.wait_for_selector("main[data-page=dead-letters]")
    open_found(page, "REFUSED ones", VIEW)
    page.wait_for_selector("main[data-page=verdicts]")
    assert page.url.endswith(f"/verdicts?rule={RULE}")
    expect(page.locator("[data-row]")).to_have_count(REFUSED)
    page.keyboard.press("Control+k")
    page.get_by_label("Id, page or view").fill("nothing has this name")
    expect(page.get_by_role("dialog", name="Find")).to_contain_text("Nothing begins like this.")
    watch.require_clean()


def test_saved_views_are_kept_exported_and_imported(url: str, browser: Browser) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    watch = show(page, url, f"verdicts?rule={RULE}")
    save_view(page)
    show(page, url, "saved-views")
    page.get_by_role("button", name="Copy as JSON").click()
    page.get_by_role("button", name="copied").wait_for()
    exported = page.evaluate("navigator.clipboard.readText()")
    assert json.loads(exported) == [{"name": VIEW, "path": f"/console/verdicts?rule={RULE}"}]
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("link", name=VIEW)).to_have_count(0)
    foreign = [{"name": "elsewhere", "path": "https://elsewhere.example/console/"}]
    page.get_by_label("Import JSON").fill(json.dumps(json.loads(exported) + foreign))
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("1 taken over.")).to_be_visible()
    page.get_by_role("link", name=VIEW).click()
    page.wait_for_selector("main[data-page=verdicts]")
    expect(page.locator("[data-row]")).to_have_count(REFUSED)
    page.reload()
    show(page, url, "saved-views")
    expect(page.get_by_role("link", name=VIEW)).to_have_count(1)
    expect(page.get_by_role("link", name="elsewhere")).to_have_count(0)
    watch.require_clean()
    context.close()


def read_view(page: Page) -> str:
    """Return how the graph is moved and scaled."""
    return page.locator("[data-graph] > svg > g").get_attribute("transform") or ""


def press(page: Page, key: str) -> None:
    """Press a key that moves or scales the graph."""
    before = read_view(page)
    page.keyboard.press(key)
    expect(page.locator("[data-graph] > svg > g")).not_to_have_attribute("transform", before)


def test_the_lineage_graph_is_walked_by_keys(url: str, page: Page) -> None:
    """Zoom, pan, go along an edge and back, and open the node that has the focus."""
    node = f"apc:packet:{ACCEPTED['packet_id']}"
    watch = show(page, url, f"lineage?node={quote(node, safe='')}")
    graph = page.locator("[data-graph]")
    graph.focus()
    page.keyboard.press("0")
    whole = read_view(page)
    for key in ("+", "-", "-", "Shift+ArrowLeft", "Shift+ArrowUp"):
        press(page, key)
    page.keyboard.press("0")
    expect(page.locator("[data-graph] > svg > g")).to_have_attribute("transform", whole)
    expect(graph).to_have_attribute("aria-activedescendant", f"node_{node}")
    page.keyboard.press("ArrowUp")
    above = page.locator(".node.focused")
    expect(above).not_to_have_attribute("data-node", node)
    focused = above.get_attribute("data-node") or ""
    expect(graph).to_have_attribute("aria-activedescendant", f"node_{focused}")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".node.focused")).to_have_attribute("data-node", node)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_selector("main[data-page=thing]")
    assert page.url.endswith(f"/console/things/{quote(focused, safe='')}")
    watch.require_clean()


def test_nothing_moves_for_who_wants_no_motion(url: str, browser: Browser) -> None:
    moving: dict[str, list[str]] = {}
    for motion in ("reduce", "no-preference"):
        context = browser.new_context(reduced_motion="reduce" if motion == "reduce" else None)
        page = context.new_page()
        show(page, url)
        moving[motion] = page.evaluate(MOVING)
        context.close()
    assert moving["reduce"] == []
    assert moving["no-preference"] != []
