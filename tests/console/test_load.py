"""The live page under load: each event counted once, bounded memory, lost connections, many tabs.

A page's tasks are measured by their processor time: on a machine that is busy with other work they
take longer by the clock, which `python -m bench.console` measures too.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from urllib.parse import urlsplit

import httpx
import pytest
from httpx_sse import connect_sse
from playwright.sync_api import Browser, Page

from tests.console.load import (
    CAPACITY,
    LOOK_S,
    SESSIONS,
    VISIBILITY,
    EventLoad,
    TailPage,
    sequences_by_session,
)
from tests.integration.system import Live, live
from tests.processes import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

RATE, SECONDS = 1000, 30
MOST_ROWS = 200
MOST_HEAP_MIB = 100
MOST_TASK_MS = 200
HIDDEN_MS = 31_000
TABS = 4


@pytest.fixture(scope="module")
def system(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(broker, tmp_path_factory.mktemp("load")) as system:
        yield system


def count_events(system: Live, session: str) -> int:
    """Return how many events of a session the route has."""
    query = {"session_id": session, "limit": "1000", "fresh": "true"}
    count = 0
    with system.client as client:
        while True:
            answer = client.get("/v1/rtes/events", params=query).json()
            count += len(answer["items"])
            if answer["next"] is None:
                return count
            query["cursor"] = answer["next"]


def test_a_fast_stream_is_counted_and_shown_once(system: Live, page: Page) -> None:
    """Send 1,000 events a second for 30 s, and compare counts and rows with the route's."""
    tail = TailPage(page)
    tail.open(system.url)
    load = EventLoad(system.settings, RATE * SECONDS, RATE)
    with tail.tracing() as tasks:
        _follow(tail, load)
    assert tail.count("kept") == CAPACITY
    assert tail.count("let-go") == RATE * SECONDS - CAPACITY
    assert 0 < max(tasks) < MOST_TASK_MS, sorted(tasks)[-10:]
    assert tail.heap_mib() <= MOST_HEAP_MIB
    counts = {session: count_events(system, session) for session in load.sessions}
    assert sum(counts.values()) == RATE * SECONDS
    rows = tail.read_rows()
    assert len(rows) == CAPACITY
    sequences = sequences_by_session(rows)
    assert sequences.keys() <= counts.keys()
    for session, numbers in sequences.items():
        assert numbers == [*range(numbers[0], numbers[0] + len(numbers))]
        assert numbers[-1] == numbers[0] + len(numbers) - 1 == _last_sequence(system, session)


def _follow(tail: TailPage, load: EventLoad) -> None:
    """Send, and pause and resume the page meanwhile, until it has all events."""
    with load.sending():
        wait_for(lambda: tail.count("received") > RATE, "events come", look_s=LOOK_S)
        tail.press("Pause")
        tail.wait_state("paused")
        paused_at = tail.count("received")
        assert tail.row_elements() <= MOST_ROWS
        assert tail.count("received") == paused_at
        tail.press("Resume")
        tail.wait_state("live")
    tail.wait_received(RATE * SECONDS)


def _last_sequence(system: Live, session: str) -> int:
    with system.client as client:
        query = {"session_id": session, "limit": "1000"}
        answer = client.get("/v1/rtes/events", params=query).json()
        while answer["next"] is not None:
            answer = client.get(
                "/v1/rtes/events", params={**query, "cursor": answer["next"]}
            ).json()
    return int(answer["items"][-1]["sequence"])


def _follow_stream(url: str, count: int, is_open: Event) -> list[str]:
    """Return the events of a stream as keys of rows, once there are so many."""
    keys: list[str] = []
    with (
        httpx.Client(timeout=120) as client,
        connect_sse(client, "GET", f"{url}/v1/rtes/stream") as source,
    ):
        source.response.raise_for_status()
        is_open.set()
        for sent in source.iter_sse():
            if sent.data:
                value = json.loads(sent.data)
                keys.append(f"{value['session_id']}#{value['sequence']}")
            if len(keys) == count:
                break
    return keys


