"""Others decode a record of every topic, with the gateway as their schema registry."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import httpx
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from schemas import CATALOGUE, decode, encode
from streams.engine.records import Output
from streams.ops.broker.kafka_distribution import java
from streams.registry.subjects import subjects
from tests.integration.system import Live, live
from tests.integration.test_gateway_openapi import answer_stored, asap_worked, sent
from tests.interop.maven import HERE, files_of
from tests.interop.reading import READABLE, Decoded, position, records
from tests.interop.samples import sample
from tests.unit.protocols.apc.queries.facts import transfer
from tests.unit.protocols.saop.queries.stage import turn
from topology import tables
from topology.core import CHANGELOG

JAVA_LIMIT_S = 120


@pytest.fixture(scope="module")
def lived(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """What a worker wrote, and then one more record of each kind on every topic."""
    with live(broker, tmp_path_factory.mktemp("interop")) as system:
        with system.client as client:
            sent(client, "/v1/apc/packets", transfer(1, "p1"))
            sent(client, "/v1/saop/turns", turn("task-01", 0), turn("task-01", 1))
            answer_stored(client)
            asap_worked(client)
        system.worker.kill()
        system.log.append(list(_samples(system.prefix)))
        yield system


def _samples(prefix: str) -> Iterator[Output]:
    inner = {table.record for table in tables.ALL if table.topic is None}
    for topic in READABLE:
        for record in [topic.record] if topic.record else sorted(inner):
            yield Output(prefix + topic.name, b"sample", encode(record, sample(record)))


def names(system: Live) -> list[str]:
    return [system.prefix + topic.name for topic in READABLE]


def test_the_library_of_confluent_decodes_every_topic(broker: str, lived: Live) -> None:
    record_names: dict[str, set[str]] = {}
    with Decoded(lived.url) as decoded:
        for message in records(broker, names(lived), lived.settings.partitions):
            record_names.setdefault(message.topic(), set()).add(decoded.whole(message))
    assert record_names.keys() == set(names(lived))
    assert record_names.pop(lived.prefix + CHANGELOG.name) == {
        table.record for table in tables.ALL if table.topic is None
    }
    assert record_names == {
        lived.prefix + t.name: {t.record} for t in READABLE if t is not CHANGELOG
    }


def test_the_asyncapi_document_says_how_each_public_topic_is_read(broker: str, lived: Live) -> None:
    document = httpx.get(f"{lived.url}/asyncapi.json").json()
    parsed = {name: fastavro.parse_schema(schema) for name, schema in avro_of(document)}
    assert len(parsed) > 40
    topic_names = set()
    for message in records(broker, list(parsed), lived.settings.partitions):
        body = BytesIO(message.value()[5:])
        fastavro.schemaless_reader(body, parsed[message.topic()], None)
        assert body.read() == b"", position(message)
        topic_names.add(message.topic())
    assert topic_names == parsed.keys()


def avro_of(document: Any) -> Iterator[tuple[str, Any]]:
    """The address of each channel of an AsyncAPI document, and the schema of its values."""

    def of(reference: Any) -> Any:
        node = document
        for name in reference["$ref"].split("/")[1:]:
            node = node[name]
        return node

    for channel in document["channels"].values():
        payloads = [of(message)["payload"] for message in channel["messages"].values()]
        for payload in (of(each) for each in payloads if "$ref" in each):
            if "schemaFormat" in payload:
                yield channel["address"], payload["schema"]


def test_a_consumer_in_java_decodes_every_topic(broker: str, lived: Live, tmp_path: Path) -> None:
    jars = files_of(HERE / "pom.xml", tmp_path)
    program = [java(), "-cp", ":".join(jars), str(HERE / "Consumer.java")]
    ran = subprocess.run(
        [*program, broker, lived.url, *names(lived)],
        capture_output=True,
        text=True,
        timeout=JAVA_LIMIT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    by_position = {line["position"]: line for line in map(json.loads, ran.stdout.splitlines())}
    framed_values = {
        position(message): message.value()
        for message in records(broker, names(lived), lived.settings.partitions)
    }
    assert by_position.keys() == framed_values.keys()
    assert {place.split("/")[0] for place in by_position} == set(names(lived))
    for place, framed in framed_values.items():
        entry = CATALOGUE.entry(int.from_bytes(framed[1:5], "big"))
        assert by_position[place]["record"] == entry.record
        assert by_position[place]["value"] == plain(decode(framed, entry.record).value), place


def plain(value: Any) -> Any:
    """Without the names of branches, and bytes as Java prints them."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return plain(value[1]) if isinstance(value, tuple) else value


def test_the_client_of_confluent_finds_its_way(lived: Live) -> None:
    with SchemaRegistryClient({"url": lived.url, "max.retries": 0}) as client:
        finds(client, lived)


def finds(client: SchemaRegistryClient, lived: Live) -> None:
    assert client.get_subjects() == list(subjects(lived.prefix))
    name = f"{lived.prefix}apc.packets-value"
    assert client.get_subjects(subject_prefix=name) == [name]
    latest = client.get_latest_version(name)
    assert (latest.schema_id, latest.version) == (CATALOGUE.id_of("headrace.apc.ApcPacket"), 1)
    assert client.get_versions(name) == [1]
    assert client.get_version(name, 1).schema.schema_str == latest.schema.schema_str
    assert name in client.get_subjects_by_schema_id(latest.schema_id)
    versions = client.get_schema_versions(latest.schema_id)
    assert (name, 1) in {(each.subject, each.version) for each in versions}
    assert client.get_schema_types() == ["AVRO"]
    assert client.get_compatibility(name) == "BACKWARD_TRANSITIVE"
    assert client.get_mode(name) == client.get_global_mode() == "READONLY"
    faults: list[tuple[int, Callable[[], Any]]] = [
        (40401, lambda: client.get_latest_version("nothing")),
        (40402, lambda: client.get_version(name, 9)),
        (40403, lambda: client.get_schema(9)),
        (42205, lambda: client.register_schema("new-value", latest.schema)),
    ]
    for code, ask in faults:
        with pytest.raises(SchemaRegistryError) as refused:
            ask()
        assert refused.value.error_code == code
