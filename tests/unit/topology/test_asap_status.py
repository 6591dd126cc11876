"""What `topology` offers to programs that move ASAP tasks themselves."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.asap import InvalidTransitionError, Task, TaskStatus
from topology import VALID_TRANSITIONS, can_transition, next_status, next_version, transition
from topology.machines.asap_task import TaskEvent

ALLOWED = {
    ("submitted", "working"),
    ("submitted", "rejected"),
    ("submitted", "cancelled"),
    ("working", "input_required"),
    ("working", "paused"),
    ("working", "completed"),
    ("working", "failed"),
    ("working", "cancelled"),
    ("input_required", "working"),
    ("input_required", "cancelled"),
    ("paused", "working"),
    ("paused", "cancelled"),
}
"""The twelve moves of ASAP guide, 4.1, of 64 pairs."""
PAIRS = list(product(TaskStatus, TaskStatus))
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def task(status: TaskStatus) -> Task:
    return Task(
        id="t-1",
        conversation_id="c-1",
        status=status,
        progress={"percent": 4},
        created_at=NOON,
        updated_at=NOON,
    )


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_of_64_pairs_twelve_are_moves(before: TaskStatus, after: TaskStatus) -> None:
    legal = (before.value, after.value) in ALLOWED
    assert can_transition(before, after) is legal
    assert (after in VALID_TRANSITIONS[before]) is legal


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_a_task_is_copied_in_its_new_status_or_stays(before: TaskStatus, after: TaskStatus) -> None:
    given_task = task(before)
    at = datetime(2026, 11, 21, 13, tzinfo=UTC)
    if (before.value, after.value) in ALLOWED:
        next_task = transition(given_task, after, at=at)
        assert next_task == given_task.model_copy(update={"status": after, "updated_at": at})
        assert next_task.status is after
    else:
        with pytest.raises(InvalidTransitionError) as caught:
            transition(given_task, after, at=at)
        assert caught.value.code == "asap:protocol/invalid_state"
        assert str(caught.value) == f"Invalid transition from '{before.value}' to '{after.value}'"
        states = {"from_state": before.value, "to_state": after.value}
        assert caught.value.details == {**states, "task_id": "t-1"}
    assert given_task == task(before)


def test_a_move_without_a_time_is_made_now() -> None:
    before = datetime.now(UTC)
    next_task = transition(task(TaskStatus.SUBMITTED), TaskStatus.WORKING)
    assert before <= next_task.updated_at <= datetime.now(UTC)
    assert next_task.created_at == NOON


def test_tasks_can_be_cancelled_where_the_machine_says_so() -> None:
    for status in TaskStatus:
        assert task(status).can_be_cancelled() is can_transition(status, TaskStatus.CANCELLED)
        assert task(status).is_terminal() is (VALID_TRANSITIONS[status] == set())


@pytest.mark.parametrize("status", TaskStatus)
def test_only_the_service_fails_a_task_that_nobody_works_on(status: TaskStatus) -> None:
    if status.is_terminal():
        with pytest.raises(InvalidTransitionError):
            next_status(status, TaskEvent.TIME_OUT)
    else:
        assert next_status(status, "time_out") is TaskStatus.FAILED


def test_an_event_is_named_by_its_word_or_its_member() -> None:
    assert next_status(None, "request") is TaskStatus.SUBMITTED
    assert next_status("submitted", TaskEvent.START) is TaskStatus.WORKING
    with pytest.raises(InvalidTransitionError, match="from 'submitted' to 'complete'"):
        next_status(TaskStatus.SUBMITTED, "complete")
    with pytest.raises(InvalidTransitionError):
        next_status(TaskStatus.WORKING, "no such event")


@given(st.sets(st.integers(1, 1000)), st.integers(0, 1000))
def test_the_next_version_comes_after_all_there_are_and_were(existing: set[int], last: int) -> None:
    after = next_version(existing, last)
    assert after > last
    assert all(after > version for version in existing)
    assert after - 1 in existing | {last}


def test_versions_begin_at_one_and_are_never_given_twice() -> None:
    assert next_version([]) == 1
    assert next_version(iter([1, 2]), last=6) == 7
