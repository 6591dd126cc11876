"""Whatever decodes gets one verdict, however little of the protocol it keeps."""

from __future__ import annotations

import copy
import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import from_json, to_json
from tests.examples import example_count
from tests.unit.protocols.apc.processor import fold
from tests.unit.protocols.apc.processor.packets import (
    PHASE_OF,
    Bench,
    Json,
    ack,
    candidate,
    evaluation,
    packet,
    pid,
    waiting,
)
from topology.apc import APC_PACKET_STATES_TABLE

RECORD = "headrace.apc.ApcPacket"
MODELS = [
    *(packet(packet_type, 2) for packet_type in PHASE_OF),
    ack(2, 1, "a"),
    evaluation(2, 1),
    waiting(2, expires_at="2026-01-01T00:00:30Z"),
    packet("ARBITRATION", 2, payload={"candidates": [candidate("one", 1, pid(1))] * 2}),
]
VALUES = [from_json(RECORD, model) for model in MODELS]
TEXTS = ["", "é", "a/b%", "\x00", "NOPE", pid(1), pid(1).upper(), f"packet:{pid(1).upper()}", "0"]
NUMBERS = [0.0, -0.0, 0.1, 1e300, -1.0, math.nan, math.inf]
OPEN = [
    None,
    "",
    "{",
    "null",
    "[1]",
    '{"a": 1, "a": 2}',
    '{"a": "\\ud800"}',
    '{"a": 1e999}',
    '{"verification": "deferred"}',
    '{"verification": null, "anti_drift": 1, "project_id": 5}',
    '{"anti_drift": {"ci_verifiable": "yes"}}',
    '{"a": ' * 70 + "1" + "}" * 70,
    '{"a": ' * 5000 + "1" + "}" * 5000,
]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container and key in it that leads to a leaf or a list."""
    leaves: list[tuple[Any, Any]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in list(items):
        if isinstance(part, tuple):
            leaves += places(part[1])
        elif isinstance(part, dict):
            leaves += places(part)
        elif isinstance(part, list):
            leaves += [(value, key), *places(part)]
        elif isinstance(value, dict):
            leaves.append((value, key))
    return leaves


ENUMS = {
    "packet_type", "channel", "run_phase", "delivery_mode", "artifact_kind", "signal",
    "mode", "commitment_level", "ack_status", "transfer_mode", "cost", "constraint_kind", "kind",
}  # fmt: skip


@st.composite
def values(draw: st.DrawFn) -> Json:
    value: Json = copy.deepcopy(draw(st.sampled_from(VALUES)))
    for _ in range(draw(st.integers(0, 4))):
        container, key = draw(st.sampled_from(places(value)))
        part = container[key]
        if isinstance(part, list):
            container[key] = draw(st.sampled_from([[], part * 2]))
        elif isinstance(part, str) and key not in ENUMS:
            container[key] = draw(st.sampled_from(TEXTS))
        elif isinstance(part, float):
            container[key] = draw(st.sampled_from(NUMBERS))
        elif type(part) is int:
            container[key] = draw(st.sampled_from([0, -1, 2**31 - 1, -(2**31)]))
    if draw(st.integers(0, 3)) == 0:
        value["payload"] = copy.deepcopy(draw(st.sampled_from(VALUES))["payload"])
    if draw(st.booleans()):
        value["metadata_json"] = draw(st.sampled_from(OPEN))
    return value


@settings(max_examples=example_count(400), deadline=None)
@given(st.lists(values(), min_size=1, max_size=3), st.integers(1, 3))
def test_one_verdict_for_whatever_decodes(given_values: list[Json], partitions: int) -> None:
    bench = Bench(partitions=partitions)
    bench.give(waiting(1, to=("a", "builder-1")))
    for value in given_values:
        message = bench.message(value, avro=True)
        facts = bench.facts(bench.decide(message))
        mine = f"apc.packets/{message.record.partition}/{message.record.offset}/0"
        assert [f["event_id"] for f in facts if f["verdict"] not in ("effect", "fired")] == [mine]
        for fact in facts:
            assert (fact["fault"] == "sender") is (fact["verdict"] == "rejected")
    rows = [
        to_json(APC_PACKET_STATES_TABLE.record, row)
        for row in bench.rows(APC_PACKET_STATES_TABLE).values()
    ]
    folded = fold.packet_rows(bench.facts())
    assert {(row["session_id"], row["packet_id"]): row for row in rows} == folded
