"""Every refusal: its rule, its figures, whose fault it is, and what it keeps of the event."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streams.engine.processor import AvroValue
from tests.unit.protocols.saop.rtes.support import (
    START_MS,
    Bench,
    completed,
    invoked,
    pulse,
    thought,
    transition,
    uuid,
)
from topology.keys import partition_of
from topology.saop import RTES_EVENTS, RTES_REJECTIONS


def altered(event: AvroValue, **payload: Any) -> AvroValue:
    name, members = event["payload"]
    return event | {"payload": (name, members | payload)}


SHAPES = {
    "event_id_invalid": (
        transition(1, "PENDING", "BLOCKED", event_id="no-uuid"),
        "/event_id",
    ),
    "timestamp_invalid": (
        altered(transition(1, "PENDING", "BLOCKED"), timestamp="2026-02-30T00:00:00Z"),
        "/payload/timestamp",
    ),
    "turn_index_invalid": (altered(thought(1), turn_index=-1), "/payload/turn_index"),
    "duration_invalid": (altered(completed(1), duration_ms=-0.5), "/payload/duration_ms"),
    "schema_invalid": (invoked(1, "[1]"), "/payload/arguments"),
}


@pytest.mark.parametrize("rule", SHAPES)
def test_a_broken_shape_is_the_senders_fault(rule: str) -> None:
    event, path = SHAPES[rule]
    sent = Bench().judge(event)
    value = sent.value
    assert (value["verdict"], value["rule"], value["fault"]) == ("rejected", rule, "sender")
    assert [(error["rule"], error["path"]) for error in value["errors"]] == [(rule, path)]
    assert value["figures_json"] == "{}"
    assert (value["session_id"], value["first_sequence"]) == ("s1", None)
    assert (value["at"], value["cause"]) == (START_MS, "rtes.raw/0/0")


def test_a_session_id_that_is_too_long_becomes_no_key() -> None:
    event = transition(1, "PENDING", "BLOCKED") | {"session_id": "s" * 257}
    sent = Bench().judge(event, key=b"s" * 257)
    value = sent.value
    assert (value["rule"], value["errors"][0]["path"]) == ("schema_invalid", "/session_id")
    assert (sent.key, value["session_id"]) == ("", "")
    assert json.loads(value["event_json"])["session_id"] == "s" * 257


def test_the_longest_ids_are_recorded() -> None:
    event = transition(1, "PENDING", "BLOCKED") | {"session_id": "s" * 256}
    assert Bench().judge(event, key=b"s" * 256).topic is RTES_EVENTS


def test_all_errors_are_listed_first_error_first() -> None:
    event = altered(transition(1, "PENDING", "BLOCKED", event_id="x"), timestamp="now")
    value = Bench().judge(event).value
    rules = [error["rule"] for error in value["errors"]]
    assert rules == ["event_id_invalid", "timestamp_invalid"]
    assert value["rule"] == "event_id_invalid"


@pytest.mark.parametrize(
    ("key", "key_text"),
    [(None, None), (b"s2", "s2"), (b"", ""), (b"\xff\xfe", "\\xff\\xfe")],
)
def test_the_record_key_must_be_the_session(key: bytes | None, key_text: str | None) -> None:
    sent = Bench().judge(transition(1, "PENDING", "BLOCKED"), key=key)
    value = sent.value
    assert (value["rule"], value["fault"], sent.key) == ("key_mismatch", "sender", "s1")
    assert json.loads(value["figures_json"]) == {"expected": "s1", "key": key_text}
    event = json.loads(value["event_json"])
    assert (event["event_id"], event["payload"]["type"]) == (uuid(1), "TASK_TRANSITION")


def test_a_record_on_another_partition_is_refused_after_its_key() -> None:
    bench = Bench(partitions=4)
    wrong = (partition_of(b"s1", 4) + 1) % 4
    value = bench.judge(transition(1, "PENDING", "BLOCKED"), partition=wrong).value
    assert (value["rule"], value["fault"]) == ("partition_mismatch", "sender")
    assert value["figures_json"] == "{}"
    assert bench.rule(transition(2, "PENDING", "BLOCKED"), partition=wrong, key=b"x") == (
        "key_mismatch"
    )
    assert not bench.holds_rows()
    assert bench.rule(transition(1, "PENDING", "BLOCKED")) == "edge"


def test_shape_is_judged_before_the_key() -> None:
    assert Bench().rule(altered(pulse(1), timestamp=""), key=b"x") == "timestamp_invalid"


def test_a_valid_event_without_secrets_is_kept_as_sent() -> None:
    bench = Bench()
    sent = bench.judge(transition(1, "pending", "COMPLETED", git="5C0FFEE", task="build ui-2"))
    assert sent.value["rule"] == "illegal_transition"
    assert json.loads(sent.value["event_json"]) == {
        "event_id": uuid(1),
        "session_id": "s1",
        "payload": {
            "type": "TASK_TRANSITION",
            "task_id": "build ui-2",
            "from_state": "pending",
            "to_state": "COMPLETED",
            "git_hash": "5C0FFEE",
            "timestamp": "2026-01-01T00:00:00Z",
        },
    }


def test_each_rejection_has_an_id_of_its_own() -> None:
    bench = Bench()
    sent = [bench.judge(pulse(1), key=b"x") for _ in range(3)]
    assert len({rejection.id for rejection in sent}) == 3
    assert Bench().judge(pulse(1), key=b"x").id == sent[0].id


def test_an_output_that_is_too_large_is_refused_without_the_event() -> None:
    bench = Bench()
    message = bench.event(transition(1, "PENDING", "x" * 100_000))
    (sent,) = bench.too_large(message, RTES_EVENTS, 1 << 30)
    assert sent.topic is RTES_REJECTIONS
    value = sent.value
    assert (value["rule"], value["fault"]) == ("output_too_large", "service")
    assert (value["event_json"], value["event_id"]) == (None, uuid(1))
    assert not bench.holds_rows()
