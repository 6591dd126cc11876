"""The spans of what the processors write, from the table of the OTel guide, 9.1."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from streams.doors.otlp.exporter.spans import ExportedSpan, is_exported
from streams.engine.trace_context import span_id
from tests.unit.doors.otlp.exporter.played import SCENARIOS, export, played, records_of
from topology.topics import ALL, BY_NAME

START_NS = 1_767_225_600_000_000_000
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TURN = json.loads((SCENARIOS.parent / "schemas/examples/saop/turn.json").read_text())
FILES = ("acknowledgements", "asap-tasks", "five-protocols", "sap-tasks", "summit-run")


def turn(flags: str = "01", **members: object) -> str:
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-{flags}"}
    return json.dumps({"topic": "saop.turns", "value": {**TURN, **members}, "headers": headers})


def named(spans: list[ExportedSpan], name: str) -> ExportedSpan:
    (span,) = [span for span in spans if span.name == name]
    return span


def test_a_command_its_verdict_and_its_delivery_are_one_trace() -> None:
    spans = played("five-protocols")
    sent, *_ = [span for span in spans if span.name == "send apc.packets"]
    trace = [span for span in spans if span.trace_id == sent.trace_id]
    assert [(span.name, span.kind) for span in trace] == [
        ("send apc.packets", "PRODUCER"),
        ("process apc.packets", "CONSUMER"),
        ("send apc.inbox", "PRODUCER"),
    ]
    position = sent.attributes["headrace.position"]
    assert sent.span_id == span_id("send", str(position))
    assert [span.parent_id for span in trace] == [
        None,
        sent.span_id,
        span_id("process", str(position)),
    ]
    session = "6f1d0c52-9a3e-4b7c-8d21-5e0f4a9b7c36"
    for span in trace:
        assert span.attributes["session.id"] == session
        assert span.attributes["gen_ai.conversation.id"] == session
        assert span.attributes["headrace.protocol"] == "apc"


def test_a_decision_describes_the_record_and_names_the_fact() -> None:
    decision = named(export(records_of([turn()])), "process saop.turns")
    assert decision.attributes == {
        "messaging.system": "kafka",
        "messaging.destination.name": "saop.turns",
        "messaging.destination.partition.id": "1",
        "messaging.kafka.offset": 0,
        "messaging.message.id": "saop.turns/1/0",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "session.id": "paint-7",
        "gen_ai.conversation.id": "paint-7",
        "openinference.span.kind": "GUARDRAIL",
        "headrace.position": "saop.verdicts/1/0",
        "headrace.cause": "saop.turns/1/0",
        "headrace.processor": "saop",
        "headrace.verdict": "accepted",
        "headrace.rule": "turn_logged",
        "headrace.principal": "unauthenticated",
        "headrace.protocol": "saop",
    }
    assert (decision.start_ns, decision.end_ns) == (START_NS, START_NS)


def test_a_trace_context_is_taken_over_with_its_flags() -> None:
    sent, decision, logged = export(records_of([turn(flags="00")]))
    assert {span.trace_id for span in (sent, decision, logged)} == {TRACE}
    assert {span.flags for span in (sent, decision, logged)} == {0}
    assert (sent.parent_id, decision.parent_id) == (PARENT, sent.span_id)
    assert (logged.name, logged.kind) == ("saop.log", "INTERNAL")
    assert logged.parent_id == decision.span_id


def test_a_rejected_record_fails_by_its_rule_without_its_text() -> None:
    line = json.loads(turn()) | {"key": "another task"}
    sent, decision = export(records_of([json.dumps(line)]))
    assert (sent.failed, decision.failed) == (False, True)
    assert decision.attributes["headrace.verdict"] == "rejected"
    assert decision.attributes["headrace.rule"] == "key_mismatch"
    assert decision.attributes["error.type"] == "key_mismatch"
    assert decision.message == "key_mismatch of saop"


def test_a_dead_letter_is_a_decision_that_failed() -> None:
    line = {"topic": "saop.turns", "key": "k", "raw_base64": "AAAA"}
    sent, letter = export(records_of([json.dumps(line)]))
    assert (letter.name, letter.kind) == ("process saop.turns", "CONSUMER")
    assert letter.parent_id == sent.span_id
    assert letter.attributes["error.type"] == "frame_unknown"
    assert letter.attributes["messaging.kafka.message.key"] == "k"
    assert letter.failed


def test_the_end_of_a_tool_call_is_a_span_as_long_as_the_call() -> None:
    event = json.loads(
        (SCENARIOS.parent / "schemas/examples/rtes/tool_lifecycle_completed.json").read_text()
    )
    event["payload"]["status"] = "timeout"
    (span,) = export(records_of([json.dumps({"topic": "rtes.raw", "value": event})]))
    assert (span.name, span.kind) == ("execute_tool pytest", "INTERNAL")
    assert span.end_ns - span.start_ns == 1_250_500_000
    assert span.attributes["gen_ai.tool.call.id"] == "call-1"
    assert span.attributes["gen_ai.operation.name"] == "execute_tool"
    assert (span.failed, span.attributes["error.type"]) == (True, "timeout")


INDEXER = "urn:asap:agent:indexer:eu"


@pytest.mark.parametrize(
    ("file", "work"),
    [
        ("sap-tasks", [("A-ml-001", 12.0, None), ("scheduler", 1.0, None)]),
        (
            "asap-tasks",
            [
                (INDEXER, 1.0, None),
                (INDEXER, 1.0, "rejected"),
                (INDEXER, 2.0, None),
                (INDEXER, 8.0, None),
            ],
        ),
        ("summit-run", [("word-stats", 0.412, None), ("word-stats", 8.499, None)]),
    ],
)
def test_the_end_of_a_task_is_a_span_of_the_agents_work(
    file: str, work: list[tuple[str, float, str | None]]
) -> None:
    spans = [span for span in played(file) if span.name.startswith("invoke_agent")]
    assert [
        (
            span.attributes["gen_ai.agent.name"],
            (span.end_ns - span.start_ns) / 1e9,
            span.attributes.get("error.type"),
        )
        for span in spans
    ] == work
    for span in spans:
        assert span.name == f"invoke_agent {span.attributes['gen_ai.agent.id']}"
        assert span.attributes["openinference.span.kind"] == "AGENT"
        assert span.attributes["gen_ai.operation.name"] == "invoke_agent"
        assert span.kind == "INTERNAL"


def test_who_cancels_a_task_is_not_the_agent_whose_work_it_ends() -> None:
    folder = SCENARIOS.parent / "schemas/examples/asap"
    request, cancel = (
        json.loads((folder / f"task_{name}.json").read_text()) for name in ("request", "cancel")
    )
    lines = [json.dumps({"topic": "asap.envelopes", "value": each}) for each in (request, cancel)]
    (span,) = [span for span in export(records_of(lines)) if "invoke_agent" in span.name]
    assert span.attributes["gen_ai.agent.name"] == request["recipient"] == cancel["recipient"]


def test_spans_of_programs_do_not_come_back() -> None:
    assert played("otel-trace") == []


@pytest.mark.parametrize("name", FILES)
def test_each_span_is_there_once_and_hangs_on_one_that_is_exported(name: str) -> None:
    spans = played(name)
    ids = Counter((span.trace_id, span.span_id) for span in spans)
    assert set(ids.values()) == {1}
    parents = {
        (span.trace_id, span.parent_id) for span in spans if span.parent_id not in (None, PARENT)
    }
    assert parents <= set(ids)
    assert all(span.start_ns <= span.end_ns for span in spans)


def test_spans_are_the_same_whenever_they_are_exported() -> None:
    records = records_of([turn(), turn(turn_index=1)])
    assert export(records) == export(records)


def test_a_prefix_is_in_the_ids_and_not_in_the_attributes() -> None:
    spans = export(records_of([turn()], "acme."), "acme.")
    plain = export(records_of([turn()]))
    id_of_fact = "messaging.message.id"  # the service derives it from the position on the log
    assert [{**span.attributes, id_of_fact: ""} for span in spans] == [
        {**span.attributes, id_of_fact: ""} for span in plain
    ]
    assert "acme." not in json.dumps([span.attributes for span in spans])
    assert {span.span_id for span in spans}.isdisjoint(span.span_id for span in plain)


def test_no_text_of_a_payload_leaves() -> None:
    content = TURN["content"]
    exported = json.dumps(export(records_of([turn()])))
    assert all(text not in exported for text in content.values() if text)


def test_topics_between_processors_tables_and_spans_are_not_exported() -> None:
    omitted = {topic.name for topic in ALL if not is_exported(topic)}
    assert {"sap.lookups", "sap.task-states", "lineage.edges", "rtes.raw", "otel.spans"} <= omitted
    assert is_exported(BY_NAME["saop.turns.dlq"])
