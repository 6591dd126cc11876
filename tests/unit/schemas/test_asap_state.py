"""Folding the state of event-sourced tasks (ASAP guide, 4.5), and RFC 7396."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import asap, canonical_json, from_json
from schemas.asap import EXT_SNAPSHOT, Change, canonical_form, change_of, merge_patch, replay
from schemas.asap.constants import ENVELOPE_RECORD
from schemas.asap.state import StateAt, apply_change, fold
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import JSON, TEXT

EVENT = "dev.headrace.asap.AsapEvent"
SENT = {name: canonical_form(value) for name, value in examples.valid("asap").items()}
TASK = SENT["task_request"]["id"]
START = 1_795_255_200_000
RFC_7396 = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("target", "patch", "merged"), RFC_7396)
def test_the_examples_of_rfc_7396(target: Any, patch: Any, merged: Any) -> None:
    before = copy.deepcopy((target, patch))
    assert merge_patch(target, patch) == merged
    assert (target, patch) == before


OBJECTS = st.dictionaries(TEXT, JSON, max_size=4)


def patch_between(old: Any, new: Any) -> Any:
    """A patch that makes the new object of the old one; neither may hold null in an object."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    gone = {name: None for name in old if name not in new}
    changed = {name: patch_between(old.get(name), value) for name, value in new.items()}
    return gone | changed


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return value


@given(OBJECTS, OBJECTS)
def test_a_patch_between_two_objects_leads_from_one_to_the_other(old: Any, new: Any) -> None:
    old, new = without_nulls(old), without_nulls(new)
    assert merge_patch(old, patch_between(old, new)) == new


def update(extension: Any, **members: Any) -> dict[str, Any]:
    sent = copy.deepcopy(SENT["task_update"])
    sent["extensions"] = None if extension is None else {EXT_SNAPSHOT: extension}
    sent["payload"] |= members
    return sent


@pytest.mark.parametrize(
    ("envelope", "change"),
    [
        (SENT["task_request"], None),
        (SENT["message_send"], None),
        (SENT["state_restore"], None),
        (update(None), None),
        (update({"data": {"page": 1}}), Change("save", {"page": 1})),
        (
            update(
                {
                    "data": {},
                    "checkpoint": True,
                    "version": 3.0,
                    "id": "s",
                    "created_at": "1970-01-01T00:00:01",
                }
            ),
            Change("save", {}, True, 3, "s", 1_000_000),
        ),
        (update({"patch": {"a": None}}), Change("patch", {"a": None})),
        (update({"delete": True, "version": 2}), Change("delete", {}, False, 2)),
        (SENT["task_response"], Change("save", {"page": 42})),
    ],
)
def test_what_an_envelope_does_to_the_state(envelope: Any, change: Change | None) -> None:
    assert change_of(envelope) == change


@pytest.mark.parametrize(
    ("final", "data"),
    [
        (None, None),
        ({}, {}),
        ({"page": 1}, {"page": 1}),
        ({"data": {"page": 1}, "version": 9}, {"page": 1}),
        ({"data": [1]}, {"data": [1]}),
        ({"data": {}}, {}),
    ],
)
def test_final_state_is_its_data_or_all_of_it(final: Any, data: Any) -> None:
    response = copy.deepcopy(SENT["task_response"])
    response["payload"]["final_state"] = final
    assert change_of(response) == (None if data is None else Change("save", data))


def test_what_is_deleted_leaves_the_state() -> None:
    assert apply_change({"a": 1}, Change("delete", {})) == {"a": 1}
    assert apply_change({"a": 1}, None) == {"a": 1}


def facts(*steps: tuple[str, str, dict[str, Any] | None]) -> list[dict[str, Any]]:
    """Facts of one task: rule, status after, envelope; one each second."""
    return [
        {
            "sequence": i + 1,
            "rule": rule,
            "status": status,
            "at": START + i * 1000,
            "task_id": TASK,
            "envelope": None if envelope is None else from_json(ENVELOPE_RECORD, envelope),
        }
        for i, (rule, status, envelope) in enumerate(steps)
    ]


