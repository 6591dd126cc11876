"""Tests of what others' tests and people rely on: figures, marks of rows and drawings, Copy."""

from __future__ import annotations

import re
import shlex
from typing import Any
from urllib.parse import quote

import click
import httpx
import pytest
from playwright.sync_api import Page, expect

from streams.cli import main
from tests.console.demo import SESSION, ToldDemo, settle
from tests.unit.protocols.saop.queries.stage import chunk, completed, invoked, move

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PACKET = "apc:packet:7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730"
PAGE_ROWS = 100
THING = f"things/{quote(PACKET, safe='')}?session_id={SESSION}"
COPIED = (
    *("", "verdicts?rule=phase_type", "agents", "apc?tab=packets&session_id=a%20b%27c", "sap"),
    *(f"apc?tab=coordination&session_id={SESSION}", "asap", "summit", "saop?tab=tasks"),
    *(
        "sap?tab=cache",
        "summit?tab=agents",
        "saop?tab=escalations",
        "saop?tab=rewinds&state=applied",
        "lineage?node=trace%3A{trace}&depth=2",
    ),
    *("summit?tab=tree", f"summit?tab=tree&runId=audit-{SESSION}"),
    *(
        "spread?run_id=run-01",
        f"saop?tab=events&session_id={SESSION}",
    ),
    *(THING, "traces/{trace}", "lineage?node=trace%3A{trace}", "spread", "audit", "log"),
    *("dead-letters", "records/apc.packets/0/0"),
)
COMMANDS = (
    ("verdicts?rule=phase_type&agent=a-1", "headrace verdicts --rule phase_type --agent a-1"),
    ("apc?tab=packets&session_id=a%20b", "headrace apc trace --session-id 'a b'"),
    ("apc?tab=packets&state=ROUTED", "headrace apc trace --state ROUTED"),
    ("apc?tab=coordination", ""),
    ("summit?agentId=stats&parentRunId=r", "headrace summit runs --agent stats --parent r"),
    ("saop?tab=events&session_id=s-1", "headrace rtes events --session s-1"),
    ("sap?tab=learning", "headrace sap learning"),
    ("sap?tab=learning&capability=c", "headrace sap learning c"),
    ("asap?tab=conversations", "headrace asap conversations"),
    ("dead-letters?topic=apc.packets", "headrace dlq records --topic apc.packets"),
    ("summit?tab=tree", "headrace summit runs --root"),
    ("summit?tab=tree&runId=r-1", "headrace summit tree r-1"),
)
"""What Copy offers as a command; nothing where no command shows the same."""


def show(page: Page, demo: ToldDemo, path: str) -> None:
    """Open a page of the console at the demo's time, and wait until it has its data."""
    page.clock.set_fixed_time(demo.now / 1000)
    page.goto("about:blank")
    page.goto(f"{demo.url}/console/{path.format(**demo.find_words())}")
    settle(page)


def read_values(page: Page, selector: str, *names: str) -> list[tuple[str | None, ...]]:
    """Return attributes of the elements that a selector names."""
    return [
        tuple(each.get_attribute(f"data-{name}") for name in names)
        for each in page.locator(selector).all()
    ]


def ask_thing(demo: ToldDemo) -> Any:
    return demo.ask(f"/v1/{THING}")


def test_each_figure_is_the_member_of_the_route(demo: ToldDemo, page: Page) -> None:
    show(page, demo, "")
    overview = demo.ask("/v1/overview")
    values = read_values(page, "[data-figure]", "figure", "value")
    figures = {str(name): value for name, value in values}
    assert figures == {
        **{name: str(overview[name]) for name in ("commands", "accepted", "duplicate", "rejected")},
        "dead_letters": str(sum(each["count"] for each in overview["dead_letters"])),
        "view_lag": str(overview["lag"]["view"]),
        "cache_hit_rate": str(overview["cache"]["hit_rate"]),
        "decayed": str(len(overview["decayed"])),
    }
    assert figures["decayed"] != "0"


@pytest.mark.parametrize("figure", ["duplicate", "rejected"])
def test_a_tile_leads_to_as_many_verdicts_as_it_counts(
    figure: str, demo: ToldDemo, page: Page
) -> None:
    """Follow the tile, then each of its counts by protocol: the list has so many rows."""
    show(page, demo, "")
    overview = demo.ask("/v1/overview")
    tile = page.locator(".tile", has=page.locator(f"[data-figure={figure}]"))
    links = {"": tile.locator(".whole").get_attribute("href")}
    counts = {"": overview[figure]}
    for part in tile.locator("[data-protocol]").all():
        protocol = part.get_attribute("data-protocol") or ""
        counts[protocol] = int(part.get_attribute("data-value") or "-1")
        links[protocol] = part.get_by_role("link").get_attribute("href")
    assert sum(counts.values()) == 2 * overview[figure] > 0
    for protocol, href in links.items():
        page.goto(f"{demo.url}{href}")
        settle(page)
        rows = min(counts[protocol], PAGE_ROWS)
        expect(page.locator(".count")).to_have_text(re.compile(f"{rows} rows?"))


