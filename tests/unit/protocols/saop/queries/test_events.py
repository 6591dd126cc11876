"""Events, calls, refused events, tasks and sessions, by every filter and page by page."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import example_count
from tests.unit.protocols.saop.queries.stage import chunk, completed, invoked, items, move, pulse
from tests.unit.views.bench import Bench

EVENTS, CALLS, TASKS = "/v1/rtes/events", "/v1/rtes/calls", "/v1/saop/tasks"
SESSIONS, REJECTIONS = "/v1/saop/sessions", "/v1/rtes/rejections"

TYPES = (
    "THOUGHT_STREAM",
    "TOOL_LIFECYCLE_INVOKED",
    "TOOL_LIFECYCLE_COMPLETED",
    "TASK_TRANSITION",
    "SANDBOX_PULSE",
)


@pytest.fixture
def session_bench(bench: Bench) -> Bench:
    bench.send(
        "rtes.raw",
        pulse("s1"),
        move("s1", "A", "PENDING", "IN_PROGRESS"),
        chunk("s1", 0, "hm"),
        invoked("s1", "c1"),
        pulse("s1"),
        completed("s1", "c1"),
        move("s1", "A", "IN_PROGRESS", "COMPLETED"),
        pulse("s1"),
        move("s1", "B", "PENDING", "IN_PROGRESS"),
        pulse("s1"),
        pulse("s2"),
    )
    return bench


def sequences(records: list[dict[str, Any]]) -> list[int]:
    return [record["sequence"] for record in records]


@pytest.mark.parametrize("kind", [None, *TYPES])
@pytest.mark.parametrize("task_id", [None, "A", "B", "C"])
@pytest.mark.parametrize("past", [None, 0, 4, 99])
def test_events_that_fit(
    session_bench: Bench, kind: str | None, task_id: str | None, past: int | None
) -> None:
    every = items(session_bench, EVENTS, session_id="s1")
    assert sequences(every) == list(range(1, 11))
    expected = [
        record
        for record in every
        if kind in (None, record["payload"]["type"])
        and task_id in (None, record["task_id"])
        and record["sequence"] > (past or 0)
    ]
    filters = {"type": kind, "task_id": task_id, "after_sequence": past}
    query = {name: value for name, value in filters.items() if value is not None}
    assert items(session_bench, EVENTS, session_id="s1", **query) == expected


def test_sessions_do_not_mix(session_bench: Bench) -> None:
    assert sequences(items(session_bench, EVENTS, session_id="s2")) == [1]
    assert items(session_bench, EVENTS, session_id="s") == []


def test_calls(bench: Bench) -> None:
    bench.send(
        "rtes.raw",
        move("s1", "A", "PENDING", "IN_PROGRESS"),
        invoked("s1", "c1", "ls"),
        completed("s1", "late", "cat", duration_ms=1.5, status="timeout"),
        invoked("s1", "c2", "rm"),
        completed("s1", "c1", "dir"),
        invoked("s1", "late", "cat"),
        move("s1", "A", "IN_PROGRESS", "COMPLETED"),
        completed("s1", "c2", "rm", status="failure"),
        invoked("s1", "c3"),
        invoked("s2", "c1"),
    )
    c1, late, c2, c3 = items(bench, CALLS, session_id="s1")
    assert c1 == {
        "call_id": "c1",
        "tool": "ls",
        "task_id": "A",
        "status": "success",
        "duration_ms": 5,
        "invoked_sequence": 2,
        "completed_sequence": 5,
        "flags": ["tool_mismatch"],
    }
    assert (late["duration_ms"], late["status"]) == (1.5, "timeout")
    assert (late["completed_sequence"], late["invoked_sequence"]) == (3, 6)
    assert late["flags"] == ["unpaired", "out_of_order"]
    assert (c2["task_id"], c2["status"]) == ("A", "failure")
    assert (c3["invoked_sequence"], c3["completed_sequence"], c3["status"]) == (9, None, None)
    assert items(bench, CALLS, session_id="s1", open="true") == [c3]
    assert items(bench, CALLS, session_id="s1", open="false") == [c1, late, c2, c3]
    assert [call["call_id"] for call in items(bench, CALLS, session_id="s2")] == ["c1"]


def test_refused_events_are_by_offset(session_bench: Bench) -> None:
    wrong = move("s1", "A", "PENDING", "IN_PROGRESS")
    again = pulse("s1")
    session_bench.send("rtes.raw", again, wrong, again, wrong)
    rejections = items(session_bench, REJECTIONS, session_id="s1")
    assert [rejection["rule"] for rejection in rejections] == [
        "from_state_mismatch",
        "event_duplicate",
        "from_state_mismatch",
    ]
    assert items(session_bench, REJECTIONS, session_id="s2") == []


@pytest.fixture
def worked(bench: Bench) -> Bench:
    """A and B of s2, A of s1, and a task of s1 whose name looks like another protocol's."""
    bench.send(
        "rtes.raw",
        move("s2", "B", "PENDING", "IN_PROGRESS"),
        move("s2", "A", "PENDING", "IN_PROGRESS"),
        move("s1", "A", "PENDING", "IN_PROGRESS"),
        move("s1", "A", "IN_PROGRESS", "FAILED"),
        move("s1", "a/b %", "PENDING", "SKIPPED"),
    )
    return bench


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, [("s1", "A"), ("s1", "a/b %"), ("s2", "A"), ("s2", "B")]),
        ({"session_id": "s2"}, [("s2", "A"), ("s2", "B")]),
        ({"task_id": "A"}, [("s1", "A"), ("s2", "A")]),
        ({"task_id": "A", "session_id": "s1"}, [("s1", "A")]),
        ({"task_id": "a/b %"}, [("s1", "a/b %")]),
        ({"state": "IN_PROGRESS"}, [("s2", "A"), ("s2", "B")]),
        ({"state": "FAILED"}, [("s1", "A")]),
        ({"state": "IN_PROGRESS", "task_id": "A"}, [("s2", "A")]),
        ({"state": "PENDING"}, []),
        ({"origin": "apc"}, []),
    ],
)
def test_tasks_that_fit(
    worked: Bench, query: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    tasks = items(worked, TASKS, **query)
    assert [(task["session_id"], task["task_id"]) for task in tasks] == expected


def test_what_sessions_come_to(worked: Bench) -> None:
    again = pulse("s1")
    worked.send("rtes.raw", again, again, move("s1", "A", "PENDING", "SKIPPED"))
    worked.send("rtes.raw", move("s3", "X", "NOWHERE", "PENDING"))
    first, second, third = items(worked, SESSIONS)
    assert first == {
        "session_id": "s1",
        "last_sequence": 4,
        "first_recorded_at": "2026-01-01T00:00:00.003Z",
        "last_recorded_at": "2026-01-01T00:00:00.006Z",
        "events_by_type": {"SANDBOX_PULSE": 1, "TASK_TRANSITION": 3},
        "tasks_by_state": {"FAILED": 1, "SKIPPED": 1},
        "current_task": None,
        "rejected": 1,
        "duplicates": 1,
    }
    assert (second["current_task"], second["tasks_by_state"]) == (None, {"IN_PROGRESS": 2})
    assert (third["last_sequence"], third["rejected"]) == (0, 1)
    assert (third["first_recorded_at"], third["tasks_by_state"]) == (None, {})
    worked.send("rtes.raw", move("s2", "B", "IN_PROGRESS", "COMPLETED"))
    (second,) = items(worked, SESSIONS, session_id="s2")
    assert second["current_task"] == "A"
    assert second["tasks_by_state"] == {"COMPLETED": 1, "IN_PROGRESS": 1}


def test_sessions_of_a_window_had_events_in_it(worked: Bench) -> None:
    every = items(worked, SESSIONS)
    times = [each["first_recorded_at"] for each in every]
    times += [each["last_recorded_at"] for each in every]
    for start in filter(None, times):
        for end in filter(None, times):
            listed = items(worked, SESSIONS, **{"from": start, "to": end})
            assert listed == [
                each
                for each in every
                if each["first_recorded_at"] is not None
                and each["first_recorded_at"] < end
                and each["last_recorded_at"] >= start
            ]
    latest = items(worked, SESSIONS, order="latest")
    assert latest == sorted(
        every, key=lambda each: (each["last_recorded_at"] or "", each["session_id"]), reverse=True
    )
    window = {"from": sorted(filter(None, times))[1]}
    in_window = items(worked, SESSIONS, **window)
    assert items(worked, SESSIONS, order="latest", **window) == [
        each for each in latest if each in in_window
    ]
    assert items(worked, SESSIONS, **{"from": times[0]}) != items(worked, SESSIONS, to=times[0])


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 3), st.booleans()), max_size=25))
@settings(
    max_examples=example_count(25), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
def test_sums_are_those_of_the_lists(
    tmp_path_factory: pytest.TempPathFactory, story: list[tuple[str, int, bool]]
) -> None:
    """Whatever happens, and however often the view looks."""
    states = ["PENDING", "IN_PROGRESS", "FAILED", "BLOCKED"]
    bench = Bench(tmp_path_factory.mktemp("bench"))
    at = dict.fromkeys("ABC", "PENDING")
    for task_id, state, look in story:
        bench.send("rtes.raw", move("s1", task_id, at[task_id], states[state]))
        for task in items(bench, TASKS, session_id="s1") if look else ():
            at[task["task_id"]] = task["state"]
    tasks = items(bench, TASKS, session_id="s1")
    for summary in items(bench, SESSIONS):
        counted = [task["state"] for task in tasks]
        assert summary["tasks_by_state"] == {s: counted.count(s) for s in sorted(set(counted))}
        active = [task["task_id"] for task in tasks if task["state"] == "IN_PROGRESS"]
        assert summary["current_task"] == (active[0] if len(active) == 1 else None)
        assert summary["last_sequence"] == len(items(bench, EVENTS, session_id="s1"))
        assert summary["rejected"] == len(items(bench, REJECTIONS, session_id="s1"))
    bench.close()
