"""One verdict for each packet record: place, identity, shape, duplicates, and what facts carry."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import rfc8785

from schemas import AvroBody, canonical_json, sha256_hex
from streams.processors.apc.inbound import trace_id
from tests.unit.processors.apc.packets import (
    SESSION,
    Bench,
    Json,
    ack,
    deferred,
    evaluation,
    events,
    packet,
    pid,
    retraction,
    waiting,
)
from tests.unit.processors.harness import START_MS, StepWork
from topology.keys import partition_of
from topology.tables import PACKET_STATES
from topology.topics import APC_EVENTS, APC_INBOX

TRACEPARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
PLAIN = [
    "init", "emit", "schema_pass", "policy_pass", "route_selected",
    "delivery_ack", "consumer_apply", "verification_pass", "non_promotable_complete",
]  # fmt: skip


def test_a_plain_packet_is_archived_in_one_batch() -> None:
    bench = Bench()
    sent = bench.decide_json(packet("IDEA", 1), START_MS)
    (fact,) = bench.facts(sent)
    assert (fact["verdict"], fact["rule"], fact["fault"]) == ("accepted", "accepted", None)
    assert fact["event_id"] == "apc.packets/0/0/0"
    assert fact["cause"] == "apc.packets/0/0"
    assert fact["at"] == "2026-01-01T00:00:00.000Z"
    assert fact["state"] == "ARCHIVED"
    assert fact["packet"] == packet("IDEA", 1)
    assert events(fact["transitions"]) == PLAIN
    assert [t["seq"] for t in fact["transitions"]] == list(range(9))
    assert {t["at"] for t in fact["transitions"]} == {fact["at"]}
    assert {t["cause"] for t in fact["transitions"]} == {fact["cause"]}
    assert fact["acks"]["required"] is False
    assert fact["verification"] == {"mode": "immediate", "outcome": None, "by": None}
    assert fact["trace_id"] == "run-01"
    assert (fact["warnings"], fact["errors"], fact["coordination"]) == ([], [], [])


def test_the_row_keeps_what_later_decisions_need() -> None:
    bench = Bench()
    metadata = {"project_id": "proj", "other": [1]}
    (fact,) = bench.give(packet("IDEA", 1, to=("a", "b"), metadata=metadata), 0)
    row = bench.state(1)
    assert row["packet"] is None
    assert row["packet_hash"] == fact["packet_hash"]
    assert row["identity_hash"] == fact["identity_hash"]
    assert (row["position"], row["logged_at"]) == ("apc.packets/0/0", START_MS)
    assert (row["project_id"], row["trace_id"]) == ("proj", "run-01")
    assert row["recipients"] == ["a", "b"]
    assert (row["sender_agent_id"], row["sender_swarm_id"]) == ("builder-1", "sw-a")
    assert (row["generation"], row["counted"], row["version"]) == (12, True, 1)
    assert {t["at"] for t in row["history"]} == {None}
    assert {t["cause"] for t in row["history"]} == {None}


def test_each_distinct_recipient_gets_one_delivery() -> None:
    bench = Bench()
    sent = bench.decide_json(packet("IDEA", 1, to=("a", "b", "a")), START_MS)
    deliveries = bench.inbox(sent)
    assert [d["recipient_agent_id"] for d in deliveries] == ["a", "b"]
    assert [one.key for one in bench.of(APC_INBOX, sent)] == ["a", "b"]
    assert deliveries[0] == {
        "delivery_id": f"{pid(1)}/a/1",
        "kind": "packet",
        "recipient_agent_id": "a",
        "attempt": 1,
        "packet": packet("IDEA", 1, to=("a", "b", "a")),
        "position": "apc.packets/0/0",
        "at": "2026-01-01T00:00:00.000Z",
        "deadline_at": "2026-01-01T00:00:30.000Z",
        "ack_due_at": None,
    }


def test_the_packet_is_spliced_as_it_came() -> None:
    bench = Bench()
    message = bench.message(packet("IDEA", 1))
    work = StepWork(bench, 0)
    bench.processor.decide([message], work)
    packets = [one.value["packet"] for one in work.sends if "packet" in one.value]
    assert len(packets) == 2
    assert all(isinstance(one, AvroBody) and one == message.body for one in packets)


@pytest.mark.parametrize(
    ("key", "sent_with", "shown"),
    [("other", "other", '"other"'), (None, SESSION, "null"), (b"\xff", "�", "�")],
)
def test_another_key_is_refused(key: Any, sent_with: str, shown: str) -> None:
    bench = Bench()
    sent = bench.decide(bench.message(packet("IDEA", 1), key=key))
    (fact,) = bench.facts(sent)
    assert (fact["rule"], fact["fault"]) == ("key_mismatch", "sender")
    assert SESSION in fact["message"]
    assert shown in fact["message"]
    assert [one.key for one in sent] == [sent_with]
    assert fact["packet"] is None
    assert bench.rows(PACKET_STATES) == {}
    assert bench.verdict(packet("IDEA", 1))["verdict"] == "accepted"


def test_another_partition_is_refused() -> None:
    bench = Bench(partitions=4)
    right = partition_of(SESSION.encode(), 4)
    fact = bench.verdict(packet("IDEA", 1), partition=(right + 1) % 4)
    assert (fact["verdict"], fact["rule"]) == ("rejected", "partition_mismatch")
    assert bench.rows(PACKET_STATES) == {}
    assert bench.verdict(packet("IDEA", 1))["verdict"] == "accepted"


def test_the_key_is_checked_before_the_partition() -> None:
    bench = Bench(partitions=4)
    right = partition_of(SESSION.encode(), 4)
    fact = bench.verdict(packet("IDEA", 1), key="other", partition=(right + 1) % 4)
    assert fact["rule"] == "key_mismatch"


@pytest.mark.parametrize(
    ("packet_id", "session", "rule", "paths"),
    [
        ("NOPE", SESSION, "format_uuid", ["/packet_id"]),
        (pid(1), "", "string_empty", ["/trace/session_id"]),
        ("NOPE", "", "format_uuid", ["/packet_id", "/trace/session_id"]),
    ],
)
def test_without_identity_there_is_no_row(
    packet_id: str, session: str, rule: str, paths: list[str]
) -> None:
    bench = Bench()
    broken = packet("IDEA", 1, session=session, packet_id=packet_id, confidence=7)
    fact = bench.verdict(broken)
    assert (fact["verdict"], fact["rule"], fact["fault"]) == ("rejected", rule, "sender")
    assert [error["path"] for error in fact["errors"]] == paths
    assert (fact["packet"], fact["state"], fact["transitions"]) == (None, None, [])
    assert fact["packet_id"] == packet_id
    assert bench.rows(PACKET_STATES) == {}


def test_the_same_packet_again_is_a_duplicate() -> None:
    bench = Bench()
    bench.give(packet("IDEA", 1))
    sent = bench.decide_json(packet("IDEA", 1, created_at="2026-05-05T00:00:00+01:00"))
    (fact,) = bench.facts(sent)
    assert len(sent) == 1
    assert (fact["verdict"], fact["rule"], fact["fault"]) == ("duplicate", "duplicate", None)
    assert (fact["packet"], fact["state"], fact["transitions"]) == (None, None, [])
    assert fact["identity_hash"] == bench.state(1)["identity_hash"]
    assert fact["packet_hash"] != bench.state(1)["packet_hash"]
    assert "apc.packets/0/0" in fact["message"]
    assert bench.state(1)["version"] == 1


def test_the_same_id_with_other_content_is_a_conflict() -> None:
    bench = Bench()
    bench.give(packet("IDEA", 1))
    fact = bench.verdict(packet("IDEA", 1, confidence=0.75))
    assert (fact["verdict"], fact["rule"], fact["fault"]) == (
        "rejected",
        "packet_conflict",
        "sender",
    )
    assert fact["packet"] is None
    assert bench.state(1)["rule"] == "accepted"


def test_ids_are_unique_in_their_session() -> None:
    bench = Bench()
    bench.give(packet("IDEA", 1))
    assert bench.verdict(packet("IDEA", 1, session="sess-02"))["verdict"] == "accepted"


def test_duplicates_are_told_within_a_batch() -> None:
    bench = Bench()
    messages = [bench.message(packet("IDEA", 1)) for _ in range(3)]
    facts = bench.facts(bench.decide(*messages))
    assert [fact["verdict"] for fact in facts] == ["accepted", "duplicate", "duplicate"]


def test_an_id_in_upper_case_is_the_same_id() -> None:
    bench = Bench()
    upper = packet("IDEA", 1, packet_id=pid(1).upper())
    upper["trace"]["root_packet_id"] = pid(1).upper()
    sent = bench.decide_json(upper)
    (fact,) = bench.facts(sent)
    assert fact["packet"] == packet("IDEA", 1)
    assert bench.inbox(sent)[0]["packet"] == packet("IDEA", 1)
    assert bench.verdict(packet("IDEA", 1))["verdict"] == "duplicate"


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


@pytest.mark.parametrize(("rule", "path", "broken"), BROKEN)
def test_a_broken_shape_is_refused_and_kept(rule: str, path: str, broken: Json) -> None:
    bench = Bench()
    sent = bench.decide_json(broken)
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
    assert bench.verdict(broken)["verdict"] == "duplicate"
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


def test_an_output_too_large_is_refused_without_a_row() -> None:
    bench = Bench()
    sent = bench.too_large(bench.message(packet("IDEA", 1)), APC_EVENTS, 5_000_000)
    (fact,) = bench.facts(sent)
    assert (fact["verdict"], fact["rule"], fact["fault"]) == (
        "rejected",
        "output_too_large",
        "service",
    )
    assert (fact["packet"], fact["state"]) == (None, None)
    assert "5000000" in fact["message"]
    assert bench.rows(PACKET_STATES) == {}
    assert bench.verdict(packet("IDEA", 1))["verdict"] == "accepted"


def test_the_trace_is_carried() -> None:
    bench = Bench()
    message = bench.message(packet("IDEA", 1), headers=[("traceparent", TRACEPARENT)])
    sent = bench.decide(message)
    assert {one.traceparent for one in sent} == {TRACEPARENT}
    (fact,) = bench.facts(sent)
    assert fact["trace_id"] == "0af7651916cd43dd8448eb211c80319c"
    assert bench.state(1)["trace_id"] == fact["trace_id"]


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"nonsense",
        b"00-" + b"0" * 32 + b"-b7ad6b7169203331-01",
        b"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        b"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        b"00-0af7651916cd43dd8448eb211c8031-b7ad6b7169203331-01",
        b"\xff\xfe",
    ],
)
def test_no_trace_id_in_an_invalid_header(header: bytes | None) -> None:
    assert trace_id(header) is None


def test_headers_of_facts_follow_the_fact() -> None:
    bench = Bench()
    for one in bench.decide_json(packet("IDEA", 1)):
        assert one.cause == "apc.packets/0/0"
        if one.topic is APC_EVENTS:
            assert (one.id, one.key) == (one.value["event_id"], SESSION)
            assert one.at == one.value["at"]
        if one.topic is APC_INBOX:
            assert one.id == one.value["delivery_id"]


def test_times_may_go_back() -> None:
    bench = Bench()
    bench.give(packet("IDEA", 1), 5_000)
    fact = bench.verdict(packet("IDEA", 2), 1_000)
    assert fact["at"] == "2026-01-01T00:00:01.000Z"


def test_hashes_are_over_the_folded_json() -> None:
    made = packet("IDEA", 1)
    fact = Bench().verdict(made)
    assert fact["packet_hash"] == sha256_hex(rfc8785.dumps(made))
    del made["created_at"]
    assert fact["identity_hash"] == sha256_hex(rfc8785.dumps(made))


def test_event_ids_count_from_the_verdict() -> None:
    bench = Bench()
    bench.give(deferred(1))
    bench.give(deferred(2))
    facts = bench.give(evaluation(3, 1, 2))
    assert [fact["event_id"] for fact in facts] == [f"apc.packets/0/2/{n}" for n in range(3)]
    assert [fact["packet_id"] for fact in facts] == [pid(3), pid(1), pid(2)]
    assert [fact["cause_packet_id"] for fact in facts] == [None, pid(3), pid(3)]


def test_facts_are_sent_under_their_session() -> None:
    bench = Bench()
    bench.give(waiting(1))
    bench.give(ack(2, 1, "a"))
    bench.give(retraction(3, 1))
    assert {one.key for one in bench.of(APC_EVENTS)} == {SESSION}
