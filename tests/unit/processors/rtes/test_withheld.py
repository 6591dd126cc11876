"""No secret reaches a fact or a dead letter while there is nothing to mask it with."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.engine.processor import AvroValue
from streams.processors.rtes import withheld
from streams.processors.rtes.withheld import TOKEN
from tests.unit.processors.rtes.support import (
    SECRET,
    Bench,
    completed,
    invoked,
    pulse,
    thought,
    transition,
)
from topology.topics import RTES_EVENTS, RTES_RAW, RTES_REJECTIONS


def secret_events() -> list[tuple[AvroValue, dict[str, Any]]]:
    """Events that are refused, with the secret in every string but the session's name."""
    arguments = json.dumps({SECRET: SECRET, "deep": [{"key": SECRET}, 12345678]})
    states = ("PENDING", "COMPLETED")
    transitions = [
        transition(1, SECRET, SECRET, task=SECRET, git=SECRET, event_id=SECRET),
        transition(2, *states, task=SECRET, git=SECRET),
        transition(3, SECRET, "PENDING", task=SECRET),
        transition(4, "PENDING", SECRET, task=SECRET, git=SECRET),
    ]
    others = [
        thought(5, SECRET),
        invoked(6, arguments),
        invoked(7, f'["{SECRET}"]'),
        invoked(8, SECRET),
        completed(9),
        pulse(10, SECRET),
        pulse(11, f"export TOKEN={SECRET}"),
    ]
    for event in transitions[1:] + others:
        _, payload = event["payload"]
        payload |= {name: SECRET for name in ("call_id", "tool") if name in payload}
    broken = [pulse(12, SECRET), invoked(13, arguments), transition(14, SECRET, SECRET)]
    for event in broken:
        event["payload"][1]["timestamp"] = SECRET
    wrong_key = transition(15, SECRET, SECRET, task=SECRET)
    return [
        *((event, {}) for event in transitions + others + broken),
        (wrong_key, {"key": SECRET.encode()}),
        (pulse(16, SECRET), {"key": SECRET.encode()}),
    ]


@pytest.mark.parametrize(("event", "record"), secret_events())
def test_no_secret_of_a_refused_event_is_written(event: AvroValue, record: dict[str, Any]) -> None:
    bench = Bench()
    message = bench.event(event, **record)
    (sent,) = bench.judge_all([message])
    assert sent.topic is RTES_REJECTIONS
    bench.too_large(message, RTES_EVENTS, 1)
    written = bench.written()
    assert SECRET.encode() not in written
    assert json.dumps(SECRET)[1:-1].encode() not in written
    assert b"12345678" not in written


def test_no_secret_of_a_refused_transition_in_a_known_task_is_written() -> None:
    bench = Bench()
    bench.judge(transition(1, "PENDING", "BLOCKED"))
    refused = [
        transition(2, SECRET, "PENDING"),
        transition(3, "BLOCKED", SECRET),
        transition(1, "PENDING", SECRET),
        transition(4, "BLOCKED", "COMPLETED", git=SECRET),
    ]
    rules = [bench.rule(event) for event in refused]
    assert rules == [
        "from_state_mismatch",
        "unknown_state",
        "event_id_conflict",
        "illegal_transition",
    ]
    assert SECRET.encode() not in bench.written()


@pytest.mark.parametrize("value", [b"", SECRET.encode(), b"\x00\xff" + SECRET.encode()])
def test_a_dead_letter_holds_nothing_of_the_bytes(value: bytes) -> None:
    assert Bench().processor.dead_letter(RTES_RAW, value) == TOKEN.encode()


def test_a_null_value_stays_null() -> None:
    assert Bench().processor.dead_letter(RTES_RAW, None) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PENDING",
        "IN_PROGRESS",
        "build ui-2",
        "api/v2:run.7",
        "20260101",
        "5c0ffee",
        "a" * 40,
        "0123456789abcdef0123456789abcdef01234567",
        "2026-01-01T00:00:00.123456Z",
        "ABCDEF00-0000-4000-8000-000000000001",
    ],
)
def test_a_plain_text_is_kept(text: str) -> None:
    assert withheld.text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        "hunter2x",
        "a--b",
        "-a",
        "a ",
        "user@host",
        "key=value",
        "word12345",
        "0123456789abcdef0123456789abcdef012345678",
        "word " * 12 + "words",
        "stra\u00dfe",
        "line\nline",
        "PENDING\n",
        "\u0661\u0662",
    ],
)
def test_any_other_text_is_not(text: str) -> None:
    assert withheld.text(text) == TOKEN


@given(st.recursive(st.text() | st.integers() | st.none(), st.lists, max_leaves=5))
def test_withholding_twice_changes_nothing(value: Any) -> None:
    once = withheld.event({"type": value, "payload": {"x": value}}, valid=False)
    assert withheld.event(once, valid=False) == once


def test_a_pointer_does_not_name_the_senders_members() -> None:
    assert withheld.pointer("/payload/arguments/my-secret/0") == "/payload/arguments"
    assert withheld.pointer("/payload/timestamp") == "/payload/timestamp"
