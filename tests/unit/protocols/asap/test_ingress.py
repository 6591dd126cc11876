"""Envelopes and manifests of ASAP at the edges."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import decode, to_json
from schemas.asap import canonical_form
from streams.errors import InvalidInput
from streams.ingress.edges import ingress_topic_of
from streams.ingress.kinds import kind_of
from streams.processing.encode import to_output
from streams.processing.ingress import check
from streams.settings import Settings
from tests.unit.protocols.asap.queries.stage import manifest, request, tool_call, update

NOW_MS = 1_767_225_600_000
Json = dict[str, Any]


def produced(topic: str, value: Any, settings: Settings | None = None) -> tuple[bytes | None, Json]:
    edge = ingress_topic_of(topic)
    output = to_output(edge, value, NOW_MS, settings or Settings())
    record = edge.topic.record or ""
    return output.key, to_json(record, decode(output.value or b"", record).value)


@pytest.mark.parametrize(
    "spelling", ["TaskRequest", "task.request", "task_request", "TASK-REQUEST"]
)
def test_an_envelope_is_produced_in_its_canonical_form(spelling: str) -> None:
    sent = {**request("t1"), "payload_type": spelling}
    key, value = produced("asap.envelopes", sent)
    assert key == b"t1"
    assert value == canonical_form(sent)
    assert value["payload"]["config"] is None


def test_what_clients_may_leave_out_is_filled_in() -> None:
    bare = {name: value for name, value in request().items() if name not in ("id", "timestamp")}
    for sent in (bare, {**bare, "id": None, "timestamp": None}):
        key, value = produced("asap.envelopes", sent)
        assert key == value["id"].encode()
        assert (len(value["id"]), value["timestamp"]) == (26, "2026-01-01T00:00:00Z")
    assert produced("asap.envelopes", {**update("u"), "id": None})[0] == b"t1"


@pytest.mark.parametrize(
    ("settings", "value", "rule"),
    [
        (Settings(asap_service_urn="urn:asap:agent:planner"), request(), "reserved_urn"),
        (Settings(asap_max_envelope_bytes=300), request(), "envelope_too_large"),
        (
            Settings(asap_max_retention_hours=1),
            request(config={"event_retention_hours": 2}),
            "bad_config",
        ),
        (Settings(), 4, "malformed_envelope"),
        (Settings(), {**request(), "x": 1}, "malformed_envelope"),
        (Settings(), {**request(), "payload_type": "x"}, "unknown_payload_type"),
    ],
)
def test_the_rules_are_those_of_the_settings(settings: Settings, value: Any, rule: str) -> None:
    with pytest.raises(InvalidInput) as it:
        produced("asap.envelopes", value, settings)
    assert it.value.problems[0].rule == rule


@pytest.mark.parametrize(
    ("sent", "trace"),
    [
        (request("t1"), "t1"),
        (update("u", task="t1"), "t1"),
        ({**update("u", task="job-5"), "correlation_id": "t1"}, "t1"),
        (tool_call("c", "r-1"), "r-1"),
    ],
)
def test_a_missing_trace_is_the_key(sent: Json, trace: str) -> None:
    edge = ingress_topic_of("asap.envelopes")
    untraced = {**sent, "trace_id": None}
    for value in (untraced, {name: untraced[name] for name in untraced if name != "trace_id"}):
        output = to_output(edge, value, NOW_MS, Settings())
        assert (output.key, list(output.headers)) == (
            trace.encode(),
            [("headrace-filled", b"trace_id")],
        )
        assert produced("asap.envelopes", value)[1]["trace_id"] == trace
    assert list(to_output(edge, sent, NOW_MS, Settings()).headers) == []


@pytest.mark.parametrize("key", ["", "x" * 257, "a\n"])
def test_an_id_that_is_none_becomes_no_trace(key: str) -> None:
    value = {**update("u"), "payload": {**update("u")["payload"], "task_id": key}}
    value |= {"trace_id": None, "correlation_id": None}
    prepared, problems = check(kind_of("asap.envelope"), value, NOW_MS, Settings())
    assert prepared.value["trace_id"] == "u"
    assert [problem.path for problem in problems] == ["/payload/task_id"]


def test_every_broken_rule_is_told() -> None:
    value = {**request(id="\n"), "sender": "x", "asap_version": "1"}
    _, problems = check(kind_of("asap.envelope"), value, NOW_MS, Settings())
    assert [problem.rule for problem in problems] == ["version_mismatch", "bad_id", "bad_urn"]


def test_a_manifest_is_produced_with_all_its_members() -> None:
    key, value = produced("asap.manifests", manifest())
    assert key == manifest()["id"].encode()
    assert (value["auth"], value["capabilities"]["mcp_tools"]) == (None, [])
    with pytest.raises(InvalidInput) as it:
        produced("asap.manifests", manifest(version="two"))
    assert it.value.problems[0].rule == "bad_manifest"