def test_the_accepted_of_a_protocol_are_a_list_of_the_same_window(
    demo: ToldDemo, page: Page
) -> None:
    show(page, demo, "")
    overview = demo.ask("/v1/overview")
    tile = page.locator(".tile", has=page.locator("[data-figure=accepted]"))
    parts = {each.get_attribute("data-protocol"): each for each in tile.locator("li").all()}
    series = [each for each in overview["series"] if each["verdict"] == "accepted"]
    assert {name: part.get_attribute("data-value") for name, part in parts.items()} == {
        each["protocol"]: str(sum(each["counts"])) for each in series if any(each["counts"])
    }
    links = [part.get_by_role("link").get_attribute("href") or "" for part in parts.values()]
    for href in links:
        page.goto(f"{demo.url}{href}")
        settle(page)
        query = httpx.URL(page.url).params
        assert (query["from"], query["to"]) == (overview["from"], overview["to"])
        expect(page.locator("[data-row]").first).to_be_visible()


def test_a_timeline_and_a_machine_name_steps_and_states(demo: ToldDemo, page: Page) -> None:
    thing = ask_thing(demo)
    show(page, demo, THING)
    steps = read_values(page, "[data-step]", "step")
    assert steps == [(str(each["n"]),) for each in thing["steps"]]
    page.get_by_role("tab", name="State machine").click()
    page.locator(f"[data-machine='{thing['machine']}'] [data-current=true]").wait_for()
    states = read_values(page, "[data-machine] [data-state]", "state", "on-path", "current")
    passed = {state for each in thing["steps"] for state in (each["from"], each["to"]) if state}
    assert {state for state, on_path, _ in states if on_path == "true"} == passed
    assert [state for state, _, current in states if current == "true"] == [thing["state"]]


def test_a_graph_says_what_it_draws(demo: ToldDemo, page: Page) -> None:
    node = f"trace:{demo.find_words()['trace']}"
    graph = demo.ask(f"/v1/lineage/graph?node={quote(node, safe='')}&limit=10000")
    show(page, demo, "lineage?node=trace%3A{trace}")
    (counts,) = read_values(page, "[data-graph]", "nodes", "drawn", "folded")
    count = str(len(graph["nodes"]))
    assert counts == (count, count, "0")
    names = {name for (name,) in read_values(page, "[data-node]", "node")}
    assert names == {each["node"] for each in graph["nodes"]}


def test_rows_of_the_tail_name_sequence_call_and_outcome(demo: ToldDemo, page: Page) -> None:
    session = "named-tail"
    events = [
        chunk(session, 0, "I read the test."),
        invoked(session, "call-1"),
        invoked(session, "call-2"),
        completed(session, "call-2", status="failure", duration_ms=7),
        move(session, "t", "PENDING", "IN_PROGRESS"),
    ]
    demo.bench.send("rtes.raw", *events)
    show(page, demo, f"live?session_id={session}&from=earliest")
    expect(page.locator("[data-tail]")).to_have_attribute("data-received", str(len(events)))
    assert read_values(page, "[data-tail]", "state", "kept", "let-go") == [
        ("live", str(len(events)), "0")
    ]
    assert read_values(page, "[data-row]", "sequence") == [("1",), ("2",), ("3",), ("5",)]
    assert read_values(page, "[data-call-id]", "call-id", "status", "duration-ms") == [
        ("call-1", None, None),
        ("call-2", "failure", "7"),
    ]


@pytest.mark.parametrize("path", COPIED)
def test_the_copied_curl_command_gets_what_the_page_shows(
    path: str, demo: ToldDemo, page: Page
) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    show(page, demo, path)
    command = page.get_by_role("button", name="curl", exact=True).get_attribute("title") or ""
    program, url = shlex.split(command)
    assert program == "curl"
    assert httpx.get(url, timeout=60).status_code == 200
    assert httpx.URL(url).path in {httpx.URL(each).path for each in requests}


def parse(command: str) -> None:
    """Parse a copied command as `headrace` does.  Raises click.UsageError."""
    program, *words = shlex.split(command)
    assert program == "headrace"
    current: click.Command | None = main
    ctx = click.Context(main)
    name = program
    while isinstance(current, click.Group):
        name, *words = words
        current = current.get_command(ctx, name)
    assert current is not None, command
    current.make_context(name, words, parent=ctx)


@pytest.mark.parametrize(("path", "expected"), [*COMMANDS, *((path, None) for path in COPIED)])
def test_the_copied_command_is_one_that_headrace_takes(
    path: str, expected: str | None, demo: ToldDemo, page: Page
) -> None:
    show(page, demo, path)
    buttons = page.locator(".copy").get_by_role("button")
    copied = {each.inner_text(): each.get_attribute("title") for each in buttons.all()}
    assert copied.keys() >= {"link", "curl"}
    if expected is not None:
        assert copied.get("command", "") == expected
    elif "command" in copied:
        parse(copied["command"] or "")
