"""Tests of text that agents send: every page shows it as text, and it changes nothing."""

from __future__ import annotations

import itertools
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.browser import Watch
from tests.console.conftest import PATIENCE_MS
from tests.console.demo import ToldDemo, settle
from tests.console.hostile import HOSTILE, INSPECT, LONG, SEEN, SpoiledAnswers
from tests.unit.protocols.asap.queries.stage import manifest
from tests.unit.protocols.saop.queries.stage import chunk, completed, event, move, pulse
from tests.unit.protocols.sap.queries.test_learning import derived, written
from topology.sap import SAP_HEURISTICS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TABS = ("timeline", "machine", "why", "envelope", "related")
"""The tabs of a thing."""

REWIND = {
    "rewind_id": "11111111-2222-4333-8444-abcdefabcdef",
    "session_id": "rewound",
    "phase": "apply",
    "task_id": "A",
    "requested_by": "operator",
}
LISTS = (
    *("", "verdicts", "agents", "agents?tab=map", "audit", "log"),
    *("apc", "apc?tab=packets", "apc?tab=coordination&session_id={session}"),
    *("sap", "sap?tab=cache", "sap?tab=learning", "sap?tab=heuristics"),
    *("asap", "asap?tab=conversations", "asap?tab=agents", "summit", "summit?tab=agents"),
    *("summit?tab=tree", "saop", "saop?tab=tasks", "saop?tab=escalations", "saop?tab=rewinds"),
    *("spread", "spread?tab=generations", "spread?tab=arbitration", "spread?tab=throttling"),
    *("spread?tab=protocols", "dead-letters", "dead-letters?letter={letter}"),
    *("log?topic=apc.packets&partition=0", "records/{letter}", "traces/{trace}"),
    *("lineage?node=trace%3A{trace}", "lineage?node=trace%3A{trace}&tab=table"),
)
"""Pages of many things, with the words of `find_list_words`."""


def inspect(page: Page) -> list[str]:
    """Return what is in the page that a text must not bring there."""
    ran = page.evaluate("window.ran ?? null")
    reported: list[str] = page.evaluate(INSPECT, SEEN)
    return reported if ran is None else [f"{ran} ran", *reported]


def require_inert(watch: Watch) -> None:
    """Check that a page broke no rule, but for asking after ids that nobody has."""
    assert watch.read_violations() == []
    assert [each for each in watch.messages if "the server responded with a" not in each] == []
    assert watch.foreign == []


def find_list_words(demo: ToldDemo) -> dict[str, str]:
    """Return the words of `LISTS`: a dead letter, a session of APC, the trace of all protocols."""
    (letter, *_) = demo.ask("/v1/dead-letters")["items"]
    sessions = demo.ask("/v1/apc/sessions")["items"]
    closed = next(each["session_id"] for each in sessions if each["state"] == "CLOSED")
    words = {"letter": letter["position"], "session": closed}
    return {**demo.find_words(), **words}


def is_seen(page: Page) -> bool:
    """Return whether a page has the text, or an id with it, which may be cut before it."""
    if page.locator("main").get_by_text(SEEN).count() > 0:
        return True
    return page.locator(f"main [title*={SEEN}]").count() > 0


def list_nodes(demo: ToldDemo) -> list[str]:
    """Return a node of each kind of things that the trace of all protocols has."""
    trace = demo.find_words()["trace"]
    items = demo.ask(f"/v1/traces/{trace}")["items"]
    return list({item["kind"]: item["node"] for item in items}.values())


def test_hostile_text_in_things_of_each_protocol_is_only_text(demo: ToldDemo, page: Page) -> None:
    SpoiledAnswers(page)
    watch = Watch(page, demo.url)
    nodes = list_nodes(demo)
    assert {node.partition(":")[0] for node in nodes} == {"apc", "sap", "asap", "summit", "saop"}
    reported = []
    for node, tab in itertools.product(nodes, TABS):
        page.goto("about:blank")
        page.goto(f"{demo.url}/console/things/{quote(node, safe='')}?tab={tab}")
        settle(page)
        reported += [f"{node} {tab}: {each}" for each in inspect(page)]
        assert page.locator("main").get_by_text(SEEN).count() > 0
        require_inert(watch)
    assert reported == []