def test_another_client_sees_the_sequence_of_an_open_page(system: Live, page: Page) -> None:
    """Follow the stream with httpx-sse beside a page, which is paused and resumed meanwhile."""
    tail = TailPage(page)
    tail.open(system.url)
    count, rate = 2000, 400
    is_open = Event()
    load = EventLoad(system.settings, count, rate)
    with ThreadPoolExecutor(1) as pool:
        followed = pool.submit(_follow_stream, system.url, count, is_open)
        assert is_open.wait(60)
        with load.sending():
            wait_for(lambda: tail.count("received") > rate, "events come", look_s=LOOK_S)
            tail.press("Pause")
            tail.wait_state("paused")
            tail.press("Resume")
        keys = followed.result(120)
    tail.wait_received(count)
    assert sequences_by_session(keys).keys() == set(load.sessions)
    assert sequences_by_session(tail.read_rows()) == sequences_by_session(keys)


def test_four_tabs_follow_one_gateway_and_a_fifth_takes_over(
    system: Live, browser: Browser
) -> None:
    context = browser.new_context()
    tabs = [TailPage(context.new_page()) for _ in range(TABS)]
    for tab in tabs:
        tab.open(system.url)
    fifth = TailPage(context.new_page())
    fifth.page.goto(f"{system.url}/console/live")
    fifth.wait_state("paused")
    overview = context.new_page()
    overview.goto(f"{system.url}/console/")
    overview.wait_for_selector("html[data-ready=true]", state="attached")
    count = 2000
    EventLoad(system.settings, count, 500).send()
    for tab in tabs:
        tab.wait_received(count)
        assert tab.count("let-go") == 0
    assert fifth.count("received") == 0
    fifth.press("Take over from the oldest")
    fifth.wait_state("live")
    tabs[0].wait_state("paused")
    EventLoad(system.settings, SESSIONS, 500).send()
    for tab in tabs[1:]:
        tab.wait_received(count + SESSIONS)
    fifth.wait_received(SESSIONS)
    assert tabs[0].count("received") == count
    context.close()


def test_a_killed_gateway_costs_no_event_and_no_figure(system: Live, page: Page) -> None:
    tail = TailPage(page)
    tail.open(system.url)
    overview = page.context.new_page()
    overview.goto(f"{system.url}/console/")
    overview.wait_for_selector("html[data-ready=true]", state="attached")
    count, rate = 4000, 200
    with EventLoad(system.settings, count, rate).sending():
        wait_for(lambda: tail.count("received") > rate, "events come", look_s=LOOK_S)
        system.gateway.signal(signal.SIGKILL)
        tail.wait_state("reconnecting")
        overview.wait_for_selector("main[data-stale=true]", state="attached")
        system.start_gateway("--listen", urlsplit(system.url).netloc)
        tail.wait_state("live")
    tail.wait_received(count)
    overview.wait_for_selector("main:not([data-stale=true])", state="attached")
    with system.client as client:
        answer = client.get("/v1/overview", params={"fresh": "true"}).json()
    for name in ("commands", "accepted", "rejected"):
        figure = overview.locator(f"[data-figure={name}]").first
        assert figure.get_attribute("data-value") == str(answer[name])


def test_a_hidden_tab_asks_for_nothing_and_goes_on_where_it_was(system: Live, page: Page) -> None:
    page.clock.install()
    page.add_init_script(VISIBILITY)
    tail = TailPage(page)
    tail.open(system.url)
    overview = page.context.new_page()
    overview.clock.install()
    overview.add_init_script(VISIBILITY)
    requests: list[str] = []
    overview.goto(f"{system.url}/console/")
    overview.wait_for_selector("html[data-ready=true]", state="attached")
    with overview.expect_request("**/v1/overview*"):
        pass
    EventLoad(system.settings, SESSIONS, 500).send()
    tail.wait_received(SESSIONS)
    for hidden in (page, overview):
        hidden.evaluate("window.setHidden(true)")
    overview.on("request", lambda request: requests.append(request.url))
    assert tail.state == "live"
    for hidden in (page, overview):
        hidden.clock.fast_forward(HIDDEN_MS)
    tail.wait_state("paused")
    assert requests == []
    EventLoad(system.settings, SESSIONS, 500).send()
    assert tail.count("received") == SESSIONS
    with overview.expect_request("**/v1/overview*"):
        overview.evaluate("window.setHidden(false)")
    page.evaluate("window.setHidden(false)")
    tail.wait_state("live")
    tail.wait_received(2 * SESSIONS)
