"""Saved states, and the state after any event of an event-sourced task."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.asap.queries.stage import message, request, response, text, update
from tests.unit.protocols.asap.queries.test_tasks import ENVELOPES, TASKS, refused, worked
from tests.unit.views.bench import Bench

Json = dict[str, Any]
SOURCED = {"state_mode": "event-sourced", "event_retention_hours": 1}
HOUR_MS = 3_600_000


def sourced(bench: Bench) -> list[Json]:
    """An event-sourced task; the data that was live after each of its events."""
    states: list[Json] = []
    for envelope, data in (
        (request(config=SOURCED), {}),
        (update("u1", save={"page": 1, "of": 4}), {"page": 1, "of": 4}),
        (update("u2", save=[{"patch": {"page": 2, "of": None}}]), {"page": 2}),
        (message("m1", [text("go on")]), {"page": 2}),
        (response("r1", final_state={"data": {"page": 4}}), {"page": 4}),
    ):
        bench.send(ENVELOPES, envelope)
        states.append(data)
    return states


def test_snapshots_are_listed_without_their_data(bench: Bench) -> None:
    worked(bench)
    body = bench.look(f"{TASKS}/t1/snapshots")
    assert (body["task_id"], body["snapshot_mark"]) == ("t1", 3)
    assert [each["version"] for each in body["snapshots"]] == [1, 2, 3]
    assert set(body["snapshots"][0]) == {
        *("id", "version", "checkpoint", "created_at", "restored_from")
    }


def test_one_snapshot(bench: Bench) -> None:
    worked(bench)
    path = f"{TASKS}/t1/snapshots"
    second = bench.look(f"{path}/2")
    assert list(second) == ["id", "task_id", "version", "data", "checkpoint", "created_at"]
    assert (second["task_id"], second["version"], second["data"]) == ("t1", 2, {"page": 2})
    assert bench.look(f"{path}/latest")["data"] == {"page": 4}
    for missing in ("4", "0", "01", "-1", "x", "checkpoint", "9" * 30):
        assert refused(bench, f"{path}/{missing}") == (404, "snapshot_not_found")
    checkpoint_update = update("u3", save=[{"data": {}, "checkpoint": True}], task="t2")
    bench.send(ENVELOPES, request("t2"), checkpoint_update, update("u4", save={"n": 2}, task="t2"))
    assert bench.look(f"{TASKS}/t2/snapshots/checkpoint")["version"] == 1
    assert bench.look(f"{TASKS}/t2/snapshots/latest")["version"] == 2


def test_a_deleted_snapshot_is_gone(bench: Bench) -> None:
    bench.send(
        ENVELOPES,
        request(),
        *[update(f"u{n}", save={"page": n}) for n in (1, 2)],
        update("u3", save=[{"delete": True, "version": 2}]),
    )
    body = bench.look(f"{TASKS}/t1/snapshots")
    assert (body["snapshot_mark"], [each["version"] for each in body["snapshots"]]) == (2, [1])
    assert bench.look(f"{TASKS}/t1/snapshots/latest")["version"] == 1


def test_the_state_after_any_event_is_what_was_live_then(bench: Bench) -> None:
    states = sourced(bench)
    for at, data in enumerate(states, 1):
        then = bench.look(f"{TASKS}/t1", f"at={at}")
        assert (then["task_id"], then["version"]) == ("t1", at)
        assert then["state"]["data"] == data
        events_page = bench.look(f"{TASKS}/t1/events", f"at={at}")
        assert [event["sequence"] for event in events_page["events"]] == list(range(1, at + 1))
        assert (events_page["version"], events_page["state"]) == (at, then["state"])
        if at > 1:
            snapshot = bench.look(f"{TASKS}/t1/snapshots/{at}")
            assert (snapshot["id"], snapshot["data"]) == (f"t1@{at}", data)
    last = bench.look(f"{TASKS}/t1", f"at={len(states)}")["state"]
    assert last["task"] == bench.look(f"{TASKS}/t1")["task"]
    assert bench.look(f"{TASKS}/t1/snapshots/latest")["version"] == len(states)


def test_a_checkpoint_may_be_a_patch(bench: Bench) -> None:
    sourced(bench)
    path = f"{TASKS}/t2/snapshots/checkpoint"
    bench.send(ENVELOPES, request("t2", config=SOURCED), update("u5", save={"n": 1}, task="t2"))
    assert refused(bench, path) == (404, "snapshot_not_found")
    patch = {"patch": {"m": 2}, "checkpoint": True}
    bench.send(ENVELOPES, update("u6", save=[patch], task="t2"), update("u7", task="t2"))
    snapshot = bench.look(path)
    assert (snapshot["id"], snapshot["data"], snapshot["checkpoint"]) == (
        "t2@3",
        {"n": 1, "m": 2},
        True,
    )


@pytest.mark.parametrize("path", ["", "/events"])
def test_states_that_are_none(bench: Bench, path: str) -> None:
    sourced(bench)
    for at in (0, -1, 6):
        assert refused(bench, f"{TASKS}/t1{path}", f"at={at}") == (404, "version_not_found")
    bench.send(ENVELOPES, request("t2"))
    assert refused(bench, f"{TASKS}/t2{path}", "at=1") == (409, "state_mode_conflict")


def test_expired_events_are_gone(bench: Bench) -> None:
    states = sourced(bench)
    bench.look(f"{TASKS}/t1/events")
    bench.now += HOUR_MS
    bench.host.run()
    body = bench.look(f"{TASKS}/t1")
    assert body["events_available"] is False
    assert body["response"]["id"] == "r1"
    for path in ("events", "events?at=2", "messages", "artifacts", "snapshots/3"):
        route, _, query = f"{TASKS}/t1/{path}".partition("?")
        assert refused(bench, route, query) == (410, "events_expired")
    assert refused(bench, f"{TASKS}/t1", "at=2") == (410, "events_expired")
    latest = bench.look(f"{TASKS}/t1/snapshots/latest")
    assert (latest["version"], latest["data"]) == (len(states), states[-1])
    assert b"go on" not in b"".join(row for _, row in bench.view.scan(b""))
