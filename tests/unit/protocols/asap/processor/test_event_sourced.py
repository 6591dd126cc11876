"""Event-sourced tasks: version n is the state after event n (ASAP guide, 4.5)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import asap
from tests.examples import example_count
from tests.unit.protocols.asap.processor.support import INDEXER, SERVICE, SNAPSHOT, Bench, Json
from topology.asap import ASAP_EVENTS, ASAP_PATCHES

CONFIG = {"state_mode": "event-sourced", "event_retention_hours": 2}
HOUR = 3_600_000


def working() -> Bench:
    bench = Bench()
    bench.request(payload={"config": CONFIG})
    bench.update()
    return bench


def read_state(bench: Bench, version: int | None = None) -> Json | None:
    bench.worker("StateQuery", {"version": version}, recipient=SERVICE)
    snapshot: Json | None = bench.inbox(INDEXER)[-1]["extensions"][SNAPSHOT]
    return snapshot


def data(bench: Bench, version: int | None = None) -> Any:
    snapshot = read_state(bench, version)
    return None if snapshot is None else snapshot["data"]


def test_a_version_is_the_state_after_its_event() -> None:
    bench = working()
    assert bench.save({"data": {"a": 1, "b": {"c": 2}}})["snapshot_version"] == 3
    assert bench.save({"patch": {"b": {"d": 3}}, "checkpoint": True})["snapshot_version"] is None
    bench.update()
    assert bench.save({"patch": {"a": None}})["sequence"] == 6
    history = [data(bench, n) for n in range(7)]
    assert history == [
        {},
        {},
        {},
        {"a": 1, "b": {"c": 2}},
        {"a": 1, "b": {"c": 2, "d": 3}},
        {"a": 1, "b": {"c": 2, "d": 3}},
        {"b": {"c": 2, "d": 3}},
    ]
    assert bench.versions() == [3]
    snapshot = read_state(bench, 4)
    assert snapshot is not None
    assert (snapshot["id"], snapshot["version"], snapshot["checkpoint"]) == ("T@4", 4, True)


def test_the_latest_is_that_before_the_query() -> None:
    bench = working()
    bench.save({"data": {"a": 1}})
    snapshot = read_state(bench)
    assert snapshot is not None
    assert (snapshot["version"], snapshot["data"]) == (3, {"a": 1})
    assert read_state(bench, 99) is None
    assert read_state(bench, -1) is None


@pytest.mark.parametrize(
    "state",
    [
        {"delete": True},
        {"delete": True, "version": 1},
        {"data": {}, "version": 9},
        {"data": {}, "id": "mine"},
        {"data": {}, "created_at": "2026-01-01T00:00:00Z"},
    ],
)
def test_history_is_not_the_workers_to_write(state: Json) -> None:
    fact = working().save(state)
    assert fact["rule"] == "state_mode_conflict"
    assert fact["figures"]["state_mode"] == "event-sourced"


def test_a_restore_is_an_event() -> None:
    bench = working()
    bench.save({"data": {"a": 1}})
    bench.save({"patch": {"a": 2}})
    fact = bench.worker("StateRestore", {"snapshot_id": "T@3"}, recipient=SERVICE)
    assert (fact["rule"], fact["sequence"], fact["snapshot_version"]) == ("state_restored", 5, 5)
    assert [data(bench, n) for n in (4, 5)] == [{"a": 2}, {"a": 1}]
    for wrong in ("T@0", "T@99", "T@x", "U@3", "T"):
        assert bench.worker("StateRestore", {"snapshot_id": wrong})["rule"] == "snapshot_not_found"
    assert bench.worker("StateRestore", {"snapshot_id": "T@1"})["rule"] == "state_restored"
    assert data(bench) == {}


def test_the_end_of_the_events() -> None:
    bench = working()
    bench.save({"data": {"a": 1}})
    bench.save({"patch": {"b": 2}})
    bench.respond()
    ended = bench.now
    bench.worker("ArtifactNotify")
    assert [kind for _, kind, _ in bench.armed()] == ["expiry"]
    bench.advance_to(ended + 2 * HOUR)
    fact = bench.facts()[-1]
    assert (fact["kind"], fact["rule"], fact["sequence"]) == ("expired", "events_expired", None)
    assert (fact["at"], fact["cause"]) == (
        bench.facts()[-1]["at"],
        f"timer/expiry/T/{ended + 2 * HOUR}",
    )
    assert fact["snapshot_version"] == bench.task()["sequence"] == 6
    assert bench.task()["events_available"] is False
    assert bench.rows(ASAP_PATCHES) == {}
    assert bench.versions() == [3, 6]
    assert [data(bench, n) for n in (3, 4, 6)] == [{"a": 1}, None, {"a": 1, "b": 2}]
    bench.requester("MessageSend", {"sender": "urn:asap:agent:planner"})
    assert data(bench) == {"a": 1, "b": 2}


def test_a_last_snapshot_that_is_there_is_not_written_again() -> None:
    bench = working()
    bench.respond(payload={"final_state": {"a": 1}})
    assert bench.versions() == [3]
    bench.advance_to(bench.now + 2 * HOUR)
    assert (bench.facts()[-1]["snapshot_version"], bench.versions()) == (None, [3])


def test_a_state_that_no_row_can_hold_is_kept_as_it_is() -> None:
    bench = working()
    for n in range(6):
        bench.save({"patch": {f"n{n}": "x" * 800_000}})
    bench.respond()
    bench.advance_to(bench.now + 2 * HOUR)
    assert bench.facts()[-1]["rule"] == "events_expired"
    assert bench.facts()[-1]["snapshot_version"] is None
    assert (bench.versions(), bench.task()["events_available"]) == ([], False)
    assert set(data(bench)) == {f"n{n}" for n in range(6)}


STEPS = st.one_of(
    st.tuples(st.just("data"), st.dictionaries(st.sampled_from("ab"), st.integers(0, 3))),
    st.tuples(
        st.just("patch"),
        st.dictionaries(st.sampled_from("ab"), st.one_of(st.none(), st.integers(0, 3))),
    ),
    st.tuples(st.just("restore"), st.integers(1, 12)),
    st.tuples(st.just("other"), st.none()),
)


@settings(max_examples=example_count(60), deadline=None)
@given(st.lists(STEPS, max_size=10))
def test_every_version_equals_a_replay_of_the_facts(steps: list[tuple[str, Any]]) -> None:
    bench = working()
    for what, value in steps:
        if what == "restore":
            bench.worker("StateRestore", {"snapshot_id": f"T@{value}"})
        elif what == "other":
            bench.update()
        else:
            bench.save({what: value, "checkpoint": bool(value)})
    facts = [one.value for one in bench.of(ASAP_EVENTS) if one.value["sequence"] is not None]
    assert [fact["sequence"] for fact in facts] == list(range(1, len(facts) + 1))
    for n in range(1, len(facts) + 1):
        replayed, snapshot = asap.replay(facts, n), read_state(bench, n)
        assert replayed is not None
        assert snapshot is not None
        assert (snapshot["data"], snapshot["checkpoint"]) == (replayed.data, replayed.checkpoint)
        live = facts[n - 1]["status"]
        assert replayed.task["status"] == live