def restore(version: int) -> dict[str, Any]:
    sent = copy.deepcopy(SENT["state_restore"])
    sent["payload"] = {"task_id": TASK, "snapshot_id": f"{TASK}@{version}"}
    return sent


HISTORY = facts(
    ("task_created", "submitted", SENT["task_request"]),
    ("status_changed", "working", update({"data": {"page": 1, "x": {"y": 1}}})),
    ("progress_noted", "working", update({"patch": {"page": 2}}, progress={"percent": 50})),
    ("state_saved", "working", update({"patch": {"x": {"y": None}}}, progress={"percent": 1})),
    ("message_forwarded", "working", SENT["message_send"]),
    ("state_read", "working", SENT["state_query"]),
    ("state_saved", "working", update({"data": {"page": 9}, "checkpoint": True})),
    ("state_restored", "working", restore(3)),
    ("progress_noted", "working", update(None, progress=None)),
    ("response_recorded", "completed", SENT["task_response"]),
)
STATES: list[tuple[Any, str, Any, bool, int]] = [
    ({}, "submitted", None, False, 0),
    ({"page": 1, "x": {"y": 1}}, "working", {"page": 17, "percent": 40}, False, 1),
    ({"page": 2, "x": {"y": 1}}, "working", {"percent": 50}, False, 2),
    ({"page": 2, "x": {}}, "working", {"percent": 50}, False, 2),
    ({"page": 2, "x": {}}, "working", {"percent": 50}, False, 2),
    ({"page": 2, "x": {}}, "working", {"percent": 50}, False, 2),
    ({"page": 9}, "working", {"percent": 50}, True, 2),
    ({"page": 2, "x": {"y": 1}}, "working", {"percent": 50}, False, 7),
    ({"page": 2, "x": {"y": 1}}, "working", {"percent": 50}, False, 8),
    ({"page": 42}, "completed", {"percent": 50}, False, 9),
]


@pytest.mark.parametrize("version", range(1, len(HISTORY) + 1))
def test_a_version_is_the_state_after_the_fact_of_its_number(version: int) -> None:
    data, status, progress, checkpoint, updated = STATES[version - 1]
    state = replay(HISTORY, version)
    assert state is not None
    assert (state.version, state.data, state.checkpoint) == (version, data, checkpoint)
    assert state.task == {
        "id": TASK,
        "conversation_id": "conv-7f",
        "parent_task_id": None,
        "status": status,
        "progress": progress,
        "created_at": "2026-11-21T10:00:00Z",
        "updated_at": f"2026-11-21T10:00:0{updated}Z",
    }
    assert asap.Task.model_validate(state.task).model_dump(mode="json") == state.task
    assert replay(HISTORY[:version]) == state


def test_a_version_that_is_not_there_is_none() -> None:
    assert replay([]) is None
    assert replay(HISTORY, 0) is None
    assert replay(HISTORY, len(HISTORY) + 1) is None


def test_a_timeout_ends_the_task_and_leaves_its_data() -> None:
    history = [*HISTORY[:3], *facts(*[("task_timeout", "failed", None)] * 4)[3:]]
    state = replay(history)
    assert state is not None
    assert (state.version, state.task["status"]) == (4, "failed")
    assert state.task["updated_at"] == "2026-11-21T10:00:03Z"
    assert state.data == STATES[2][0]


@given(st.lists(st.tuples(st.sampled_from(["data", "patch"]), OBJECTS), max_size=6))
def test_folding_one_by_one_is_replaying_from_the_start(saves: list[tuple[str, Any]]) -> None:
    steps = [("state_saved", "working", update({kind: value})) for kind, value in saves]
    history = facts(("task_created", "submitted", SENT["task_request"]), *steps)
    state: StateAt | None = None
    past: dict[int, Any] = {}
    for fact in history:
        state = fold(state, fact, past.__getitem__)
        past[state.version] = state.data
        assert replay(history, state.version) == state
        canonical_json(state.data)
