"""Tasks, results and signals at the edges: judged, keyed and sent as they are."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from click.testing import CliRunner

from schemas import decode, sap, to_json
from streams.cli import main
from streams.cli.send import encode_values
from streams.engine.records import Output
from streams.errors import InvalidInput
from streams.ingress.edges import ingress_topic_of
from streams.ingress.kinds import kind_of
from streams.processing.encode import encode_value, to_output
from streams.settings import Settings
from tests.unit.schemas import examples
from topology import topics
from topology.declarations import Topic
from topology.sap import SAP_RESULTS, SAP_TASKS

NOW = 1_767_225_600_123
SETTINGS = Settings()
TOPICS = {"sap.tasks": "sap/tasks", "sap.results": "sap/results", "sap.signals": "sap/signals"}


def produced(topic: str, value: Any) -> Output:
    return to_output(ingress_topic_of(topic), value, NOW, SETTINGS)


@pytest.mark.parametrize("topic", TOPICS)
def test_an_envelope_is_sent_under_its_lower_case_task_id(topic: str) -> None:
    for value in examples.valid(TOPICS[topic]).values():
        output = produced(topic, value)
        assert output.key == value["taskId"].lower().encode()
        assert (output.topic, output.partition, list(output.headers or ())) == (topic, None, [])


@pytest.mark.parametrize("topic", TOPICS)
def test_nothing_is_filled_in_dropped_or_changed(topic: str) -> None:
    record = topics.BY_NAME[topic].record or ""
    for value in examples.valid(TOPICS[topic]).values():
        sent = {name: member for name, member in value.items() if member is not None}
        assert to_json(record, decode(produced(topic, value).value, record).value) == sent


@pytest.mark.parametrize("topic", TOPICS)
def test_a_bad_envelope_is_refused_by_its_rule(topic: str) -> None:
    for case in examples.invalid(TOPICS[topic]).values():
        with pytest.raises(InvalidInput) as caught:
            produced(topic, case["envelope"])
        problem = caught.value.problems[0]
        assert (problem.rule, problem.path) == (case["rule"], case["path"])


@pytest.mark.parametrize("topic", [SAP_TASKS, SAP_RESULTS])
def test_as_the_service_what_breaks_rules_goes_on_the_log_for_the_processor(topic: Topic) -> None:
    folder = TOPICS[topic.name]
    cases = examples.invalid(folder)
    value = encode_value(topic, cases["bad_enum"]["envelope"], SETTINGS).value
    validation = sap.judge(folder[4:-1], decode(value, topic.record or "").value)
    assert [problem.rule for problem in validation.problems] == ["bad_enum"]


def test_what_avro_cannot_carry_has_the_rule_of_the_protocol() -> None:
    cases = examples.invalid("sap/tasks")
    for name in ("missing_field", "bad_type_number", "missing_field_issuer"):
        with pytest.raises(InvalidInput) as caught:
            encode_value(SAP_TASKS, cases[name]["envelope"], SETTINGS)
        problem = caught.value.problems[0]
        assert (problem.rule, problem.path) == (cases[name]["rule"], cases[name]["path"])


@pytest.mark.parametrize("topic", TOPICS)
def test_text_that_is_no_json_breaks_the_rule_of_the_protocol(topic: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        encode_values(topic, b"{", SETTINGS)
    assert caught.value.problems[0].rule == "bad_json"


def validated(kind: str, text: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(main, ["validate", kind], input=text)
    answer: dict[str, Any] = json.loads(result.output)
    return result.exit_code, answer


@pytest.mark.parametrize("folder", TOPICS.values())
def test_envelopes_are_validated_from_the_command_line(folder: str) -> None:
    kind = examples.KINDS[folder]
    assert kind_of(kind).name == kind
    value = next(iter(examples.valid(folder).values()))
    assert validated(kind, json.dumps(value)) == (0, {"valid": True, "errors": []})
    case = next(iter(examples.invalid(folder).values()))
    code, answer = validated(kind, json.dumps(case["envelope"]))
    assert (code, answer["errors"][0]["rule"]) == (1, case["rule"])


@pytest.mark.parametrize(
    "text", ["", "{", '{"a":1,"a":1}', '{"payload": NaN}', base64.b64encode(b"x").decode()]
)
def test_what_is_no_json_is_bad_json_from_the_command_line(text: str) -> None:
    code, answer = validated("sap.task", text)
    assert (code, [error["rule"] for error in answer["errors"]]) == (1, ["bad_json"])
