"""The AsyncAPI document says what the declarations say, and what the service writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft7Validator, FormatChecker

from schemas import CATALOGUE
from streams import cli
from streams.api.asyncapi import PUBLIC, document
from streams.ops.topics import config_of
from streams.play.scenario import play
from streams.settings import Settings
from tests.unit.gateway.bench import GatewayBench
from topology import processors, topics
from topology.core import RTES_RAW
from topology.declarations import Topic, TopicKind
from topology.headers import CLOUDEVENTS, headers_of
from topology.topics import BY_NAME
from topology.verdicts import VERDICTS

ROOT = Path(__file__).resolve().parents[4]
STORIES = ("five-protocols", "asap-requests", "sap-tasks", "refusals", "promotion", "saop-order")
PLAIN = document(Settings())


def of(reference: dict[str, str]) -> Any:
    """What it refers to."""
    node: Any = PLAIN
    for name in reference["$ref"].removeprefix("#/").split("/"):
        node = node[name]
    return node


def kafka(where: dict[str, Any]) -> dict[str, Any]:
    binding: dict[str, Any] = where["bindings"]["kafka"]
    return binding


def undocumented(schema: Any) -> Any:
    if isinstance(schema, list):
        return [undocumented(branch) for branch in schema]
    if isinstance(schema, dict):
        return {name: undocumented(part) for name, part in schema.items() if name != "doc"}
    return schema


def test_the_public_topics_are_its_channels() -> None:
    assert list(PLAIN["channels"]) == [topic.name for topic in PUBLIC]
    left_out = {topic.kind for topic in topics.ALL if topic not in PUBLIC}
    assert left_out == {TopicKind.INTERNAL, TopicKind.CHANGELOG, TopicKind.DOOR}


def test_channels_are_topics_as_they_are_created() -> None:
    settings = Settings(prefix="acme.", partitions=7, rtes_raw_retention_h=3)
    for topic in PUBLIC:
        channel = document(settings)["channels"][topic.name]
        assert channel["address"] == kafka(channel)["topic"] == f"acme.{topic.name}"
        assert kafka(channel)["partitions"] == topics.partitions_of(topic, 7)
        topic_config = kafka(channel)["topicConfiguration"]
        assert topic_config.pop("cleanup.policy") == [config_of(topic, settings)["cleanup.policy"]]
        expected = {k: v for k, v in config_of(topic, settings).items() if k != "cleanup.policy"}
        assert {name: str(value) for name, value in topic_config.items()} == expected


def test_values_have_the_schemas_of_the_catalogue_and_their_documentation() -> None:
    for topic in PUBLIC:
        payload = of(PLAIN["components"]["messages"][topic.name]["payload"])
        if topic.record is None:
            assert payload["format"] == "binary"
        else:
            assert undocumented(payload["schema"]) == CATALOGUE.latest(topic.record).schema
    event = PLAIN["components"]["schemas"]["headrace.apc.ApcEvent"]["schema"]
    assert event["doc"] == "What the service decided about a packet."


def test_each_message_has_the_key_of_its_topic_and_a_tombstone_where_there_are_some() -> None:
    for topic in PUBLIC:
        messages = [of(each) for each in PLAIN["channels"][topic.name]["messages"].values()]
        assert {kafka(message)["key"]["description"] for message in messages} == {topic.key}
        nulls = [message for message in messages if message["payload"] == {"type": "null"}]
        assert len(messages) - len(nulls) == 1
        assert bool(nulls) == (topic.nullable or topic.kind is TopicKind.TABLE)


def test_processors_send_and_receive_what_they_are_declared_to() -> None:
    expected = {
        *(f"{p.name}.receive.{t.name}" for p in processors.ALL for t in p.inputs if t in PUBLIC),
        *(f"{p.name}.send.{t.name}" for p in processors.ALL for t in p.outputs if t in PUBLIC),
    }
    operations = PLAIN["operations"]
    names = {name for name in operations if not name.startswith(("clients.", "operators."))}
    assert names == expected
    for name, operation in operations.items():
        who, action, topic = name.split(".", 2)
        assert operation["action"] == action
        assert operation["tags"] == [{"name": who}]
        assert of(operation["channel"]) is PLAIN["channels"][topic]


def test_clients_send_commands_and_receive_whatever_else_there_is() -> None:
    sent = {name for name in PLAIN["operations"] if name.startswith("clients.send.")}
    received = {name for name in PLAIN["operations"] if name.startswith("clients.receive.")}
    commands = [t.name for t in PUBLIC if t.kind is TopicKind.COMMAND] + [RTES_RAW.name]
    assert sent == {f"clients.send.{name}" for name in commands}
    audits = {f"operators.send.{t.name}" for t in PUBLIC if t.kind is TopicKind.AUDIT}
    assert {name for name in PLAIN["operations"] if name.startswith("operators.")} == audits
    assert received == {f"clients.receive.{t.name}" for t in PUBLIC if t.name not in commands}


def test_the_reply_to_a_command_is_the_topic_of_its_verdict() -> None:
    for topic, verdicts in VERDICTS.items():
        if topic.internal:
            continue  # no client writes it
        operation = PLAIN["operations"][f"clients.send.{topic.name}"]
        if len(verdicts) == 1:
            assert of(operation["reply"]["channel"]) is PLAIN["channels"][verdicts[0].name]
        else:
            assert "reply" not in operation


def whole(topic: Topic) -> dict[str, Any]:
    """The schema of the topic's headers, its trait included; no others are allowed."""
    message = PLAIN["components"]["messages"][topic.name]
    headers = message["headers"]
    for trait in map(of, message.get("traits", ())):
        properties = {**trait["headers"]["properties"]}
        for name, schema in headers["properties"].items():
            properties[name] = {**properties.get(name, {}), **schema}
        required = [*headers.get("required", ()), *trait["headers"]["required"]]
        headers = {**headers, "properties": properties, "required": required}
    return {**headers, "additionalProperties": False}


