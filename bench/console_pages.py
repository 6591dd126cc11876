"""The figures of `bench.console` that Chromium takes of the pages."""

from __future__ import annotations

import statistics
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser

from bench.cluster import Worker, percentile
from bench.results import Recorder
from streams.settings import Settings
from tests.console.load import EventLoad, TailPage

READY = "html[data-ready=true]"
SLOW_RATE = 50
"""Events a second of which each row is drawn, so that each has a time."""

SLOW_S = 10
OVERVIEWS = 10
LIMIT_MS = 120_000
FRAME_LIMIT_MS = 10_000
"""How long a script waits for one frame: none is drawn of a page that is not in front."""
_FILLED = """
new MutationObserver(() => {
  if (document.documentElement?.dataset.ready === 'true') window.filledAt ??= performance.now();
}).observe(document, {attributes: true, subtree: true, attributeFilter: ['data-ready']});
"""
_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_DRAWN = """
window.drawnAt = {};
new MutationObserver(() => {
  const now = performance.timeOrigin + performance.now();
  for (const row of document.querySelectorAll('[data-row]')) {
    window.drawnAt[row.dataset.key] ??= now;
  }
}).observe(document, {childList: true, subtree: true, attributeFilter: ['data-key']});
"""
_FRAMES = """
  const deadline = performance.now() + %d;
  const drawFrame = () => new Promise((resolve, reject) => {
    if (performance.now() > deadline) {
      reject(new Error('the script took longer than its limit'));
      return;
    }
    const timer = setTimeout(() => reject(new Error('no frame was drawn')), %d);
    requestAnimationFrame(() => {
      clearTimeout(timer);
      resolve();
    });
  });
"""


def script(parameter: str, body: str, limit_ms: int = LIMIT_MS) -> str:
    """Return a script that may wait for frames by `drawFrame`, and ends within a limit.

    Playwright itself waits for a script's end for ever.
    """
    return f"async {parameter} => {{{_FRAMES % (limit_ms, FRAME_LIMIT_MS)}{body}}}"


SCROLL = script(
    "scroller",
    """
  const frames = [];
  let row_elements = 0;
  let before = performance.now();
  for (let top = 0; top < scroller.scrollHeight; top += scroller.clientHeight / 2) {
    scroller.scrollTop = top;
    await drawFrame();
    const now = performance.now();
    frames.push(now - before);
    before = now;
    row_elements = Math.max(row_elements, document.querySelectorAll('[data-row]').length);
  }
  return [frames, row_elements];
""",
)


