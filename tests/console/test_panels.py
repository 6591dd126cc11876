"""Tests of what the console says of a thing below its header."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from streams.engine.records import TopicPartition
from tests.console.browser import Watch
from tests.console.demo import SESSION, ToldDemo
from tests.console.load import CAPACITY, TailPage
from tests.console.test_pages import AXE
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.test_connections import serving
from tests.unit.protocols.saop.queries.stage import pulse
from tests.unit.protocols.summit.queries.stage import (
    CALLS,
    REPLIES,
    RUN,
    example,
    invoke,
    registered,
    result,
)
from tests.unit.views.bench import Bench

pytestmark = pytest.mark.slow

HASHES = {"callHash", "inputHash", "manifestHash", "replyHash", "outputHash"}


class PanelSystem(NamedTuple):
    """A gateway over a system in memory, and its address."""

    bench: Bench
    url: str

    def open(self, page: Page, node: str) -> Watch:
        """Open the page of a thing, and wait until it has data."""
        watch = Watch(page, self.url)
        page.goto(f"{self.url}/console/things/{quote(node, safe='')}")
        page.locator("section.panel").wait_for()
        return watch


@pytest.fixture
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PanelSystem]:
    with (
        GatewayBench(tmp_path_factory.mktemp("panels")) as gateway,
        serving(100, gateway.app) as port,
    ):
        yield PanelSystem(gateway.bench, f"http://127.0.0.1:{port}")


def read_fact(page: Page, label: str) -> Locator:
    """Return what stands beside a label of the panel."""
    return page.locator(f"section.panel dt:text-is('{label}') + dd")


def test_the_hashes_of_a_run_are_computed_again(system: PanelSystem, page: Page) -> None:
    """Change the reply on the log, as only who has its files can: two hashes differ then."""
    example(system.bench)
    watch = system.open(page, f"summit:run:{RUN}")
    checks = read_fact(page, "evidence").locator(".check")
    expect(checks).to_have_count(len(HASHES))
    assert all(text.startswith("✔") for text in checks.all_inner_texts())
    report = Axe().run(page, options=AXE)
    assert report.violations_count == 0, report.generate_report()
    (reply,) = system.bench.records(REPLIES)
    system.bench.append(REPLIES, result(output={"words": 7}))
    (other,) = (each for each in system.bench.records(REPLIES) if each != reply)
    slots = system.bench.log.slots(TopicPartition(reply.topic, reply.partition))
    slots[reply.offset] = reply._replace(value=other.value)
    page.reload()
    expect(checks).to_have_count(len(HASHES))
    differing = {text.split()[1] for text in checks.all_inner_texts() if text.startswith("✖")}
    assert differing == {"replyHash", "outputHash"}
    watch.require_clean()


def test_a_thing_leads_to_its_record_and_the_rest_of_its_trace(demo: ToldDemo, page: Page) -> None:
    page.clock.set_fixed_time(demo.now / 1000)
    trace = demo.find_words()["trace"]
    others = {each["node"] for each in demo.ask(f"/v1/traces/{trace}")["items"]}
    run = f"summit:run:audit-{SESSION}"
    page.goto(f"{demo.url}/console/things/{quote(run, safe='')}?tab=related")
    section = page.locator("section", has_text="The rest of its trace").last
    expect(section.locator("li")).to_have_count(len(others - {run}))
    page.get_by_role("link", name="Raw record").click()
    page.wait_for_selector("main[data-page=record]")
    expect(page.locator("[data-json]").first).to_contain_text(run.rpartition(":")[2])


def test_what_the_tail_let_go_is_a_list_of_the_session(demo: ToldDemo, page: Page) -> None:
    count = len(demo.ask(f"/v1/rtes/events?session_id={SESSION}&limit=1000")["items"])
    page.goto(f"{demo.url}/console/saop?tab=events&session_id={SESSION}")
    expect(page.locator("[data-row]").first).to_be_visible()
    expect(page.locator(".count")).to_contain_text(f"{count} rows")
    assert page.locator("[data-row][data-key='1']").count() == 1


def test_what_the_tail_let_go_is_listed_by_session(demo: ToldDemo, page: Page) -> None:
    """Send more than is kept, of two sessions; each list begins with the first event let go."""
    sent = {"tail-1": 4000, "tail-2": CAPACITY - 3900}
    tail = TailPage(page)
    tail.open(demo.url)
    for session, count in sent.items():
        demo.bench.send("rtes.raw", *(pulse(session, str(n)) for n in range(count)))
    tail.wait_received(sum(sent.values()))
    let_go = tail.count("let-go")
    assert let_go == sum(sent.values()) - CAPACITY
    page.get_by_text("open as lists").click()
    rows = page.locator(".let-go li[data-count]")
    assert {
        row.get_attribute("data-key"): row.get_attribute("data-count") for row in rows.all()
    } == {"tail-1": str(let_go)}
    rows.first.get_by_role("link").click()
    page.wait_for_selector("main[data-page=saop]")
    expect(page.locator("[data-row]").first).to_have_attribute("data-key", "1")
    address = httpx.URL(page.url)
    assert (address.params["tab"], address.params["session_id"]) == ("events", "tail-1")


def test_runs_are_a_tree(system: PanelSystem, page: Page) -> None:
    """List the runs at the top; one of them leads to all runs below it, deepest last."""
    registered(system.bench)
    system.bench.send(CALLS, invoke("top"), invoke("other"))
    system.bench.send(CALLS, invoke("child", parentRunId="top"))
    system.bench.send(CALLS, invoke("grandchild", parentRunId="child"))
    watch = Watch(page, system.url)
    page.goto(f"{system.url}/console/summit?tab=tree")
    rows = page.locator("[data-row]")
    expect(rows).to_have_count(2)
    assert [row.get_attribute("data-key") for row in rows.all()] == ["other", "top"]
    rows.last.get_by_role("link", name="tree").click()
    expect(rows).to_have_count(3)
    keys = [row.get_attribute("data-key") for row in rows.all()]
    assert keys == ["top", "child", "grandchild"]
    rows.last.get_by_role("link", name="grandchild").click()
    page.wait_for_selector("main[data-page=thing]")
    expect(page.locator("h1")).to_contain_text("grandchild")
    watch.require_clean()
