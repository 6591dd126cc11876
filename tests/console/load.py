"""Events of agents at a steady rate, and what a page of the console makes of them."""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import confluent_kafka as ck
from playwright.sync_api import Page

from schemas import encode, from_json
from streams.settings import Settings
from tests.processes import wait_for
from topology.core import RTES_RAW
from topology.keys import partition_of

SESSIONS = 20
CAPACITY = 5000
"""The most rows that a tail keeps."""

LOOK_S = 0.1
MIB = 2**20
VISIBILITY = """
let hidden = false;
Object.defineProperty(document, 'hidden', {get: () => hidden});
Object.defineProperty(document, 'visibilityState', {get: () => (hidden ? 'hidden' : 'visible')});
window.setHidden = value => {
  hidden = value;
  document.dispatchEvent(new Event('visibilitychange'));
};
"""
"""A headless browser shows every tab: a page with this script is hidden when a test says so."""
_LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver(list => {
  for (const task of list.getEntries()) window.longTasks.push(task.duration);
}).observe({type: 'longtask', buffered: true});
"""
_SCROLL = """
async (each, views) => {
  each.scrollTop += views * each.clientHeight;
  await new Promise(done => {
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
  });
  return each.scrollTop + each.clientHeight < each.scrollHeight - 1;
}
"""
_TASKS = "disabled-by-default-devtools.timeline"
"""The category of a trace that has each task of a thread."""

_KEYS = "rows => rows.map(row => row.dataset.key)"


class EventLoad:
    """A number of transitions in sessions of their own, a row of the live page each."""

    def __init__(self, settings: Settings, count: int, rate: int) -> None:
        self._settings = settings
        self._count = count
        self._rate = rate
        name = uuid.uuid4().hex[:8]
        self.sessions = [f"load-{name}-{number:02d}" for number in range(SESSIONS)]
        self.sent_at: dict[str, float] = {}
        """The time when each event was sent, by the key of its row, `session#sequence`."""

    def send(self) -> None:
        """Write the events to Kafka, where the worker reads them."""
        producer = ck.Producer({"bootstrap.servers": self._settings.bootstrap, "linger.ms": 5})
        topic, record = self._settings.prefix + RTES_RAW.name, RTES_RAW.record or ""
        began = time.monotonic()
        for number in range(self._count):
            event = self._event(number)
            key = event["session_id"].encode()
            body = encode(record, from_json(record, event))
            while (ahead := began + number / self._rate - time.monotonic()) > 0:
                producer.poll(ahead)
            self.sent_at[f"{event['session_id']}#{number // SESSIONS + 1}"] = time.time()
            producer.produce(topic, body, key, partition_of(key, self._settings.partitions))
        producer.flush(60)

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Send from another thread, and wait for it in the end."""
        sender = threading.Thread(target=self.send)
        sender.start()
        try:
            yield
        finally:
            sender.join()

    def _event(self, number: int) -> dict[str, Any]:
        return {
            "event_id": str(uuid.uuid4()),
            "session_id": self.sessions[number % SESSIONS],
            "payload": {
                "type": "TASK_TRANSITION",
                "task_id": str(uuid.uuid4()),
                "from_state": "PENDING",
                "to_state": "IN_PROGRESS",
                "timestamp": "2026-02-19T07:50:00Z",
            },
        }


class TailPage:
    """A page that follows the live tail."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._tail = page.locator("[data-tail]")
        page.add_init_script(_LONG_TASKS)

    def open(self, url: str) -> None:
        self.page.goto(f"{url}/console/live")
        self.wait_state("live")

    def wait_state(self, state: str, patience_s: float = 60) -> None:
        wait_for(lambda: self.state == state, f"the tail is {state}", patience_s, LOOK_S)

    def wait_received(self, count: int, patience_s: float = 180) -> None:
        """Wait until the page has counted so many events; fails as soon as it has more."""

        def all_there() -> bool:
            received = self.count("received")
            assert received <= count, f"{received} of {count} events"
            return received == count

        wait_for(all_there, f"{count} events are received", patience_s, LOOK_S)

    @property
    def state(self) -> str:
        return self._tail.get_attribute("data-state") or ""

    def count(self, name: str) -> int:
        """Return a figure of the tail: `received`, `kept` or `let-go`."""
        return int(self._tail.get_attribute(f"data-{name}") or "-1")

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def long_tasks(self) -> list[float]:
        """Return the milliseconds of each task of more than 50 ms since the page was opened."""
        durations: list[float] = self.page.evaluate("window.longTasks")
        return durations

    @contextmanager
    def tracing(self) -> Iterator[list[float]]:
        """Record the page's tasks; at the end, add the ms of processor time that each has taken.

        Unlike `long_tasks`, these do not grow when other programs take the processors.
        """
        browser = self.page.context.browser
        assert browser is not None
        took: list[float] = []
        browser.start_tracing(page=self.page, categories=["-*", _TASKS])
        yield took
        took += _page_tasks(json.loads(browser.stop_tracing())["traceEvents"])

    def row_elements(self) -> int:
        return self.page.locator("[data-row]").count()

    def heap_mib(self) -> float:
        """Return the memory of the page's objects after a collection of garbage."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("HeapProfiler.enable")
        session.send("HeapProfiler.collectGarbage")
        usage = session.send("Runtime.getHeapUsage")
        session.detach()
        return float(usage["usedSize"]) / MIB

    def read_rows(self) -> list[str]:
        """Scroll through the list; return the key of each row, in their order."""
        scroller = self.page.locator("section.tail")
        self.page.get_by_role("button", name="Follow", pressed=True).click()
        keys: dict[str, None] = {}
        views, ahead = float(-CAPACITY), True
        while ahead:  # heights of rows are estimates until they are drawn: the end moves
            ahead = scroller.evaluate(_SCROLL, views)
            keys.update(dict.fromkeys(self.page.locator("[data-row]").evaluate_all(_KEYS)))
            views = 0.5
        return list(keys)


def _page_tasks(events: list[dict[str, Any]]) -> list[float]:
    """Return the ms of processor time of each task of the main threads of pages in a trace."""
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    return [
        event["tdur"] / 1000
        for event in events
        if event["name"] == "RunTask" and (event["pid"], event["tid"]) in mains and "tdur" in event
    ]


def sequences_by_session(keys: list[str]) -> dict[str, list[int]]:
    """Return the sequences of rows, `session#sequence`, by session."""
    sequences: dict[str, list[int]] = {}
    for key in keys:
        match = re.fullmatch(r"(.+)#(\d+)", key)
        assert match, key
        sequences.setdefault(match[1], []).append(int(match[2]))
    return sequences
