"""Packets of a wrong shape are refused and stay on record."""

from __future__ import annotations

import copy

import pytest

from schemas import canonical_json
from tests.unit.protocols.apc.processor.packets import Bench, Json, events, packet, pid

ODE = {
    "state_variables": ["x"],
    "equations": ["-x"],
    "parameters": {},
    "initial_state": {"x": 1},
}
BUNDLE = "/payload/formula_bundle"


def with_formula(bundle: Json) -> Json:
    return packet("IDEA", 1, payload={"formula_bundle": bundle})


BROKEN: list[tuple[str, str, Json]] = [
    ("version_unsupported", "/protocol_version", packet("IDEA", 1, protocol_version="apc/2.0")),
    ("number_range", "/confidence", packet("IDEA", 1, confidence=1.5)),
    ("number_range", "/confidence", packet("IDEA", 1, confidence="NaN")),
    ("number_range", "/routing/ttl_ms", packet("IDEA", 1, routing={"ttl_ms": 0})),
    ("array_not_unique", "/symbolic_keys/1", packet("IDEA", 1, symbolic_keys=["a", "a"])),
    ("array_size", "/recipients", packet("IDEA", 1, recipients=[])),
    ("string_empty", "/recipients/0/agent_id", packet("IDEA", 1, to=("",))),
    ("packet_too_large", "/recipients/0/agent_id", packet("IDEA", 1, to=("a" * 257,))),
    ("packet_too_large", "/sender/swarm_id", packet("IDEA", 1, swarm="s" * 257)),
    (
        "packet_too_large",
        "/payload/protocol_id",
        packet("TRANSFER", 1, payload={"protocol_id": "p" * 257}),
    ),
    (
        "metadata_value",
        "/metadata/project_id",
        packet("IDEA", 1, metadata={"project_id": "p" * 257}),
    ),
    ("format_time", "/expires_at", packet("IDEA", 1, expires_at="2026-01-01T00:00:00")),
    ("format_uuid", "/payload/acked_packet_id", packet("ACK", 1, payload={"acked_packet_id": "?"})),
    (
        "intra_agent_recipients",
        "/recipients",
        packet("IDEA", 1, channel="INTRA_AGENT", to=("a", "b")),
    ),
    ("proof_bundle_missing", "/proof_bundle", packet("CLAIM", 1, proof_bundle=None)),
    ("proof_bundle_missing", "/proof_bundle", packet("EVAL", 1, proof_bundle=None)),
    ("lineage_missing", "/lineage", packet("TRANSFER", 1, lineage=None)),
    ("metadata_value", "/metadata/project_id", packet("IDEA", 1, metadata={"project_id": None})),
    ("formula_empty", BUNDLE, with_formula({"latex_full": ""})),
    (
        "ode_equations",
        f"{BUNDLE}/ode_system",
        with_formula({"ode_system": {**ODE, "equations": ["-x", "0"]}}),
    ),
    (
        "ode_initial_state",
        f"{BUNDLE}/ode_system",
        with_formula({"ode_system": {**ODE, "initial_state": {}}}),
    ),
    ("ode_time", f"{BUNDLE}/ode_system", with_formula({"ode_system": {**ODE, "time_end": 0}})),
]


@pytest.mark.parametrize(("rule", "path", "packet_json"), BROKEN)
def test_a_broken_shape_is_refused_and_kept(rule: str, path: str, packet_json: Json) -> None:
    bench = Bench()
    sent = bench.decide_json(packet_json)
    (fact,) = bench.facts(sent)
    assert len(sent) == 1
    assert (fact["verdict"], fact["rule"], fact["fault"]) == ("rejected", rule, "sender")
    assert fact["errors"][0]["path"] == path
    assert fact["message"] == fact["errors"][0]["message"]
    assert fact["state"] == "REJECTED_SCHEMA"
    assert events(fact["transitions"]) == ["init", "emit", "schema_fail"]
    assert fact["packet"]["packet_id"] == pid(1)
    assert fact["anti_drift"] is None
    row = bench.state(1)
    assert (row["state"], row["rule"], row["packet"]) == ("REJECTED_SCHEMA", rule, None)
    assert row["counted"] is False
    assert bench.verdict(packet_json)["verdict"] == "duplicate"
    assert bench.verdict(packet("IDEA", 1))["rule"] == "packet_conflict"


def avro_of(bench: Bench, made: Json) -> Json:
    return copy.deepcopy(bench.message(made).value)


def test_a_payload_of_another_type_is_refused() -> None:
    bench = Bench()
    value = avro_of(bench, packet("CLAIM", 1))
    value["packet_type"], value["run_phase"] = "ACK", "DISCOVERY"
    (fact,) = bench.facts(bench.decide(bench.message(value, avro=True)))
    assert (fact["rule"], fact["state"]) == ("payload_type_mismatch", "REJECTED_SCHEMA")
    assert fact["errors"][0]["path"] == "/payload"


def test_text_that_is_no_json_is_refused() -> None:
    bench = Bench()
    value = avro_of(bench, packet("IDEA", 1))
    value["metadata_json"] = "{broken"
    (fact,) = bench.facts(bench.decide(bench.message(value, avro=True)))
    assert (fact["rule"], fact["state"]) == ("json_text", "REJECTED_SCHEMA")
    again = bench.facts(bench.decide(bench.message(value, avro=True)))
    assert again[0]["verdict"] == "duplicate"


def test_ten_errors_are_listed_at_most() -> None:
    tags = [{"agent_id": ""} for _ in range(15)]
    fact = Bench().verdict(packet("IDEA", 1, recipients=tags))
    assert len(fact["errors"]) == 10


def test_a_packet_is_as_large_as_its_json() -> None:
    bench = Bench(APC_MAX_PACKET_BYTES=2000)
    fits = packet("IDEA", 1, metadata={"x": ""})
    room = 2000 - len(canonical_json(fits))
    fits["metadata"] = {"x": "x" * room}
    assert len(canonical_json(fits)) == 2000
    assert bench.verdict(fits)["verdict"] == "accepted"
    over = copy.deepcopy(fits)
    over["packet_id"], over["metadata"] = pid(2), {"x": "x" * (room + 1)}
    over["confidence"] = 0.75
    fact = bench.verdict(over)
    assert (fact["rule"], fact["errors"][0]["path"]) == ("packet_too_large", "")
    assert "2001" in fact["message"]