@pytest.mark.parametrize("width", [1280, 320])
def test_hostile_text_in_lists_is_only_text(width: int, demo: ToldDemo, browser: Browser) -> None:
    demo.bench.send("asap.manifests", manifest())
    written(demo.bench, SAP_HEURISTICS, derived("demo.heuristics", 1))
    demo.bench.send("rtes.raw", move("rewound", "A", "PENDING", "IN_PROGRESS", git_hash="5c0ffee1"))
    demo.bench.send("saop.rewinds", REWIND)
    context = browser.new_context(viewport={"width": width, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    SpoiledAnswers(page)
    watch = Watch(page, demo.url)
    words = find_list_words(demo)
    reported = []
    for path in (each.format(**words) for each in LISTS):
        page.goto("about:blank")
        page.goto(f"{demo.url}/console/{path}")
        settle(page)
        reported += [f"{path}: {each}" for each in inspect(page)]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            reported.append(f"{path}: scrolls sideways")
        if not is_seen(page):
            reported.append(f"{path}: the text is not there")
        watch.require_clean()
    context.close()
    assert reported == []


def test_hostile_text_of_what_is_found_is_only_text(demo: ToldDemo, page: Page) -> None:
    SpoiledAnswers(page)
    watch = Watch(page, demo.url)
    page.goto(f"{demo.url}/console/")
    settle(page)
    page.keyboard.press("Control+k")
    page.get_by_label("Id, page or view").fill("demo-0000")
    dialog = page.get_by_role("dialog", name="Find")
    dialog.get_by_text(SEEN).first.wait_for()
    assert inspect(page) == []
    watch.require_clean()


def test_hostile_text_in_addresses_is_only_text(demo: ToldDemo, page: Page) -> None:
    """Open pages whose address has the text: what Copy gives stays one argument of a shell."""
    watch = Watch(page, demo.url)
    text = quote(f"{HOSTILE}';id #", safe="")
    for path in (
        f"things/apc%3Apacket%3A{text}",
        f"traces/{text}",
        f"lineage?node={text}&depth={text}",
        f"verdicts?rule={text}&from={text}",
        f"live?session_id={text}",
        f"records/{text}/0/1",
        f"?window={text}",
    ):
        page.goto("about:blank")
        page.goto(f"{demo.url}/console/{path}")
        page.wait_for_selector("html[data-ready=true]", state="attached")
        assert inspect(page) == [], path
        require_inert(watch)


def test_hostile_events_in_the_tail_are_only_text(demo: ToldDemo, page: Page) -> None:
    session = "hostile-tail"
    demo.bench.send(
        "rtes.raw",
        chunk(session, 0, HOSTILE, final=True),
        event(
            session,
            "TOOL_LIFECYCLE_INVOKED",
            call_id=HOSTILE,
            tool=HOSTILE,
            arguments={HOSTILE: HOSTILE},
        ),
        completed(session, HOSTILE, HOSTILE),
        pulse(session, HOSTILE),
        move(session, "t", "PENDING", "IN_PROGRESS"),
    )
    watch = Watch(page, demo.url)
    page.goto(f"{demo.url}/console/live?session_id={session}&from=earliest")
    page.locator("[data-row]").nth(3).wait_for()
    expect(page.locator("[data-row]").first).to_contain_text(SEEN)
    assert inspect(page) == []
    watch.require_clean()


def test_long_text_is_clipped_until_all_of_it_is_asked_for(demo: ToldDemo, page: Page) -> None:
    session = "long-tail"
    demo.bench.send("rtes.raw", chunk(session, 0, LONG, final=True))
    watch = Watch(page, demo.url)
    page.goto(f"{demo.url}/console/live?session_id={session}&from=earliest")
    row = page.locator("[data-row]").first
    row.wait_for()
    button = row.get_by_role("button", name=re.compile("show all"))
    button.wait_for()
    expect(row).not_to_contain_text("END")
    button.click()
    expect(row).to_contain_text("END")
    watch.require_clean()


def test_a_text_of_a_mebibyte_is_linked(demo: ToldDemo, page: Page) -> None:
    """Require a link to the JSON of the API in place of what is above 256 KiB."""
    (task, *_) = demo.ask("/v1/sap/tasks")["items"]
    node = quote(f"sap:task:{task['taskId']}", safe="")
    page.goto(f"{demo.url}/console/things/{node}?tab=envelope")
    settle(page)
    assert page.locator("[data-json]").count() > 0
    SpoiledAnswers(page, "W" * 2**20, "**/v1/records/**")
    page.goto(f"{demo.url}/console/things/{node}?tab=envelope")
    page.get_by_role("link", name="Open the JSON of the API").first.wait_for()
    assert page.evaluate("document.body.innerText.length") < 2**18
