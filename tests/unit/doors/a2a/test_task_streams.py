"""Streams of tasks: what they send, and how they go on after an event that was seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.doors.a2a.bench import (
    EXT,
    TASK,
    A2aBench,
    a2a_bench,
    events_in,
    finished,
    sending,
    subscribe,
)
from tests.unit.protocols.summit.queries.stage import OUTPUT, progress, words


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[A2aBench]:
    with a2a_bench(tmp_path) as each:
        yield each


def test_stream_of_a_message(bench: A2aBench) -> None:
    """Check that a stream begins with the task, has each event once, and ends with the task."""
    bench.agent(lambda call: [progress(call["params"]["runId"], message="half"), *words(call)])
    response = bench.ask("POST", "/a2a/word-stats/message:stream", json=sending())
    events = events_in(response.text)
    first, last = events[0][1]["task"], events[-1][1]
    assert first["id"] == TASK
    assert (
        last["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
        if len(events) > 1
        else first["status"]["state"] == "TASK_STATE_COMPLETED"
    )
    ids = [event_id for event_id, _ in events]
    assert ["1", "2", "3a", "3"][-len(ids) :] == ids or ids == ["3"]
    assert response.headers["cache-control"] == "no-store"


def test_stream_resumes_at_each_event(bench: A2aBench) -> None:
    """Whatever event a client has seen last, the events after it are the same."""
    task_id = finished(bench)
    whole = subscribe(bench, task_id, "1")
    assert [event_id for event_id, _ in whole] == ["1", "2", "3", "4a", "4"]
    for place, (event_id, _) in enumerate(whole[:-1]):
        resumed = subscribe(bench, task_id, event_id)
        assert resumed[0][0] == event_id
        assert resumed[0][1]["task"]["metadata"][EXT]["id"] == event_id
        assert resumed[1:] == whole[place + 1 :]


def test_snapshot_as_of_an_event(bench: A2aBench) -> None:
    """Check that a resumed stream begins with the task as that event left it."""
    task_id = finished(bench)
    second, artifact = (subscribe(bench, task_id, each)[0][1]["task"] for each in ("2", "4a"))
    assert second["status"]["state"] == "TASK_STATE_WORKING"
    assert second["metadata"][EXT]["metrics"] == {"tokens": 3, "cost_usd": 0.5}
    assert len(second["history"]) == 2
    assert "artifacts" not in second
    assert artifact["status"]["state"] == "TASK_STATE_WORKING"
    assert artifact["artifacts"][0]["parts"][0]["data"] == OUTPUT


def test_events_of_a_task(bench: A2aBench) -> None:
    """Events name their sequence, their cause and their rule."""
    events = dict(subscribe(bench, finished(bench), "1"))
    half = events["2"]["statusUpdate"]
    assert half["status"]["message"]["parts"] == [{"text": "half"}]
    assert half["metadata"][EXT] == {
        "id": "2",
        "sequence": 2,
        "cause": half["metadata"][EXT]["cause"],
        "rule": "reply.progress",
        "metrics": {"tokens": 3, "cost_usd": 0.5},
    }
    artifact = events["4a"]["artifactUpdate"]
    assert artifact["lastChunk"] is True
    assert artifact["metadata"][EXT]["id"] == "4a"
    assert events["4"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("last_id", ["0", "5", "2a", "04", "4b", "x", "1" * 16])
def test_event_that_the_task_never_had(bench: A2aBench, last_id: str) -> None:
    """Check that a cursor of another form, or beyond the task, is refused."""
    error = bench.error(
        "SubscribeToTask", {"id": finished(bench)}, headers={"Last-Event-ID": last_id}
    )
    assert error["data"][0]["metadata"]["rule"] == "a2a.cursor"


def test_end_of_a_stream_for_browsers(bench: A2aBench) -> None:
    """GET at the last event of an ended task has no content, so EventSource stops."""
    path = f"/a2a/word-stats/tasks/{finished(bench)}:subscribe"
    assert bench.ask("GET", path, headers={"Last-Event-ID": "4"}).status_code == 204
    again = bench.ask("POST", path, headers={"Last-Event-ID": "4"})
    assert [event_id for event_id, _ in events_in(again.text)] == ["4"]
    assert bench.ask("GET", path).json()["error"]["details"][0]["metadata"]["rule"] == (
        "a2a.task_ended"
    )


def test_streams_are_given_back(tmp_path: Path) -> None:
    """Check that a stream that has ended takes no place any more."""
    with a2a_bench(tmp_path, gateway_max_streams=1, gateway_principal_streams=1) as bench:
        task_id = finished(bench)
        for _ in range(3):
            assert len(subscribe(bench, task_id, "1")) == 5
