"""The examples that ship with the schemas, as the processor judges them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import schemas
from schemas.apc import rules
from schemas.rules import Where
from tests.unit.protocols.apc.processor.packets import Bench, Json, events
from topology.apc import APC_PACKET_STATES_TABLE
from topology.keys import composite

EXAMPLES = Path(schemas.__file__).parent / "examples" / "apc"


def example(name: str) -> Json:
    read: Json = json.loads((EXAMPLES / f"{name}.json").read_text())
    return read


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_no_valid_example_breaks_a_shape_rule(path: Path) -> None:
    made: Json = json.loads(path.read_text())
    fact = Bench().verdict(made)
    assert fact["state"] != "REJECTED_SCHEMA"
    assert fact["packet"] == made


def test_the_protocols_own_idea_waits_for_its_answer() -> None:
    idea = example("idea")
    bench = Bench()
    sent = bench.decide_json(idea)
    (fact,) = bench.facts(sent)
    assert (fact["verdict"], fact["state"]) == ("accepted", "ROUTED")
    assert [d["recipient_agent_id"] for d in bench.inbox(sent)] == ["sentinel-1"]

    answer = example("ack")
    answer["sender"]["agent_id"] = "sentinel-1"
    answer["trace"]["session_id"] = idea["trace"]["session_id"]
    answer["payload"] = {"acked_packet_id": idea["packet_id"], "ack_status": "ACCEPTED"}
    _, effect = bench.give(answer)
    assert (effect["rule"], effect["state"]) == ("delivered", "ARCHIVED")
    row = bench.row(
        APC_PACKET_STATES_TABLE, composite(idea["trace"]["session_id"], idea["packet_id"])
    )
    assert row is not None
    assert events(row["history"]) == [
        "init",
        "emit",
        "schema_pass",
        "policy_pass",
        "route_selected",
        "delivery_ack",
        "consumer_apply",
        "verification_pass",
        "non_promotable_complete",
    ]


def carried() -> list[tuple[str, Json]]:
    """The invalid examples that Avro carries as they are (a null member would only be absent)."""
    edge = {rule.code for rule in rules.ALL if rule.where is Where.EDGE}
    packets = []
    for path in sorted((EXAMPLES / "invalid").glob("*.json")):
        read: Json = json.loads(path.read_text())
        try:
            schemas.from_json("headrace.apc.ApcPacket", read.get("packet"))
        except schemas.ShapeError:
            continue
        if read["rule"] not in edge:
            packets.append((path.stem, read))
    return packets


def test_an_invalid_example_gets_the_same_rule_on_the_log() -> None:
    cases = carried()
    assert len(cases) > 10
    for name, case in cases:
        fact = Bench().verdict(case["packet"])
        errors = {(error["rule"], error["path"]) for error in fact["errors"]}
        assert (name, fact["verdict"]) == (name, "rejected")
        assert (case["rule"], case["path"]) in errors, (name, errors)
