"""The figures of `bench.console` of what is large: a long list, and a graph of many nodes.

The graph is made here and given to the page in place of the gateway's answer: each node led to
eight others, and every third of them also came of a second one, so that no siblings fold.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Browser, Page, Route

from bench.cluster import percentile
from bench.console_pages import LIMIT_MS, READY, SCROLL, script
from bench.results import Recorder
from tests.console.load import TailPage

ROWS = 10_000
NODES = 2000
LED_TO = 8
AT = "2026-01-01T00:00:00.000Z"
LOAD_ROWS = """
  let last = 0;
  while (last < count) {
    scroller.scrollTop = scroller.scrollHeight;
    await drawFrame();
    const rows = scroller.querySelectorAll('[data-row]');
    last = Number(rows[rows.length - 1]?.getAttribute('aria-rowindex') ?? 1) - 1;
  }
  scroller.scrollTop = 0;
  await drawFrame();
  return last;
"""
_MOVE = """
  const box = canvas.getBoundingClientRect();
  const [clientX, clientY] = [box.x + box.width / 2, box.y + box.height / 2];
  const frames = [];
  let before = performance.now();
  const draw = async event => {
    canvas.dispatchEvent(event);
    await drawFrame();
    const now = performance.now();
    frames.push(now - before);
    before = now;
  };
  for (let number = 0; number < 80; number++) {
    const deltaY = number % 20 < 10 ? 1 : -1;
    await draw(new WheelEvent('wheel', {deltaY, clientX, clientY, cancelable: true}));
  }
  for (let number = 0; number < 80; number++) {
    const key = number % 40 < 20 ? 'ArrowRight' : 'ArrowLeft';
    await draw(new KeyboardEvent('keydown', {key, shiftKey: true, bubbles: true}));
  }
  return frames;
"""


def measure_list(runs: Recorder, browser: Browser, url: str, count: int) -> None:
    """Load a list of packets to the last row, then scroll through it.  count: of the packets."""
    page = _open(browser, f"{url}/console/apc?tab=packets")
    page.locator("[data-row]").first.wait_for()
    scroller = page.locator("section.scroller")
    load = script("([scroller, count])", LOAD_ROWS)
    rows = page.evaluate(load, [scroller.element_handle(), min(ROWS, count)])
    frames, row_elements = scroller.evaluate(SCROLL)
    runs.add(
        "list, scrolled from end to end",
        rows=rows,
        row_elements=row_elements,
        frame_p95_ms=percentile(frames, 0.95),
        frame_max_ms=max(frames),
        heap_mib=TailPage(page).heap_mib(),
    )
    page.context.close()


def measure_graph(runs: Recorder, browser: Browser, url: str, count: int = NODES) -> None:
    """Draw a graph, and zoom and pan it.

    The longest task of the page has the layout in it, beside reading and drawing.
    """
    page = _open(browser, f"{url}/console/lineage")
    graph = json.dumps(make_graph(count))

    def answer(route: Route) -> None:
        route.fulfill(content_type="application/json", body=graph)

    page.route("**/v1/lineage/graph?*", answer)
    with TailPage(page).tracing() as tasks:
        page.get_by_label("node", exact=True).fill(name_node(0))
        page.keyboard.press("Enter")
        canvas = page.locator(f"[data-graph][data-drawn='{count}']")
        canvas.wait_for()
    frames = canvas.evaluate(script("canvas", _MOVE))
    runs.add(
        "graph, zoomed and panned",
        nodes=count,
        longest_task_cpu_ms=max(tasks),
        frame_p95_ms=percentile(frames, 0.95),
        frame_max_ms=max(frames),
        heap_mib=TailPage(page).heap_mib(),
    )
    page.context.close()


def _open(browser: Browser, url: str) -> Page:
    context = browser.new_context()
    context.set_default_timeout(LIMIT_MS)
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector(READY, state="attached")
    return page


def name_node(number: int) -> str:
    return f"apc:packet:{number:08d}-0000-4000-8000-000000000000"


def make_graph(count: int) -> dict[str, Any]:
    """Return an answer of `/v1/lineage/graph` with so many nodes."""
    distances = [0]
    for number in range(1, count):
        distances.append(distances[_parent(number)] + 1)
    nodes = [
        {
            "node": name_node(number),
            "kind": "apc:packet",
            "distance": distance,
            "retracted_by": [],
        }
        for number, distance in enumerate(distances)
    ]
    items = [
        {
            "edge_id": f"{place:064x}",
            "from_node": name_node(later),
            "relation": "derived_from",
            "to_node": name_node(earlier),
            "at": AT,
            "cause": f"apc.packets/0/{later}",
        }
        for place, (later, earlier) in enumerate(_edges(count))
    ]
    return {
        "node": name_node(0),
        "direction": "both",
        "depth": 10,
        "nodes": nodes,
        "items": items,
        "next": None,
        "cut": None,
    }


def _parent(number: int) -> int:
    return (number - 1) // LED_TO


def _edges(count: int) -> Iterator[tuple[int, int]]:
    for number in range(1, count):
        parent = _parent(number)
        yield number, parent
        if number % 3 == 0 and _parent(parent) != parent - 1 and parent > 1:
            yield number, parent - 1
