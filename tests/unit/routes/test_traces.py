"""What came of a trace, in all protocols."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streams.gateway.thing_responses import TraceThings
from tests.unit.routes.stories import Json, Story, lines_of

TRACE = "a7f5d5b2-13a8-4a0d-9ba2-6b1e3c6f9d11"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    played = Story(lines_of("lineage-graph"), tmp_path_factory.mktemp("story"))
    yield played
    played.scenario.close()


def packet(number: int) -> str:
    return f"apc:packet:00000000-0000-4000-8000-{number:012d}"


def test_it_lists_each_thing_once_below_its_parent(story: Story) -> None:
    status, body = story.ask(f"/v1/traces/{TRACE}")
    assert status == 200
    TraceThings.model_validate(body)
    items = {item["node"]: item for item in body["items"]}
    assert len(items) == len(body["items"])
    assert items[packet(1)]["parent"] is None
    assert items[packet(2)]["parent"] == packet(1)
    assert items[packet(3)]["parent"] == packet(2)
    assert (items[packet(2)]["state"], items[packet(2)]["verdict"]) == ("RETRACTED", "accepted")
    assert body["cut"] is None


def test_either_spelling_of_an_id_finds_it(story: Story) -> None:
    _, body = story.ask(f"/v1/traces/{TRACE}")
    _, other = story.ask(f"/v1/traces/{TRACE.replace('-', '')}")
    assert other["items"] == body["items"]


def test_an_earlier_time_has_only_what_was_there(story: Story) -> None:
    _, body = story.ask(f"/v1/traces/{TRACE}?as_of=2026-06-01T09:00:00.001Z")
    states = {item["node"]: item["state"] for item in body["items"]}
    assert states == {packet(1): "ARCHIVED", packet(2): "ARCHIVED"}


def test_an_unknown_trace_gets_404(story: Story) -> None:
    status, body = story.ask("/v1/traces/nobody")
    assert (status, body["rule"]) == (404, "node_unknown")
    status, body = story.ask(f"/v1/traces/{TRACE}?as_of=2026-05-01T09:00:00Z")
    assert (status, body["rule"]) == (404, "node_unknown")


def test_a_large_trace_is_cut(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.routes.traces.MOST_NODES", 2)
    _, body = story.ask(f"/v1/traces/{TRACE}")
    assert len(body["items"]) == 2
    assert body["cut"] == {"by": "size", "bound": 2}


def test_a_trace_is_a_thing_too(story: Story) -> None:
    _, thing = story.thing(f"trace:{TRACE}")
    assert (thing["kind"], thing["state"], thing["machine"]) == ("trace", None, None)
    assert thing["details"] == trace_of(story)
    status, _ = story.thing(f"trace:{TRACE}", "?as_of=2026-06-01T09:00:00.001Z")
    assert status == 200


def trace_of(story: Story) -> Json:
    _, body = story.ask(f"/v1/traces/{TRACE}")
    assert isinstance(body, dict)
    return body
