"""The scenarios of ASAP: what the spec says of each, with their restarts and without.

That a restart after any line changes nothing is tested of all scenarios in `tests.unit.play`.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from schemas import asap
from tests.unit.processing.scenarios import Scenarios, in_any_order, records

Json = dict[str, Any]
ULID = 26


class Expected(NamedTuple):
    """What a scenario brings about, in log order.

    facts: key and rule; the last part of a URN, the last four characters of a ULID.  refused: rules
    of the edge.  letters: why records became dead letters.  answers: HTTP statuses of its queries.
    """

    facts: str
    refused: str = ""
    letters: str = ""
    answers: str = ""


EXPECTED = {
    "run": Expected(
        facts=(
            "8E9C:task_created 8E9C:status_changed 8E9C:same_envelope 8E9C:status_changed "
            "8E9C:state_read 8E9C:response_recorded 8E9C:task_already_terminal"
        ),
        answers="200 200 200 200 200 200 200 200",
    ),
    "tasks": Expected(
        facts=(
            "t1:task_created t1:status_changed t1:status_changed t1:message_forwarded "
            "t1:input_received t1:status_changed t1:status_changed t1:artifact_noted "
            "t1:response_recorded t1:task_already_terminal t1:task_already_terminal "
            "t1:message_forwarded t2:task_created t2:response_recorded t2:task_already_terminal "
            "t3:task_created t3:status_changed t3:response_recorded t4:task_created "
            "t4:status_changed t4:task_cancelled t4:task_already_terminal t4:response_recorded "
            "t5:task_created t5:invalid_transition t5:update_type_mismatch "
            "t5:update_type_mismatch t5:not_participant t5:wrong_recipient t5:not_participant "
            "t5:progress_noted t5:status_changed t5:invalid_transition t6:task_not_found "
            "t6:task_created t6:status_changed"
        ),
        answers="200 200 200 200 200 200 409 404 200",
    ),
    "deadlines": Expected(
        facts=(
            "t1:task_created t2:task_created t2:status_changed t2:status_changed "
            "t3:task_created t4:task_created t5:task_created t1:task_timeout t2:task_timeout "
            "t3:response_recorded t4:task_timeout t4:task_already_terminal t4:response_recorded "
            "t1:task_already_terminal t1:response_recorded t1:task_already_terminal "
            "t5:task_timeout"
        ),
        answers="200 200 200",
    ),
    "snapshots": Expected(
        facts=(
            "t1:task_created t1:status_changed t1:state_saved t1:state_saved t1:state_read "
            "t1:state_read t1:state_read t1:state_saved t1:state_saved t1:state_read "
            "t1:state_saved t1:state_restored t1:state_restored t1:snapshot_not_found "
            "t1:state_mode_conflict t1:response_recorded t1:task_already_terminal "
            "t2:task_created t2:status_changed t2:state_saved t2:state_saved t2:state_read "
            "t2:state_saved"
        ),
        answers="200 200 200 404 409 200",
    ),
    "event-sourced": Expected(
        facts=(
            "t1:task_created t1:status_changed t1:state_saved t1:status_changed t1:state_read "
            "t1:state_read t1:state_read t1:state_read t1:state_mode_conflict "
            "t1:state_mode_conflict t1:state_restored t1:snapshot_not_found "
            "t1:response_recorded t1:artifact_noted t1:events_expired t1:state_read"
        ),
        answers="200 200 200 200 404 404 200 200 410 410 200",
    ),
    "requests": Expected(
        facts=(
            "d0:task_created d1:task_created d2:task_created d3:task_created d4:task_created "
            "d5:task_created d6:task_created d7:task_created d8:task_created d9:task_created "
            "d10:task_created d11:depth_exceeded o1:task_created o2:task_created "
            "k1:task_created k1:status_changed k2:same_idempotency_key k2:task_redirected "
            "k2:task_redirected k1:response_recorded k3:same_idempotency_key "
            "k3:same_idempotency_key k4:task_created k5:task_created k1:same_envelope "
            "k6:same_idempotency_key d0:task_timeout d1:task_timeout d2:task_timeout "
            "d3:task_timeout d4:task_timeout d5:task_timeout d6:task_timeout d7:task_timeout "
            "d8:task_timeout d9:task_timeout d10:task_timeout o1:task_timeout o2:task_timeout "
            "k4:task_timeout k5:task_timeout k7:task_created k8:same_idempotency_key"
        ),
        answers="200 200 200 404 200 200",
    ),
    "calls": Expected(
        facts=(
            "t1:task_created c1:call_opened c1:call_conflict c1:same_envelope "
            "c1:not_participant c1:wrong_recipient c1:correlation_mismatch c1:call_answered "
            "c1:call_closed c2:call_opened c2:call_answered f1:call_opened f1:resource_mismatch "
            "f1:call_answered f1:call_closed f9:call_not_found c3:call_opened t1:task_timeout "
            "c3:call_timeout c3:call_closed c9:call_not_found"
        ),
        answers="200 200 200 200 404",
    ),
    "manifests": Expected(
        facts=(
            "t1:task_created eu:manifest_accepted eu:same_envelope t2:task_created "
            "t3:agent_not_found c1:agent_not_found t4:task_created eu:manifest_accepted "
            "scout:bad_manifest scout:bad_manifest t5:agent_not_found scout:manifest_accepted "
            "t6:task_created scout:manifest_withdrawn t7:agent_not_found eu:manifest_withdrawn "
            "t8:task_created t1:status_changed eu:manifest_accepted"
        ),
        answers="200 200 200 404",
    ),
    "bad-input": Expected(
        facts=(
            "t1:version_mismatch -:bad_id t1:bad_urn t1:bad_payload t1:reserved_urn "
            "t1:reserved_urn t1:bad_config t1:bad_config t1:bad_extension t1:bad_extension "
            "t9:key_mismatch t1:key_mismatch -:version_mismatch t1:task_created t1:id_conflict "
            "t1:same_envelope t1:missing_correlation t1:missing_correlation t1:bad_payload "
            "t1:bad_extension t1:sender_mismatch c1:bad_payload -:bad_id t1:status_changed"
        ),
        refused=(
            "malformed_envelope unknown_payload_type payload_type_mismatch bad_payload "
            "version_mismatch"
        ),
        letters="frame_unknown null_value frame_unknown",
        answers="200 200 200 404",
    ),
}


ASAP = Scenarios("asap")
lines, outputs, of = ASAP.lines, ASAP.outputs, ASAP.of


def answers(name: str) -> dict[str, Json]:
    return {
        o["query"].removeprefix("GET /v1/asap"): o["body"] for o in outputs(name) if "query" in o
    }


def short(key: str) -> str:
    if key.startswith("urn:"):
        return key.rpartition(":")[2]
    return key[-4:] if len(key) == ULID else key or "-"


def summary(all_outputs: list[Json]) -> Expected:
    facts, refused, letters, statuses = [], [], [], []
    for output in all_outputs:
        topic = output.get("topic")
        if "rejected" in output:
            refused.append(output["rejected"]["rule"])
        elif topic == "asap.events":
            facts.append(f"{short(output['key'])}:{output['value']['rule']}")
        elif topic is not None and topic.endswith(".dlq"):
            letters.append(output["headers"]["kafka_dlt-exception-fqcn"])
        elif "query" in output:
            statuses.append(str(output["status"]))
    return Expected(*map(" ".join, (facts, refused, letters, statuses)))


@pytest.mark.parametrize("name", EXPECTED)
def test_a_scenario_brings_about_what_the_spec_says(name: str) -> None:
    actual, expected = summary(list(outputs(name))), EXPECTED[name]
    for part, expected_part in zip(actual, expected, strict=True):
        assert part.split() == expected_part.split()


def test_every_scenario_is_expected() -> None:
    assert ASAP.names == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_without_its_restarts_a_scenario_is_the_same(name: str) -> None:
    assert records(ASAP.without_restarts(name)) == records(list(outputs(name)))


@pytest.mark.parametrize("name", EXPECTED)
def test_more_partitions_change_no_verdict(name: str) -> None:
    """Ids, positions and the order between tasks differ; what is decided does not."""
    ours, theirs = summary(list(outputs(name))), summary(ASAP.spread(name))
    assert in_any_order(ours) == in_any_order(theirs)


@pytest.mark.parametrize("name", EXPECTED)
def test_every_decodable_record_has_one_fact(name: str) -> None:
    """And a task's sequences have no gap."""
    sent = [line for line in lines(name) if "topic" in line]
    facts = [o["value"] for o in of(name, "asap.events")]
    actual = summary(list(outputs(name)))
    apart = len(actual.refused.split()) + len(actual.letters.split())
    assert len([fact for fact in facts if fact["verdict"] is not None]) == len(sent) - apart
    by_task: dict[str, list[int]] = {}
    for fact in facts:
        if fact["sequence"] is not None:
            by_task.setdefault(fact["task_id"], []).append(fact["sequence"])
    for sequences in by_task.values():
        assert sequences == list(range(1, len(sequences) + 1))