class Loads:
    """The requests of a page: the path and the bytes that came over the wire for each."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self.sizes: list[tuple[str, float]] = []

    def sent(self, event: dict[str, Any]) -> None:
        self._paths[event["requestId"]] = urlsplit(event["request"]["url"]).path

    def finished(self, event: dict[str, Any]) -> None:
        self.sizes.append((self._paths.get(event["requestId"], ""), event["encodedDataLength"]))

    def of(self, *, api: bool) -> list[float]:
        """Return the bytes of each answer of the API, or of each other file."""
        return [size for path, size in self.sizes if path.startswith("/v1/") == api]


def first_view(runs: Recorder, browser: Browser, url: str, rounds: int) -> None:
    """Open the overview without a cache, several times; add the medians."""
    opened = [_open_overview(browser, url) for _ in range(rounds)]
    runs.add(
        "first view",
        **{name: statistics.median(one[name] for one in opened) for name in opened[0]},
    )


def _open_overview(browser: Browser, url: str) -> dict[str, float]:
    context = browser.new_context()
    context.set_default_timeout(LIMIT_MS)
    page, loads = context.new_page(), Loads()
    session = context.new_cdp_session(page)
    session.on("Network.requestWillBeSent", loads.sent)
    session.on("Network.loadingFinished", loads.finished)
    session.send("Network.enable")
    page.add_init_script(_FILLED)
    page.goto(f"{url}/console/")
    page.wait_for_selector(READY, state="attached")
    page.wait_for_function(_PAINTED)
    figures = {
        "painted_ms": float(page.evaluate(_PAINTED)),
        "filled_ms": float(page.evaluate("window.filledAt")),
        "files": float(len(loads.of(api=False))),
        "files_kb": sum(loads.of(api=False)) / 1000,
        "answers_kb": sum(loads.of(api=True)) / 1000,
    }
    context.close()
    return figures


def measure_rows(
    runs: Recorder, browser: Browser, url: str, settings: Settings, warm_up_s: int
) -> None:
    """Add how long it takes from producing an event until its row is in the page."""
    context = browser.new_context()
    context.set_default_timeout(LIMIT_MS)
    tail = TailPage(context.new_page())
    tail.page.add_init_script(_DRAWN)
    tail.open(url)
    before = SLOW_RATE * warm_up_s
    EventLoad(settings, before, SLOW_RATE).send()
    tail.wait_received(before)
    load = EventLoad(settings, SLOW_RATE * SLOW_S, SLOW_RATE)
    load.send()
    tail.wait_received(before + len(load.sent_at))
    drawn_at: dict[str, float] = tail.page.evaluate("window.drawnAt")
    took = [drawn_at[key] - at * 1000 for key, at in load.sent_at.items() if key in drawn_at]
    runs.add(
        f"tail, {SLOW_RATE} events/s: to the row",
        p50_ms=percentile(took, 0.5),
        p99_ms=percentile(took, 0.99),
        max_ms=max(took),
        rows=len(took),
        events=len(load.sent_at),
    )
    context.close()


def measure_tail(
    runs: Recorder, browser: Browser, url: str, settings: Settings, rate: int, seconds: int
) -> None:
    """Add what a fast stream costs the page, and how its rows scroll afterwards."""
    context = browser.new_context()
    context.set_default_timeout(LIMIT_MS)
    tail = TailPage(context.new_page())
    tail.open(url)
    with tail.tracing() as processor_ms:
        EventLoad(settings, rate * seconds, rate).send()
        tail.wait_received(rate * seconds)
    tasks = tail.long_tasks()
    runs.add(
        f"tail, {rate} events/s",
        seconds=seconds,
        received=tail.count("received"),
        rows=tail.count("kept"),
        heap_mib=tail.heap_mib(),
        tasks_above_50_ms=len(tasks),
        longest_task_ms=max(tasks, default=0.0),
        longest_task_cpu_ms=max(processor_ms),
    )
    tail.page.get_by_role("button", name="Follow", pressed=True).click()
    frames, row_elements = tail.page.locator("section.tail").evaluate(SCROLL)
    runs.add(
        "tail, scrolled from end to end",
        rows=tail.count("kept"),
        row_elements=row_elements,
        frame_p95_ms=percentile(frames, 0.95),
        frame_max_ms=max(frames),
    )
    context.close()


def measure_overviews(
    runs: Recorder, browser: Browser, url: str, served: Worker, seconds: int
) -> None:
    """Add the share of a core that the gateway takes for open overviews, beside none."""
    context = browser.new_context()
    context.set_default_timeout(LIMIT_MS)
    pages = [context.new_page() for _ in range(OVERVIEWS)]
    shares: list[float] = []
    for path in ("about:blank", f"{url}/console/"):
        for page in pages:
            page.goto(path)
        if path != "about:blank":
            for page in pages:
                page.wait_for_selector(READY, state="attached")
        before = served.cpu_s()
        pages[0].wait_for_timeout(seconds * 1000)
        shares.append((served.cpu_s() - before) / seconds * 100)
    without, with_pages = shares
    runs.add(
        f"{OVERVIEWS} open overviews",
        seconds=seconds,
        percent_of_a_core=with_pages - without,
        percent_without=without,
    )
    context.close()
