"""Tests of what the console says of a thing below its header."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from streams.engine.records import TopicPartition
from tests.console.browser import Watch
from tests.console.demo import SESSION, ToldDemo
from tests.console.test_pages import AXE
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.test_connections import serving
from tests.unit.protocols.summit.queries.stage import REPLIES, RUN, example, result
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