def test_a_response_is_delivered_again_for_a_duplicate() -> None:
    """The first duplicate came before the response, the next three after it."""
    delivered = [o for o in of("requests", "asap.inbox") if o["key"] == "urn:asap:agent:planner"]
    responses = [o for o in delivered if o["value"]["payload_type"] == "TaskResponse"]
    assert [o["headers"].get("headrace-answers") for o in responses] == [None, "k3", "k3", "k6"]
    assert len({json.dumps(o["value"]) for o in responses}) == 1


def test_who_is_told_of_a_redirect() -> None:
    facts = [o["value"] for o in of("requests", "asap.events")]
    by_id = {f["rule"]: f for f in facts if f["envelope_id"] in ("k2", "e17", "e18")}
    assert by_id["same_idempotency_key"]["task_id"] == "k1"
    assert by_id["task_redirected"]["figures"] == {"task_id": "k1"}


def test_messages_and_artifacts_have_their_parts() -> None:
    bodies = answers("tasks")
    messages = bodies["/tasks/t1/messages"]["messages"]
    assert messages[1]["parts"] == [
        {"type": "text", "content": "The third."},
        {"type": "resource", "resource_uri": "file:///3"},
    ]
    (artifact,) = bodies["/tasks/t1/artifacts"]["artifacts"]
    assert [(part["type"], part["data"]) for part in artifact["parts"]] == [("data", {"terms": 7})]