def written(story: str) -> Iterator[tuple[Topic, dict[str, str]]]:
    """The headers of what the service writes in a scenario."""
    lines = (ROOT / f"scenarios/{story}.jsonl").read_text().splitlines()
    for output in play(lines, Settings(partitions=1)):
        if output.get("topic") is not None and "headers" in output:
            yield BY_NAME[output["topic"]], output["headers"]


def test_the_headers_of_what_the_service_writes_are_those_of_the_document() -> None:
    seen: set[Topic] = set()
    for topic, headers in (each for story in STORIES for each in written(story)):
        if topic in PUBLIC and topic.kind is not TopicKind.DEAD_LETTER:
            Draft7Validator(whole(topic), format_checker=FormatChecker()).validate(headers)
            seen.add(topic)
        assert headers.keys() <= {header.name for header in headers_of(topic)}
    assert {topic.kind for topic in seen} == {
        TopicKind.FACT,
        TopicKind.INBOX,
        TopicKind.TABLE,
        TopicKind.COLLECTOR,
    }
    assert len(seen) > 20


def test_events_name_their_record_and_their_processor() -> None:
    for topic in (topic for topic in PUBLIC if topic.carries_cloudevents):
        properties = whole(topic)["properties"]
        assert properties["ce_type"]["const"] == topic.record
        writers = [processor.name for processor in processors.writers_of(topic)]
        assert properties["ce_source"]["enum"] == [f"/headrace/{name}" for name in writers]
        assert {header.name for header in CLOUDEVENTS} <= set(whole(topic)["required"])


def test_servers_are_those_of_the_settings_without_their_secrets() -> None:
    settings = Settings(
        bootstrap="one:9092,two:9092",
        security_protocol="SASL_SSL",
        security_sasl_mechanism="SCRAM-SHA-512",
        security_sasl_username="known",
        security_sasl_password="secret-word",
        schema_registry_url="https://known:secret-word@registry.example:8081/api",
    )
    servers = document(settings)["servers"]
    assert [server["host"] for server in servers.values()] == ["one:9092", "two:9092"]
    for server in servers.values():
        assert server["protocol"] == "kafka-secure"
        assert of(server["security"][0]) == {"type": "scramSha512"}
        assert kafka(server)["schemaRegistryUrl"] == "https://registry.example:8081/api"
    assert "secret-word" not in json.dumps(document(settings))


@pytest.mark.parametrize(
    ("protocol", "expected", "security"),
    [
        (None, "kafka", []),
        ("PLAINTEXT", "kafka", []),
        ("SSL", "kafka-secure", []),
        ("SASL_PLAINTEXT", "kafka", ["plain"]),
        ("SASL_SSL", "kafka-secure", ["plain"]),
    ],
)
def test_the_protocol_says_whether_the_line_is_encrypted(
    protocol: str | None, expected: str, security: list[str]
) -> None:
    server = document(Settings(security_protocol=protocol))["servers"]["kafka"]
    assert server["protocol"] == expected
    assert [of(each)["type"] for each in server.get("security", ())] == security


def test_the_local_broker_and_the_gateway_stand_in_for_what_is_not_set() -> None:
    (server,) = PLAIN["servers"].values()
    assert server["host"] == f"127.0.0.1:{Settings().broker_port}"
    assert kafka(server)["schemaRegistryUrl"] == f"http://{Settings().gateway}"


def test_the_gateway_serves_it(tmp_path: Path) -> None:
    with GatewayBench(tmp_path) as gateway:
        answer = gateway.ask("GET", "/asyncapi.json")
        assert answer.headers["content-type"] == "application/json"
        assert answer.json() == document(gateway.settings)
        assert "/asyncapi.json" in gateway.ask("GET", "/openapi.json").json()["paths"]


def test_the_command_line_prints_it_without_a_broker() -> None:
    ran = CliRunner().invoke(cli.main, ["topics", "asyncapi"], env={"HEADRACE_PREFIX": "acme."})
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.output) == document(Settings(prefix="acme."))
