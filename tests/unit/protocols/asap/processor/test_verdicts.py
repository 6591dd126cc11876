"""The checks that all records share, and the facts that they get (ASAP guide, 5.2, 5.7)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import AvroBody, asap, from_json, uuid5_url
from streams.protocols.asap.processor.command import Command
from tests.unit.protocols.asap.processor.support import (
    INDEXER,
    PLANNER,
    SERVICE,
    START_MS,
    Bench,
    Json,
    envelope,
)
from topology.asap import ASAP_EVENTS, ASAP_INBOX, ASAP_SEEN, ASAP_TASKS
from topology.core import LINEAGE_EDGES, RTES_RAW

HOUR = 3_600_000
REQUEST = envelope("TaskRequest", id="T", sender=PLANNER, recipient=INDEXER, trace_id="tr-19")


def test_the_fact_of_an_accepted_envelope() -> None:
    bench = Bench()
    bench.send(REQUEST)
    value = envelope(
        "TaskUpdate",
        {"task_id": "job-5", "progress": {"percent": 40}},
        correlation_id="T",
        trace_id="tr-20",
    )
    fact = bench.send(value)
    assert fact == {
        "event_id": asap.derived_id("asap.envelopes/0/1", 0, START_MS),
        "kind": "envelope",
        "verdict": "accepted",
        "rule": "status_changed",
        "fault": None,
        "asap_error": None,
        "detail": None,
        "figures": {},
        "at": "2026-01-01T00:00:00.000Z",
        "task_id": "T",
        "call_key": None,
        "sequence": 2,
        "conversation_id": "conv-7f",
        "trace_id": "tr-20",
        "envelope_id": "e-1",
        "envelope_hash": asap.hash_of(value),
        "payload_type": "TaskUpdate",
        "sender": INDEXER,
        "recipient": PLANNER,
        "transitions": [{"from_status": "submitted", "to_status": "working", "implied": False}],
        "status": "working",
        "snapshot_version": None,
        "envelope": value,
        "cause": "asap.envelopes/0/1",
    }
    row = bench.task()
    assert (row["aliases"], row["progress"]) == (["job-5"], {"percent": 40})
    assert (row["sequence"], row["cause"]) == (2, "asap.envelopes/0/1")
    assert bench.inbox(PLANNER) == [value]


def test_what_else_a_record_causes() -> None:
    bench = Bench()
    bench.send(REQUEST)
    sent = bench.put(envelope("TaskUpdate", {"task_id": "T"}, correlation_id="T"))
    (event,) = bench.of(RTES_RAW, sent)
    assert (event.key, event.id) == ("conv-7f", uuid5_url("headrace:asap.envelopes/0/1/0"))
    assert event.value["origin"] == "asap"
    assert event.value["payload"] == (
        "headrace.rtes.TaskTransition",
        {
            "task_id": "T",
            "from_state": "submitted",
            "to_state": "working",
            "git_hash": None,
            "timestamp": "2026-01-01T00:00:00.000Z",
        },
    )
    edges = {
        (e.value["from_node"], e.value["relation"], e.value["to_node"])
        for e in bench.of(LINEAGE_EDGES, sent)
    }
    assert edges == {
        ("asap:envelope:e-1", "part_of", "asap:task:T"),
        ("asap:envelope:e-1", "answers", "asap:envelope:T"),
    }
    (letter,) = bench.of(ASAP_INBOX, sent)
    assert (letter.key, letter.id) == (PLANNER, "e-1")


def test_an_answer_says_what_it_answers() -> None:
    bench = Bench()
    bench.send(REQUEST)
    bench.update(id="u", correlation_id="T", extensions={asap.EXT_ANSWERS: "q/1"})
    assert ("asap:envelope:u", "answers", "asap:envelope:q%2F1") in bench.edges()
    bench.requester("TaskCancel", id="c")
    assert ("asap:envelope:c", "retracts", "asap:task:T") in bench.edges()
    bench.worker("ArtifactNotify", {"artifact_id": "a/1"})
    assert ("asap:artifact:T/a%2F1", "derived_from", "asap:task:T") in bench.edges()


def test_a_snapshot_is_derived_from_its_envelope() -> None:
    bench = Bench()
    bench.send(REQUEST)
    bench.save({"data": {}}, id="s")
    assert bench.edges()[-3:] == [
        ("asap:snapshot:T/1", "part_of", "asap:task:T"),
        ("asap:snapshot:T/1", "derived_from", "asap:envelope:s"),
        ("asap:envelope:s", "part_of", "asap:task:T"),
    ]
    (one,) = [s for s in bench.of(ASAP_EVENTS) if s.value["envelope_id"] == "s"]
    snapshot = bench.snapshot(1)
    assert snapshot is not None
    assert snapshot["id"] == asap.derived_id(one.cause, 1, one.at)


MALFORMED: list[tuple[Json, list[str], str]] = [
    ({"asap_version": "0.2"}, ["version_mismatch"], "asap:protocol/version_mismatch"),
    ({"id": ""}, ["bad_id"], "asap:protocol/malformed_envelope"),
    (
        {"sender": "planner", "asap_version": "1"},
        ["version_mismatch", "bad_urn"],
        "asap:protocol/version_mismatch",
    ),
    ({"sender": SERVICE}, ["reserved_urn"], "asap:security/permission_denied"),
    (
        {"extensions": {asap.EXT_RESTORE: True}},
        ["bad_extension"],
        "asap:protocol/malformed_envelope",
    ),
]


@pytest.mark.parametrize(("changes", "codes", "error"), MALFORMED)
def test_a_broken_shape(changes: Json, codes: list[str], error: str) -> None:
    bench = Bench()
    sent = bench.put({**REQUEST, **changes}, key="T")
    (fact,) = bench.of(ASAP_EVENTS, sent)
    assert [one.topic for one in sent] == [ASAP_EVENTS]
    rejection = fact.json
    assert (rejection["rule"], rejection["figures"], rejection["asap_error"]) == (
        codes[0],
        {"violations": codes},
        error,
    )
    assert (rejection["verdict"], rejection["fault"], rejection["envelope"]) == (
        "rejected",
        "sender",
        None,
    )
    assert bench.tables == {} or not any(bench.tables.values())


@pytest.mark.parametrize("key", ["U", "", None, b"\xff"])
def test_a_record_under_another_key(key: Any) -> None:
    fact = Bench().send(REQUEST, key=key)
    key_text = key if isinstance(key, str) else None
    assert fact["rule"] == "key_mismatch"
    assert fact["figures"] == {"given": key_text, "expected": "T"}


def test_a_fact_has_the_key_of_its_record() -> None:
    bench = Bench()
    sent = bench.put(REQUEST, key="U") + bench.put(REQUEST, key=b"\xff") + bench.put(REQUEST)
    assert [one.key for one in bench.of(ASAP_EVENTS, sent)] == ["U", "T", "T"]


def test_an_answer_that_names_no_key() -> None:
    bench = Bench()
    message = bench.message(envelope("McpResourceData", id="d"), key=None)
    (fact,) = (one.json for one in bench.of(ASAP_EVENTS, bench.decide(message)))
    assert fact["rule"] == "missing_correlation"


def test_the_same_again_changes_nothing() -> None:
    bench = Bench()
    bench.send(REQUEST)
    update = envelope("TaskUpdate", {"task_id": "T"})
    bench.send(update)
    row, sent = bench.task(), len(bench.sent)
    for value, first in ((REQUEST, 1), (update, 2)):
        fact = bench.send(value)
        assert (fact["verdict"], fact["rule"]) == ("duplicate", "same_envelope")
        assert (fact["figures"], fact["task_id"]) == ({"first_sequence": first}, "T")
        assert (fact["sequence"], fact["envelope"]) == (None, None)
    assert (bench.task(), len(bench.sent)) == (row, sent + 2)


def test_an_id_with_other_content() -> None:
    bench = Bench()
    bench.send(REQUEST)
    bench.send(envelope("TaskUpdate", {"task_id": "T"}))
    for value in (
        {**REQUEST, "trace_id": None},
        {**REQUEST, "sender": INDEXER},
        envelope("TaskUpdate", {"task_id": "T", "status": "paused"}),
        envelope(
            "MessageSend",
            {"task_id": "T", "sender": PLANNER},
            id="T",
            sender=PLANNER,
            recipient=INDEXER,
        ),
    ):
        fact = bench.send(value)
        assert (fact["rule"], fact["asap_error"]) == ("id_conflict", "asap:protocol/id_conflict")
    other = envelope("TaskCancel", {"task_id": "T"}, sender=PLANNER, recipient=INDEXER)
    assert bench.send(other)["rule"] == "task_cancelled"


def test_a_refused_id_may_be_sent_again() -> None:
    bench = Bench()
    bench.send(REQUEST)
    update = envelope("TaskUpdate", {"task_id": "T", "status": "paused"})
    assert bench.send(update)["rule"] == "invalid_transition"
    bench.update()
    assert bench.send(update)["rule"] == "status_changed"


def test_ids_are_forgotten_after_a_week_but_tasks_are_not() -> None:
    bench = Bench()
    bench.send(
        {**REQUEST, "payload": {**REQUEST["payload"], "config": {"timeout_seconds": 31_000_000}}}
    )
    update = envelope("TaskUpdate", {"task_id": "T"})
    bench.send(update)
    week = START_MS + 168 * HOUR
    assert bench.send(update, week)["rule"] == "same_envelope"
    assert bench.send(update, week + 1)["rule"] == "progress_noted"
    assert bench.send(REQUEST, week + 1)["rule"] == "id_conflict"


def test_forgotten_ids_are_swept() -> None:
    bench = Bench()
    bench.send(REQUEST)
    bench.respond()
    assert len(bench.rows(ASAP_SEEN)) == 2
    bench.advance_to(START_MS + 200 * HOUR)
    assert bench.rows(ASAP_SEEN) == {}


def test_a_task_that_is_not_known() -> None:
    bench = Bench()
    for say in (bench.update, bench.respond):
        fact = say()
        assert (fact["rule"], fact["task_id"]) == ("task_not_found", None)
    assert bench.requester("TaskCancel")["asap_error"] == "asap:task/not_found"
    bench.send(REQUEST)
    assert bench.update(id="id-1")["verdict"] == "accepted"


def test_a_worker_has_16_other_ids() -> None:
    bench = Bench()
    bench.send(REQUEST)
    for n in range(16):
        fact = bench.worker("TaskUpdate", {"task_id": f"job-{n}"}, correlation_id="T")
        assert fact["verdict"] == "accepted"
    fact = bench.worker("TaskResponse", {"task_id": "job-16"}, correlation_id="T")
    assert (fact["rule"], fact["asap_error"]) == (
        "too_many_aliases",
        "asap:resource/quota_exceeded",
    )
    assert (
        bench.worker("TaskUpdate", {"task_id": "job-3"}, correlation_id="T")["verdict"]
        == "accepted"
    )
    assert bench.task()["aliases"] == [f"job-{n}" for n in range(16)]


def test_what_is_asked_for_is_forgotten_when_it_is_there() -> None:
    bench = Bench()
    bench.put_in("working")
    members = {"status": "input_required", "update_type": "input_required"}
    bench.worker("TaskUpdate", {**members, "input_request": {"prompt": "which?"}})
    assert bench.task()["input_request"] == {"prompt": "which?"}
    bench.update("input_required")
    assert bench.task()["input_request"] == {"prompt": "which?"}
    bench.requester("MessageSend", {"sender": PLANNER})
    assert (bench.task()["status"], bench.task()["input_request"]) == ("working", None)


def test_when_a_task_was_updated() -> None:
    bench = Bench()
    bench.request()
    later = START_MS + 5000
    quiet = (
        bench.worker("StateQuery", recipient=SERVICE, at=later),
        bench.save({"data": {}, "id": "s"}, at=later),
        bench.requester("MessageSend", {"sender": PLANNER}, at=later),
        bench.worker("ArtifactNotify", at=later),
    )
    assert {fact["verdict"] for fact in quiet} == {"accepted"}
    assert bench.task()["updated_at"] == "2026-01-01T00:00:00.000Z"
    assert bench.worker("StateRestore", {"snapshot_id": "s"}, at=later)["verdict"] == "accepted"
    assert bench.task()["updated_at"] == "2026-01-01T00:00:05.000Z"


def test_a_large_response_stands_beside_the_row() -> None:
    bench = Bench()
    bench.request()
    bench.respond(payload={"result": {"text": "x" * 9000}})
    assert (bench.task()["response"], bench.task()["status"]) == (None, "completed")
    assert bench.respond()["rule"] == "task_already_terminal"


def test_what_is_too_large_is_refused() -> None:
    bench = Bench()
    message = bench.record(REQUEST)
    (sent,) = bench.too_large(message, ASAP_TASKS, 5_000_000)
    fact = sent.json
    assert (fact["rule"], fact["fault"]) == ("envelope_too_large", "service")
    assert fact["asap_error"] == "asap:resource/quota_exceeded"


def test_json_that_is_not_canonical_is_made_so() -> None:
    bench = Bench()
    bench.send(REQUEST)
    avro: Json = {
        "id": "e",
        "asap_version": "0.1",
        "timestamp": 1,
        "sender": INDEXER,
        "recipient": PLANNER,
        "payload": (
            "dev.headrace.asap.AsapTaskUpdate",
            {
                "task_id": "T",
                "update_type": "progress",
                "status": "working",
                "progress_json": '{ "b": 1.0, "a": 2 }',
                "input_request_json": None,
            },
        ),
        "correlation_id": None,
        "trace_id": None,
        "extensions_json": None,
    }
    message = bench.message(avro, bench.now, key="T", avro=True, topic=bench.input)
    (sent,) = bench.of(ASAP_EVENTS, bench.decide(message))
    assert sent.value["envelope"]["payload"][1]["progress_json"] == '{"a":2,"b":1}'
    assert bench.of(ASAP_INBOX)[-1].value == sent.value["envelope"]


TEXTS = st.dictionaries(
    st.sampled_from(["a", "b", "input", "config"]),
    st.recursive(
        st.none() | st.integers(-9, 9) | st.floats(-1e6, 1e6) | st.text(max_size=3),
        lambda inner: st.dictionaries(st.sampled_from(["a", "b", "input"]), inner, max_size=2),
        max_leaves=4,
    ),
    max_size=3,
)


@settings(deadline=None)
@given(TEXTS, TEXTS, st.sampled_from([None, (",", ":"), (", ", ": ")]), st.booleans())
def test_bytes_are_passed_on_only_if_their_json_is_canonical(
    input: Json, config: Json, separators: tuple[str, str] | None, sort: bool
) -> None:
    value = from_json("dev.headrace.asap.AsapEnvelope", REQUEST)
    payload = value["payload"][1]
    for name, member in (("input_json", input), ("config_json", {"x": config})):
        payload[name] = json.dumps(member, sort_keys=sort, separators=separators)
    bench = Bench()
    message = bench.message(value, key="T", avro=True, topic=bench.input)
    command = Command.of(message, bench.settings)
    assert command.problems == []
    canonical = from_json("dev.headrace.asap.AsapEnvelope", command.json)
    assert command.canonical == canonical
    assert isinstance(command.outgoing, AvroBody) == (value == canonical)
