"""Tests of pages with more than a browser can hold at once: long lists, graphs of many nodes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Error, Page, Route, expect

from bench.console_large import LOAD_ROWS, make_graph, name_node
from bench.console_pages import script
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.test_connections import serving

pytestmark = pytest.mark.slow

ROWS, PAGE_ROWS, MOST_ROWS = 10_000, 1000, 200
NODES, DRAWN = 2500, 2000
VERDICTS = re.compile(r"/v1/verdicts(\?|$)")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with (
        GatewayBench(tmp_path_factory.mktemp("large")) as bench,
        serving(100, bench.app) as port,
    ):
        yield f"http://127.0.0.1:{port}"


def make_verdict(number: int) -> dict[str, Any]:
    return {
        "at": "2026-01-01T00:00:00.000Z",
        "protocol": "apc",
        "topic": "apc.packets",
        "verdict": "rejected",
        "rule": "phase_type",
        "message": f"refusal {number}",
        "fault": "sender",
        "node": f"apc:packet:{number}",
        "title": f"IDEA {number}",
        "agent": "builder-1",
        "principal": None,
        "cause": f"apc.packets/0/{number}",
        "fact": f"apc.events/0/{number}",
    }


def answer_verdicts(route: Route) -> None:
    """Answer a page of the list in place of the gateway, always the same with the same tag."""
    cursor = parse_qs(urlsplit(route.request.url).query).get("cursor", ["0"])
    start = int(cursor[0])
    end = start + PAGE_ROWS
    items = [make_verdict(number) for number in range(start, end)]
    page = {"items": items, "next": str(end) if end < ROWS else None}
    route.fulfill(json=page, headers={"etag": f'W/"{start}"'})


def test_a_list_of_ten_thousand_rows_draws_those_in_view(url: str, page: Page) -> None:
    """Scroll to the last row; no page of the list is missing, and few rows are drawn at once."""
    page.route(VERDICTS, answer_verdicts)
    page.goto(f"{url}/console/verdicts")
    scroller = page.locator("section.scroller")
    for number in range(PAGE_ROWS, ROWS + 1, PAGE_ROWS):
        expect(page.locator(".count")).to_contain_text(f"{number:,} rows")
        assert 0 < page.locator("[data-row]").count() <= MOST_ROWS
        scroller.evaluate("each => { each.scrollTop = each.scrollHeight; }")
    last = page.locator(f"[data-row][aria-rowindex='{ROWS + 1}']")
    expect(last).to_contain_text(f"refusal {ROWS - 1}")
    expect(scroller.locator("table")).to_have_attribute("aria-rowcount", str(ROWS + 1))
    assert page.locator("[data-row]").count() <= MOST_ROWS


def test_a_page_of_a_list_that_fails_is_asked_for_again(url: str, page: Page) -> None:
    failed: list[str] = []

    def answer(route: Route) -> None:
        if "cursor=2000" in route.request.url and not failed:
            failed.append(route.request.url)
            route.abort()
        else:
            answer_verdicts(route)

    page.route(VERDICTS, answer)
    page.goto(f"{url}/console/verdicts")
    for count in ("1,000", "2,000", "3,000"):
        expect(page.locator(".count")).to_contain_text(f"{count} rows")
        page.locator("section.scroller").evaluate("each => { each.scrollTop = each.scrollHeight; }")
    assert failed


def test_a_graph_above_its_bound_says_what_it_leaves_out(url: str, page: Page) -> None:
    """Require only nodes in view in the document, without labels where they would be too small."""
    body = json.dumps(make_graph(NODES))
    page.route(
        "**/v1/lineage/graph?*",
        lambda route: route.fulfill(content_type="application/json", body=body),
    )
    page.goto(f"{url}/console/lineage?node={name_node(0)}")
    graph = page.locator("[data-graph]")
    expect(graph).to_have_attribute("data-nodes", str(NODES))
    expect(graph).to_have_attribute("data-drawn", str(DRAWN))
    expect(page.locator("main")).to_contain_text("2,000 of 2,500 are drawn; the table has all.")
    graph.focus()
    page.keyboard.press("0")
    expect(graph.locator("[data-node] text")).to_have_count(0)
    for _ in range(12):
        page.keyboard.press("+")
    expect(graph.locator("[data-node] text").first).to_be_attached()
    assert 0 < graph.locator("[data-node]").count() < DRAWN / 10
    page.get_by_role("tab", name="Table").click()
    expect(page.locator("section.scroller table")).to_have_attribute(
        "aria-rowcount", str(len(make_graph(NODES)["items"]) + 1)
    )


def test_a_script_of_the_bench_ends_where_rows_never_come(page: Page) -> None:
    """Let the script that loads a list wait for rows that a page does not have."""
    page.set_content("<section></section>")
    scroller = page.locator("section").element_handle()
    load = script("([scroller, count])", LOAD_ROWS, limit_ms=300)
    with pytest.raises(Error, match="longer than its limit"):
        page.evaluate(load, [scroller, ROWS])
