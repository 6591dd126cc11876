"""Snapshots in snapshot mode: saved, read, restored, deleted (ASAP guide, 2.6, 4.4, 5.4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.asap import EXT_RESTORE
from streams.protocols.asap.processor import snapshots
from tests.examples import example_count
from tests.unit.protocols.asap.processor.support import (
    INDEXER,
    PLANNER,
    SERVICE,
    SNAPSHOT,
    Bench,
    Json,
)


def working() -> Bench:
    bench = Bench()
    bench.put_in("working")
    return bench


def read_snapshot(bench: Bench, version: int | None = None, **more: Any) -> Json | None:
    """The snapshot that the service answers a StateQuery of the worker with."""
    fact = bench.worker("StateQuery", {"version": version}, recipient=SERVICE, **more)
    assert fact["rule"] == "state_read"
    answer = bench.inbox(INDEXER)[-1]
    assert (answer["correlation_id"], answer["sender"]) == (fact["envelope_id"], SERVICE)
    snapshot: Json | None = answer["extensions"][SNAPSHOT]
    return snapshot


def test_saves_are_counted() -> None:
    bench = working()
    for n in (1, 2, 3):
        fact = bench.update(extensions={SNAPSHOT: {"data": {"page": n}, "checkpoint": n == 2}})
        assert (fact["rule"], fact["snapshot_version"]) == ("progress_noted", n)
    assert bench.versions() == [1, 2, 3]
    snapshot = bench.snapshot(2)
    assert snapshot is not None
    assert snapshot["data"] == {"page": 2}
    assert snapshot["checkpoint"] is True
    assert (bench.task()["snapshot_version"], bench.task()["snapshot_mark"]) == (3, 3)
    latest = read_snapshot(bench)
    assert latest is not None
    assert set(latest) == {"id", "task_id", "version", "data", "checkpoint", "created_at"}
    third = bench.snapshot(3)
    assert third is not None
    assert (latest["version"], latest["data"], latest["id"]) == (3, {"page": 3}, third["id"])


def test_a_version_is_never_given_again() -> None:
    """The example of ASAP guide, 4.4: saved 1, 2, 6, deleted 6: the latest is 2, the next is 7."""
    bench = working()
    for members in ({}, {}, {"version": 6}):
        assert bench.save({"data": {}, **members})["rule"] == "state_saved"
    fact = bench.save({"delete": True, "version": 6})
    assert (fact["figures"], fact["snapshot_version"]) == ({"deleted": [6]}, None)
    assert bench.task()["snapshot_version"] == 2
    assert bench.save({"data": {}})["snapshot_version"] == 7
    assert bench.save({"delete": True})["figures"] == {"deleted": [1, 2, 7]}
    assert bench.save({"delete": True})["figures"] == {"deleted": []}
    assert bench.save({"delete": True, "version": 7})["figures"] == {"deleted": []}
    assert (bench.versions(), bench.task()["snapshot_version"]) == ([], None)
    assert read_snapshot(bench) is None
    assert bench.save({"data": {}})["snapshot_version"] == 8


def test_a_worker_may_name_what_it_saves() -> None:
    bench = working()
    state = {"data": {"a": 1}, "version": 4, "id": "mine", "created_at": "2026-01-02T03:04:05.5Z"}
    bench.save(state)
    snapshot = read_snapshot(bench, 4)
    assert snapshot == {
        "id": "mine",
        "task_id": "T",
        "version": 4,
        "data": {"a": 1},
        "checkpoint": False,
        "created_at": "2026-01-02T03:04:05.500000Z",
    }
    bench.save({**state, "data": {"a": 2}, "id": "other"})
    assert bench.versions() == [4]
    assert bench.requester("StateRestore", {"snapshot_id": "mine"})["rule"] == "snapshot_not_found"
    assert bench.requester("StateRestore", {"snapshot_id": "other"})["rule"] == "state_restored"


def test_an_empty_name_is_a_name() -> None:
    bench = working()
    bench.save({"data": {}, "id": ""})
    snapshot = bench.snapshot(1)
    assert snapshot is not None
    assert snapshot["id"] == ""


def test_a_save_needs_no_status() -> None:
    """To the service, what else the update says is ignored."""
    bench = working()
    updated = bench.task()["updated_at"]
    more = {"update_type": "progress", "status": "completed", "progress": {"percent": 5}}
    extensions: Json = {SNAPSHOT: {"data": {}}}
    fact = bench.worker(
        "TaskUpdate", more, recipient=SERVICE, extensions=extensions, at=bench.now + 9
    )
    assert (fact["rule"], fact["status"], fact["transitions"]) == ("state_saved", "working", [])
    row = bench.task()
    assert (row["status"], row["progress"], row["updated_at"]) == ("working", None, updated)
    assert [e["payload_type"] for e in bench.inbox(PLANNER)] == ["TaskUpdate"]


@pytest.mark.parametrize(
    ("final", "data"),
    [
        ({"version": 9, "data": {"page": 42}}, {"page": 42}),
        ({"data": [1]}, {"data": [1]}),
        ({"page": 1}, {"page": 1}),
        ({}, {}),
    ],
)
def test_a_final_state_is_saved(final: Json, data: Json) -> None:
    bench = working()
    fact = bench.respond(payload={"final_state": final})
    assert fact["snapshot_version"] == 1
    snapshot = bench.snapshot(1)
    assert snapshot is not None
    assert (snapshot["data"], snapshot["checkpoint"]) == (data, False)


def test_a_restore_appends() -> None:
    bench = working()
    for n in (1, 2):
        bench.save({"data": {"n": n}, "checkpoint": True})
    first = bench.snapshot(1)
    assert first is not None
    fact = bench.worker("StateRestore", {"snapshot_id": first["id"]})
    assert (fact["rule"], fact["snapshot_version"]) == ("state_restored", 3)
    assert fact["figures"] == {"restored_from": 1}
    third = bench.snapshot(3)
    assert third is not None
    assert (third["data"], third["checkpoint"], third["restored_from"]) == ({"n": 1}, False, 1)
    assert bench.inbox(INDEXER)[-1]["correlation_id"] == fact["envelope_id"]
    assert ("asap:snapshot:T/3", "restores", "asap:snapshot:T/1") in bench.edges()


def test_the_requesters_restore_is_told_to_the_worker() -> None:
    bench = working()
    bench.save({"data": {"n": 1}, "id": "s"})
    fact = bench.requester("StateRestore", {"snapshot_id": "s"}, recipient=SERVICE, trace_id="tr")
    mine, theirs = bench.inbox(PLANNER)[-1], bench.inbox(INDEXER)[-1]
    assert (mine["correlation_id"], theirs["correlation_id"]) == (fact["envelope_id"], "T")
    assert EXT_RESTORE not in mine["extensions"]
    assert theirs["extensions"][EXT_RESTORE] is True
    assert theirs["extensions"][SNAPSHOT] == mine["extensions"][SNAPSHOT]
    assert {mine["trace_id"], theirs["trace_id"]} == {"tr"}
    assert mine["payload"] == {
        "task_id": "T",
        "update_type": "status_change",
        "status": "working",
        "progress": None,
        "input_request": None,
    }


def test_what_cannot_be_restored() -> None:
    bench = working()
    bench.save({"data": {}, "id": "s"})
    fact = bench.requester("StateRestore", {"snapshot_id": "T@1"})
    assert (fact["rule"], fact["asap_error"]) == (
        "snapshot_not_found",
        "asap:task/snapshot_not_found",
    )
    bench.respond()
    fact = bench.requester("StateRestore", {"snapshot_id": "s"})
    assert fact["rule"] == "task_already_terminal"
    assert bench.save({"data": {}})["rule"] == "task_already_terminal"


def test_a_patch_is_for_event_sourced_tasks() -> None:
    bench = working()
    fact = bench.save({"patch": {"a": 1}})
    assert fact["rule"] == "state_mode_conflict"
    assert fact["figures"] == {"state_mode": "snapshot", "used": ["patch"]}
    assert [bench.save({"data": {}})["snapshot_version"]] == [1]


@pytest.mark.parametrize("version", [0, -1, 5])
def test_a_version_that_is_not_there(version: int) -> None:
    bench = working()
    bench.save({"data": {}})
    assert read_snapshot(bench, version) is None


VERSIONS = st.integers(1, 6)
STEPS = st.one_of(
    st.tuples(st.just("create"), st.none()),
    st.tuples(st.just("save"), VERSIONS),
    st.tuples(st.just("delete"), st.one_of(st.none(), VERSIONS)),
)


@settings(max_examples=example_count(40), deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_the_log_keeps_versions_as_the_store_in_memory_does(
    steps: list[tuple[str, int | None]],
) -> None:
    bench = working()
    versions: dict[int, int] = {}
    mark = 0
    for n, (what, version) in enumerate(steps):
        change: Json = {"delete": True} if what == "delete" else {"data": {"n": n}}
        if version is not None:
            change["version"] = version
        bench.save(change)
        if what == "delete":
            versions = (
                {} if version is None else {v: d for v, d in versions.items() if v != version}
            )
        else:
            mark = max(mark, version or mark + 1)
            versions[version or mark] = n
        row = bench.task()
        assert bench.versions() == sorted(versions)
        assert (row["snapshot_mark"], row["snapshot_version"]) == (
            mark,
            max(versions, default=None),
        )
    for version, n in versions.items():
        snapshot = read_snapshot(bench, version)
        assert snapshot is not None
        assert snapshot["data"] == {"n": n}


VERSIONS = st.integers(1, 30)


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), VERSIONS), max_size=60))
def test_versions_are_sets(changes: list[tuple[bool, int]]) -> None:
    ranges: list[int] = []
    plain: set[int] = set()
    for add, version in changes:
        if add:
            ranges, plain = snapshots.add_version(ranges, version), plain | {version}
        else:
            ranges, plain = snapshots.remove_version(ranges, version), plain - {version}
        assert list(snapshots.each_version(ranges)) == sorted(plain)
        assert [v for v in range(32) if snapshots.has_version(ranges, v)] == sorted(plain)
        lows, highs = ranges[::2], ranges[1::2]
        assert all(low <= high for low, high in zip(lows, highs, strict=True))
        assert all(high + 1 < low for high, low in zip(highs, lows[1:], strict=False))


def test_a_counter_makes_one_range() -> None:
    ranges: list[int] = []
    for version in range(1, 10_001):
        ranges = snapshots.add_version(ranges, version)
    assert ranges == [1, 10_000]