def test_a_version_is_what_was_live_then() -> None:
    bodies = answers("event-sourced")
    at_4 = bodies["/tasks/t1/events?at=4"]
    assert (at_4["state"]["data"], at_4["state"]["task"]["status"]) == (
        {"page": 2, "notes": {"b": 2}},
        "paused",
    )
    assert bodies["/tasks/t1?at=9"]["state"]["data"] == {"page": 2, "notes": {"a": 1, "b": 2}}
    facts = [o["value"] for o in of("event-sourced", "asap.events")]
    assert [f["snapshot_version"] for f in facts if f["snapshot_version"]] == [2, 9, 10, 11]
    inbox = [o["value"] for o in of("event-sourced", "asap.inbox")]
    states = [e["extensions"][asap.EXT_SNAPSHOT] for e in inbox if e["sender"] == asap.SERVICE_URN]
    assert [state and (state["version"], state["data"]) for state in states[:4]] == [
        (4, {"page": 2, "notes": {"b": 2}}),
        (2, {"page": 1, "notes": {"a": 1}}),
        (0, {}),
        None,
    ]


def test_calls_end_with_what_they_were_about() -> None:
    events = [o["value"] for o in of("calls", "rtes.raw")]
    ends = [v["payload"] for v in events if v["payload"]["type"] == "TOOL_LIFECYCLE_COMPLETED"]
    assert [(end["call_id"], end["status"]) for end in ends] == [
        ("c1", "success"),
        ("c2", "failure"),
        ("c3", "timeout"),
    ]
    assert {end["tool"] for end in ends} == {"search"}
    states = {k: v["state"] for k, v in answers("calls").items() if "state" in v}
    assert states == {
        "/calls/c1": "answered",
        "/calls/c2": "answered",
        "/calls/c3": "timed_out",
        "/calls/f1": "answered",
    }
