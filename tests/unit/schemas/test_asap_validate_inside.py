"""The rules of ASAP on what stands inside a payload: config, snapshots, extensions, parts."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import asap
from tests.unit.schemas.asap_carried import (
    REQUEST,
    SNAPSHOT,
    UPDATE,
    carrying,
    off_the_log,
    rules_and_paths,
)
from tests.unit.schemas.asap_tables import PAYLOADS
from tests.unit.schemas.examples import changed


@pytest.mark.parametrize(
    ("config", "bad_members"),
    [
        ({}, []),
        ({"other": [True, None]}, []),
        *(({"timeout_seconds": good}, []) for good in (1, 1.5, 31_536_000, 90.0, None)),
        *(
            ({"timeout_seconds": bad}, ["timeout_seconds"])
            for bad in (0, 0.999, 31_536_000.1, True, "90", [1], -1)
        ),
        *(({"idempotency_key": good}, []) for good in ("k", "é" * 256, None)),
        *(({"idempotency_key": bad}, ["idempotency_key"]) for bad in ("", "k" * 257, 1, True)),
        *(({"state_mode": good}, []) for good in ("snapshot", "event-sourced", None)),
        *(({"state_mode": bad}, ["state_mode"]) for bad in ("", "event_sourced", 1, [1])),
        *(({"event_retention_hours": good}, []) for good in (1, 8760, 24.0, None)),
        *(
            ({"event_retention_hours": bad}, ["event_retention_hours"])
            for bad in (0, 8761, 1.5, True, "24")
        ),
        (
            {"timeout_seconds": 0, "state_mode": "x", "idempotency_key": ""},
            ["idempotency_key", "state_mode", "timeout_seconds"],
        ),
    ],
)
def test_members_of_config_that_mean_something(
    config: dict[str, Any], bad_members: list[str]
) -> None:
    sent = changed(REQUEST, payload__config=config)
    expected = [("bad_config", f"/payload/config/{name}") for name in bad_members]
    assert rules_and_paths(asap.validate(sent)) == rules_and_paths(off_the_log(sent)) == expected


def test_a_valid_config_is_read() -> None:
    read = asap.task_config
    assert read(None) == (600_000, None, "snapshot", None)
    assert read({"timeout_seconds": 1.5, "event_retention_hours": 5}) == (
        1500,
        None,
        "snapshot",
        None,
    )
    sourced = {"state_mode": "event-sourced", "idempotency_key": "k", "timeout_seconds": None}
    assert read(sourced, 30) == (30_000, "k", "event-sourced", 168)
    assert read({**sourced, "event_retention_hours": 24.0})[3] == 24


@pytest.mark.parametrize(
    ("snapshot", "bad_path"),
    [
        ({"data": {}}, None),
        ({"data": {"a": 1}, "checkpoint": True, "version": 3, "id": "s"}, None),
        ({"data": {}, "created_at": "2026-11-21T10:00:00Z", "version": 3.0}, None),
        ({"patch": {"a": None}, "checkpoint": False}, None),
        ({"delete": True}, None),
        ({"delete": True, "version": 2}, None),
        ({}, ""),
        ([], ""),
        (None, ""),
        ({"data": {}, "delete": True}, ""),
        ({"data": []}, "/data"),
        ({"patch": None}, "/patch"),
        ({"delete": "yes"}, "/delete"),
        ({"delete": True, "id": "s"}, "/id"),
        ({"delete": True, "created_at": "2026-11-21T10:00:00Z"}, "/created_at"),
        ({"data": {}, "checkpoint": 1}, "/checkpoint"),
        ({"data": {}, "version": 0}, "/version"),
        ({"data": {}, "version": 1.5}, "/version"),
        ({"data": {}, "version": True}, "/version"),
        ({"data": {}, "version": 2**53 - 1}, None),
        ({"data": {}, "version": 2.0**53}, "/version"),
        ({"data": {}, "version": 1e300}, "/version"),
        ({"data": {}, "id": 7}, "/id"),
        ({"data": {}, "created_at": "soon"}, "/created_at"),
        ({"data": {}, "created_at": "0001-01-01T00:00:00+14:00"}, "/created_at"),
        ({"data": {}, "created_at": "9999-12-31T23:59:59-01:00"}, "/created_at"),
        ({"data": {}, "created_at": "9999-12-31T23:59:59"}, None),
        ({"data": {}, "more": 1}, "/more"),
    ],
)
def test_the_form_of_a_snapshot_in_an_update(snapshot: Any, bad_path: str | None) -> None:
    problems = rules_and_paths(asap.validate(changed(UPDATE, extensions={SNAPSHOT: snapshot})))
    path = f"/extensions/{SNAPSHOT}{bad_path}"
    assert problems == ([] if bad_path is None else [("bad_extension", path)])


@pytest.mark.parametrize("name", PAYLOADS)
def test_which_extension_goes_with_which_payload(name: str) -> None:
    forms: dict[str, Any] = {
        SNAPSHOT: {"data": {}},
        "dev.headrace.parts": [{"id": "p", "part": {"type": "text", "content": ""}}],
        "dev.headrace.answers": "e",
        "dev.headrace.error": {"code": "a", "message": "b"},
        "dev.headrace.restore": True,
        "dev.headrace.": 1,
        "dev.headrace": 1,
        "org.example.a": None,
    }
    taken = {
        SNAPSHOT: name == "TaskUpdate",
        "dev.headrace.parts": name in ("MessageSend", "ArtifactNotify"),
        "dev.headrace.answers": True,
        "dev.headrace": True,
        "org.example.a": True,
    }
    for extension, form in forms.items():
        problems = rules_and_paths(
            asap.validate(changed(carrying(name), extensions={extension: form}))
        )
        problem = [("bad_extension", f"/extensions/{extension}")]
        assert problems == ([] if taken.get(extension) else problem)


@pytest.mark.parametrize(
    "parts", [{}, [1], [{}], [{"id": "p"}], [{"id": 1, "part": {"type": "text", "content": ""}}]]
)
def test_the_form_of_parts_in_a_message(parts: Any) -> None:
    sent = changed(carrying("MessageSend"), extensions={"dev.headrace.parts": parts})
    assert {problem.rule for problem in asap.validate(sent)} == {"bad_extension"}
