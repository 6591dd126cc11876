"""Every rule that the processor can apply is applied here once, by its code."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from schemas.rtes import rules
from schemas.rules import Where
from schemas.saop import rules as saop_rules
from tests.unit.protocols.saop.rtes.support import (
    Bench,
    completed,
    control,
    invoked,
    pulse,
    rewind,
    thought,
    transition,
)
from topology.saop import RTES_EVENTS, SAOP_CONTROLS

NOT_IN_AVRO = {"text_invalid", "event_type_unknown", "agent_unknown", "status_unknown"}
"""Avro cannot carry what breaks these, so an edge is the only one to see it."""


def bench_in(*, state: str = "IN_PROGRESS") -> Bench:
    bench = Bench()
    bench.walk("t1", "PENDING", "IN_PROGRESS", first=1)
    if state != "IN_PROGRESS":
        bench.walk("t1", "IN_PROGRESS", state, first=10)
    return bench


def twice(event: Callable[[int], dict[str, object]]) -> str:
    bench = Bench()
    bench.recorded(event(1))
    return bench.rule(event(2))


def on_wrong_partition() -> str:
    bench = Bench(partitions=4)
    message = bench.event(pulse(1))
    return bench.rule(pulse(1), partition=(message.record.partition + 1) % 4)


def after_final_chunk() -> str:
    bench = Bench()
    bench.recorded(thought(1, is_final=True))
    return bench.rule(thought(2))


def same_id(second: str) -> str:
    bench = Bench()
    bench.recorded(pulse(1, "one"))
    return bench.rule(pulse(1, second))


def rewound() -> str:
    bench = bench_in()
    bench.order(rewind(1, "apply", "t1"))
    return str(bench.of(RTES_EVENTS)[-1].value["rule"])


def rule_of_last(bench: Bench) -> str:
    return str(bench.of(RTES_EVENTS)[-1].value["rule"])


def controlled(bench: Bench, *actions: str) -> Bench:
    for number, action in enumerate(actions):
        bench.decide(
            bench.message(control(number, action), bench.now, avro=True, topic=SAOP_CONTROLS)
        )
    return bench


def too_large() -> str:
    bench = Bench()
    (sent,) = bench.too_large(bench.event(pulse(1)), RTES_EVENTS, 1)
    return str(sent.value["rule"])


REACHED: dict[str, Callable[[], str]] = {
    "schema_invalid": lambda: Bench().rule(invoked(1, "[]")),
    "event_id_invalid": lambda: Bench().rule(pulse(1, event_id="")),
    "turn_index_invalid": lambda: Bench().rule(thought(1, turn_index=-1)),
    "duration_invalid": lambda: Bench().rule(completed(1, duration_ms=float("nan"))),
    "timestamp_invalid": lambda: Bench().rule(pulse(1, timestamp="now")),
    "key_mismatch": lambda: Bench().rule(pulse(1), key=b"s2"),
    "partition_mismatch": on_wrong_partition,
    "event_duplicate": lambda: same_id("one"),
    "event_id_conflict": lambda: same_id("two"),
    "output_too_large": too_large,
    "recorded": lambda: Bench().rule(pulse(1)),
    "call_already_invoked": lambda: twice(invoked),
    "call_already_completed": lambda: twice(completed),
    "thought_closed": after_final_chunk,
    "other_protocol": lambda: Bench().rule(transition(1, "X", "Y", origin="apc")),
    "from_state_mismatch": lambda: bench_in().rule(transition(9, "FAILED", "PENDING")),
    "open_profile": lambda: Bench().rule(transition(1, "new", "old")),
    "unknown_state": lambda: Bench().rule(transition(1, "PENDING", "old")),
    "illegal_transition": lambda: Bench().rule(transition(1, "PENDING", "COMPLETED")),
    "rewind_required": lambda: bench_in(state="COMPLETED").rule(
        transition(99, "COMPLETED", "PENDING")
    ),
    "edge": lambda: Bench().rule(transition(1, "PENDING", "BLOCKED")),
    "rewind": rewound,
    "task_paused": lambda: controlled(bench_in(), "pause").rule(
        transition(99, "PAUSED", "IN_PROGRESS")
    ),
    "paused": lambda: rule_of_last(controlled(bench_in(), "pause")),
    "resumed": lambda: rule_of_last(controlled(bench_in(), "pause", "resume")),
}


def test_no_rule_is_left_out() -> None:
    applied = {rule.code for rule in rules.ALL if rule.where is not Where.EDGE}
    assert set(REACHED) == applied - NOT_IN_AVRO


@pytest.mark.parametrize("code", REACHED)
def test_a_rule_is_applied(code: str) -> None:
    assert REACHED[code]() == code


def test_rules_of_rewinds_are_declared_where_turns_are() -> None:
    codes = {rule.code for rule in saop_rules.ALL}
    assert {"rewind_prepared", "lapsed", "hash_ambiguous", "session_unknown"} <= codes
