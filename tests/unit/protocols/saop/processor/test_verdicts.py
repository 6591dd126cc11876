"""Each rule that decides on a turn record, with its figures, fault and what is kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.rules import Stage, Where
from schemas.saop import rules, turn_hash, turn_json
from streams.engine.processor import AvroValue, Message
from streams.protocols.saop.processor.processor import _LARGEST
from tests.examples import example_count
from tests.unit.protocols.saop.processor.support import START_MS, Bench, derived, envelope
from topology.keys import partition_of
from topology.saop import SAOP_LOG, SAOP_TASK_SIGNALS, SAOP_VERDICTS

Case = Callable[[Bench], Message]


def altered(message: Message, **changes: Any) -> Message:
    """A record of a later version, whose symbols this one does not know."""
    return message._replace(value=envelope(**changes), current=False)


def after(*indexes: int) -> Callable[[Bench, AvroValue], Message]:
    def then(bench: Bench, turn: AvroValue) -> Message:
        bench.rules(*indexes)
        return bench.turn(turn)

    return then


SHAPE: dict[str, tuple[Case, str]] = {
    "turn_index_invalid": (lambda b: b.turn(envelope(-1)), "/turn_index"),
    "agent_unknown": (lambda b: altered(b.turn(envelope()), agent_id="critic"), "/agent_id"),
    "version_unsupported": (
        lambda b: b.turn(envelope(version="1.0.1")),
        "/metadata/version",
    ),
    "timestamp_invalid": (
        lambda b: b.turn(envelope(timestamp="2026-02-30T00:00:00Z")),
        "/metadata/timestamp",
    ),
    "confidence_out_of_range": (
        lambda b: b.turn(envelope(confidence=math.nan)),
        "/metadata/confidence",
    ),
    "complexity_unknown": (
        lambda b: altered(b.turn(envelope()), estimated_complexity="extreme"),
        "/metadata/estimated_complexity",
    ),
}
"""Of each rule of the shape that bytes can break: a record, and the path of the member."""

ORDER: dict[str, tuple[Case, str, dict[str, Any]]] = {
    "key_mismatch": (
        lambda b: b.turn(envelope(), key="t2"),
        "/metadata/task_id",
        {"key": "t2", "expected": "t1"},
    ),
    "partition_mismatch": (
        lambda b: b.turn(envelope(), partition=1 - partition_of(b"t1", 2)),
        "/metadata/task_id",
        {},
    ),
    "output_too_large": (
        lambda b: b.turn(envelope(thought="t" * _LARGEST)),
        "",
        {},
    ),
    "turn_late": (lambda b: after(*range(2, 67))(b, envelope(1)), "/turn_index", {"next": 67}),
    "turn_too_far": (
        lambda b: after(0)(b, envelope(1002)),
        "/turn_index",
        {"next": 1, "limit": 1000},
    ),
    "turn_conflict": (lambda b: after(0)(b, envelope(0, action="other")), "/turn_index", {}),
}
"""The other rules that refuse: a record, the path of the member, figures."""

ACCEPTING = {"turn_logged", "turn_held"}


def test_every_rule_of_a_turn_record_is_tested_here() -> None:
    ours = {rule.code for rule in rules.ALL if rule.stage in (Stage.SCHEMA, Stage.LOG)}
    edges = {rule.code for rule in rules.ALL if rule.where is Where.EDGE}
    impossible = {
        "text_invalid",
        "rewind_id_invalid",
        "control_id_invalid",
    }  # in a SaopTurn's bytes
    assert {
        *SHAPE,
        *ORDER,
        *ACCEPTING,
        "turn_duplicate",
        "schema_invalid",
    } == ours - edges - impossible


@pytest.mark.parametrize("rule", SHAPE)
def test_a_broken_shape_is_the_senders_fault(rule: str) -> None:
    bench = Bench()
    case, path = SHAPE[rule]
    message = case(bench)
    (sent,) = bench.decide(message)
    value = sent.value
    assert (value["verdict"], value["rule"], value["fault"]) == ("rejected", rule, "sender")
    assert [(error["rule"], error["path"]) for error in value["errors"]] == [(rule, path)]
    assert (value["disposition"], value["canonical_hash"]) == ("none", None)
    assert value["figures_json"] == "{}"
    assert (sent.topic, sent.key, sent.id) == (SAOP_VERDICTS, "t1", derived(value["cause"], 0))
    assert value["agent_id"] == message.value["agent_id"]
    assert orjson.loads(value["turn_json"]) == turn_json(message.value)
    assert bench.stored() == {}


@pytest.mark.parametrize("rule", ORDER)
def test_every_other_refusal_has_its_figures(rule: str) -> None:
    bench = Bench(2)
    case, path, figures = ORDER[rule]
    message = case(bench)
    before = bench.stored()
    (sent,) = bench.decide(message)
    value = sent.value
    fault = "service" if rule == "output_too_large" else "sender"
    assert (value["verdict"], value["rule"], value["fault"]) == ("rejected", rule, fault)
    ((error_rule, error_path),) = [(error["rule"], error["path"]) for error in value["errors"]]
    assert (error_rule, error_path) == (rule, path)
    assert value["disposition"] == "none"
    recorded = orjson.loads(value["figures_json"])
    if rule == "turn_conflict":
        assert set(recorded) == {"known_hash", "position"}
    else:
        assert recorded == figures
    assert (value["turn_json"] is None) == (rule == "output_too_large")
    assert value["canonical_hash"] == turn_hash(turn_json(message.value))
    assert bench.stored() == before


def test_a_task_id_that_is_too_long_becomes_no_key() -> None:
    bench = Bench()
    (sent,) = bench.decide(bench.turn(envelope(task="✓" * 257)))
    value = sent.value
    assert (value["verdict"], value["rule"], value["fault"]) == (
        "rejected",
        "schema_invalid",
        "sender",
    )
    assert value["errors"][0]["message"] == "task_id must be at most 256 characters long."
    assert (sent.key, value["task_id"]) == ("", None)
    assert orjson.loads(value["turn_json"])["metadata"]["task_id"] == "✓" * 257
    assert bench.stored() == {}
    assert bench.judge(envelope(task="✓" * 256))["rule"] == "turn_logged"


def test_all_errors_are_listed_first_error_first() -> None:
    bench = Bench()
    value = bench.judge(envelope(-1, version="2", confidence=2.0))
    assert value["rule"] == "turn_index_invalid"
    assert [error["path"] for error in value["errors"]] == [
        "/turn_index",
        "/metadata/version",
        "/metadata/confidence",
    ]


def test_an_accepted_turn() -> None:
    bench = Bench()
    turn = envelope(0, thought="  as sent \n✓\u2028\x00", action="", observation="")
    value = bench.judge(turn, headers=[("headrace-dropped-keys", b"2")])
    assert value == {
        "verdict": "accepted",
        "rule": "turn_logged",
        "fault": None,
        "task_id": "t1",
        "turn_index": 0,
        "agent_id": "developer",
        "disposition": "logged",
        "canonical_hash": turn_hash(turn_json(turn)),
        "dropped_keys": 2,
        "figures_json": "{}",
        "errors": [],
        "turn_json": None,
        "at": START_MS,
        "cause": "saop.turns/0/0",
    }
    (logged,) = bench.of(SAOP_LOG)
    assert logged.value == {
        "turn": turn,
        "canonical_hash": value["canonical_hash"],
        "held": False,
        "gap": None,
        "dropped_keys": 2,
        "received_at": START_MS,
        "at": START_MS,
        "cause": "saop.turns/0/0",
    }
    assert (logged.key, logged.id) == ("t1", derived("saop.turns/0/0", 1))


def test_role_need_not_be_the_agent() -> None:
    assert Bench().rule(envelope(role="reviewer")) == "turn_logged"


def test_a_missing_key_is_a_mismatch() -> None:
    actual = Bench().figures(envelope(), key=None)
    assert actual == ("key_mismatch", {"key": None, "expected": "t1"})


def test_what_is_no_shape_is_told_before_the_key() -> None:
    assert Bench().rule(envelope(version="2"), key="t2") == "version_unsupported"


@pytest.mark.parametrize("size", [_LARGEST - 4096, _LARGEST])
def test_what_can_be_held_can_be_logged(size: int) -> None:
    bench = Bench()
    verdict = bench.judge(envelope(1, thought="x" * size))
    fits = size < _LARGEST
    assert verdict["rule"] == ("turn_held" if fits else "output_too_large")
    bench.advance(60_000)
    assert bench.logged() == ([1] if fits else [])


def test_outputs_that_are_too_large_are_told_without_the_turn() -> None:
    bench = Bench()
    message = bench.turn(envelope(-1, thought="\x01" * 10_000))
    (sent,) = bench.too_large(message, SAOP_VERDICTS, 10**8)
    value = sent.value
    assert (value["rule"], value["fault"], value["turn_json"]) == (
        "output_too_large",
        "service",
        None,
    )
    long = bench.turn(envelope(task="t" * 1_000_000))
    (sent,) = bench.too_large(long, SAOP_VERDICTS, 10**8)
    assert (sent.key, sent.value["task_id"]) == ("", None)


def test_a_signal_that_cannot_be_told_is_for_the_dead_letters() -> None:
    bench = Bench()
    message = bench.signal({**SIGNAL})
    with pytest.raises(ValueError, match=r"saop\.escalations"):
        bench.too_large(message, bench.processor.declaration.outputs[2], 10**8)
    assert message.topic is SAOP_TASK_SIGNALS


SIGNAL: dict[str, Any] = {
    "kind": "failures",
    "task_id": "t1",
    "session_id": "s1",
    "failures": 5,
    "threshold": 5,
    "first_sequence": 1,
    "last_sequence": 9,
    "rewind_id": None,
    "enforced": False,
    "at": START_MS,
    "cause": "rtes.raw/0/0",
}
TEXTS = st.text(max_size=12)
AGENTS = st.sampled_from(["researcher", "architect", "developer", "reviewer"])


@st.composite
def any_turns(draw: st.DrawFn) -> AvroValue:
    index = draw(st.integers(0, 3) | st.integers(-(2**63), 2**63 - 1))
    return envelope(
        index,
        task=draw(st.sampled_from(["t1", "", "a/b"]) | TEXTS),
        agent_id=draw(AGENTS),
        role=draw(AGENTS),
        thought=draw(TEXTS),
        observation=draw(TEXTS),
        version=draw(st.just("1.0.0") | TEXTS),
        timestamp=draw(st.just("2026-01-01T00:00Z") | TEXTS),
        confidence=draw(st.floats(0, 1) | st.floats()),
    )


@settings(max_examples=example_count(80), deadline=None)
@given(st.lists(st.tuples(any_turns(), st.booleans(), st.none() | st.binary(max_size=3))))
def test_any_record_gets_one_verdict(line: list[tuple[AvroValue, bool, bytes | None]]) -> None:
    bench = Bench()
    batch = [bench.turn(t) if keyed else bench.turn(t, key=key) for t, keyed, key in line]
    verdicts = bench.of(SAOP_VERDICTS, bench.decide(*batch)) if batch else []
    bench.advance(60_000)
    assert len(verdicts) == len(batch)
    for message, sent in zip(batch, verdicts, strict=True):
        value = sent.value
        assert sent.key == value["task_id"] == message.value["metadata"]["task_id"]
        assert value["cause"] == f"saop.turns/0/{message.record.offset}"
        assert (value["fault"] is not None) == (value["verdict"] == "rejected")
        assert bool(value["errors"]) == (value["verdict"] == "rejected")
    logged = {(s.key, s.value["cause"]) for s in bench.of(SAOP_LOG)}
    accepted = {(s.key, s.value["cause"]) for s in verdicts if s.value["verdict"] == "accepted"}
    assert logged == accepted
