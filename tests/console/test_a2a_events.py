"""A browser's EventSource follows a task of A2A, and reconnects when the gateway is killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.integration.a2a_wire import A2aWire, message, register, reply, steps
from tests.integration.system import live
from tests.unit.protocols.summit.queries.stage import AGENT, manifest, result

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
FOLLOW = """url => {
  window.events = [];
  window.source = new EventSource(url);
  window.source.onmessage = event => {
    window.events.push([event.lastEventId, Object.keys(JSON.parse(event.data))[0]]);
  };
}"""
IS_CLOSED = "window.source.readyState === EventSource.CLOSED"


def test_event_source_reconnects_and_ends(broker: str, tmp_path: Path, page: Page) -> None:
    """Get each event once over the restart, in order, and stop when the task has ended."""
    with live(broker, tmp_path) as system:
        register(system, manifest())
        task_id = A2aWire(system.url, AGENT).send(message("m-1"), 0)["id"]
        page.goto(f"{system.url}/healthz")
        page.evaluate(FOLLOW, f"/a2a/{AGENT}/tasks/{task_id}:subscribe?A2A-Version=1.0")
        reply(system, *steps(task_id, range(2)))
        page.wait_for_function("window.events.length === 3")
        system.gateway.kill()
        system.start_gateway("--listen", system.url.removeprefix("http://"))
        reply(system, *steps(task_id, range(2, 4)), result(task_id))
        page.wait_for_function(IS_CLOSED)
        events = page.evaluate("window.events")
    snapshots = [event_id for event_id, kind in events if kind == "task"]
    others = [event_id for event_id, kind in events if kind != "task"]
    assert others == ["2", "3", "4", "5", "6a", "6"]
    assert snapshots == ["1", "3"]
