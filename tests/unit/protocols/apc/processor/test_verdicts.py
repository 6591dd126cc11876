"""One verdict for each packet record: place, identity, shape, duplicates, and what facts carry."""

from __future__ import annotations

from typing import Any

import pytest
import rfc8785

from schemas import AvroBody, sha256_hex
from streams.engine.headers import trace_id
from tests.unit.processing.harness import START_MS, StepWork
from tests.unit.protocols.apc.processor.packets import (
    SESSION,
    Bench,
    ack,
    deferred,
    evaluation,
    events,
    packet,
    pid,
    retraction,
    waiting,
)
from topology.apc import APC_EVENTS, APC_INBOX, APC_PACKET_STATES_TABLE
from topology.keys import partition_of

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
    assert (fact["warnings"], fact["errors"], fact["throttle"]) == ([], [], None)


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
    ("key", "sent_with", "rendered"),
    [("other", "other", '"other"'), (None, SESSION, "null"), (b"\xff", "�", "�")],
)
def test_another_key_is_refused(key: Any, sent_with: str, rendered: str) -> None:
    bench = Bench()
    sent = bench.decide(bench.message(packet("IDEA", 1), key=key))
    (fact,) = bench.facts(sent)
    assert (fact["rule"], fact["fault"]) == ("key_mismatch", "sender")
    assert SESSION in fact["message"]
    assert rendered in fact["message"]
    assert [one.key for one in sent] == [sent_with]
    assert fact["packet"] is None
    assert bench.rows(APC_PACKET_STATES_TABLE) == {}
    assert bench.verdict(packet("IDEA", 1))["verdict"] == "accepted"


def test_another_partition_is_refused() -> None:
    bench = Bench(partitions=4)
    right = partition_of(SESSION.encode(), 4)
    fact = bench.verdict(packet("IDEA", 1), partition=(right + 1) % 4)
    assert (fact["verdict"], fact["rule"]) == ("rejected", "partition_mismatch")
    assert bench.rows(APC_PACKET_STATES_TABLE) == {}
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
        (pid(1), "s" * 257, "packet_too_large", ["/trace/session_id"]),
        ("NOPE", "", "format_uuid", ["/packet_id", "/trace/session_id"]),
    ],
)
def test_without_identity_there_is_no_row(
    packet_id: str, session: str, rule: str, paths: list[str]
) -> None:
    bench = Bench()
    malformed = packet("IDEA", 1, session=session, packet_id=packet_id, confidence=7)
    fact = bench.verdict(malformed)
    assert (fact["verdict"], fact["rule"], fact["fault"]) == ("rejected", rule, "sender")
    assert [error["path"] for error in fact["errors"]] == paths
    assert (fact["packet"], fact["state"], fact["transitions"]) == (None, None, [])
    assert fact["packet_id"] == packet_id
    assert bench.rows(APC_PACKET_STATES_TABLE) == {}


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
    assert bench.rows(APC_PACKET_STATES_TABLE) == {}
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
