"""Schema ids from a real schema registry, over real Kafka."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from schemas import CATALOGUE, encode, from_json
from streams.engine.headers import CAUSE
from streams.engine.records import Output, Record, header, position
from streams.registry.client import REQUEST_S
from tests.chaos.cluster import Tail
from tests.integration.system import Live, live
from tests.interop.reading import READABLE, Decoded, records
from tests.interop.real_registry import RealRegistry
from tests.processes import Process, named, wait_for
from tests.unit.protocols.apc.processor.packets import packet
from topology.apc import APC_EVENTS, APC_PACKETS, APC_PACKETS_DLQ, APC_TRANSFERS

Json = dict[str, Any]
PACKET = "headrace.apc.ApcPacket"
SESSION = "registry-1"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRegistry]:
    with RealRegistry(tmp_path_factory.mktemp("registry")) as registry_process:
        yield registry_process


@pytest.fixture(scope="module")
def lived(
    broker: str, registry: RealRegistry, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("registered")
    with live(broker, folder, SCHEMA_REGISTRY_URL=registry.url) as system:
        yield system


def value(number: int) -> Json:
    return from_json(PACKET, packet("IDEA", number, session=SESSION))


def body(number: int) -> bytes:
    return encode(PACKET, value(number))[5:]


def framed(id: int, body: bytes) -> bytes:
    return b"\0" + id.to_bytes(4, "big") + body


def sent(system: Live, value: bytes) -> str:
    """The position of a packet record of these bytes."""
    name = system.prefix + APC_PACKETS.name
    return position(system.log.append([Output(name, SESSION.encode(), value)])[0])


def caused(system: Live, name: str, partitions: int, cause: str) -> Record:
    """The first record on a topic that names this cause, when it is there."""
    tail = Tail(system.log, system.prefix + name, partitions)
    records: list[Record] = []

    def look() -> bool:
        tail.poll()
        records[:] = [r for r in tail.records if header(r, CAUSE) == cause.encode()]
        return bool(records)

    try:
        wait_for(look, f"{cause} is answered on {name}")
    finally:
        tail.close()
    return records[0]


def verdict(system: Live, cause: str) -> str:
    fact = caused(system, APC_EVENTS.name, system.settings.partitions, cause)
    with Decoded(system.environ["SCHEMA_REGISTRY_URL"]) as decoder:
        return str(decoder.value(fact.topic, fact.value or b"")["verdict"])


def letter(system: Live, cause: str) -> bytes | None:
    return header(caused(system, APC_PACKETS_DLQ.name, 1, cause), "kafka_dlt-exception-fqcn")


def test_ids_come_from_the_registry(lived: Live, registry: RealRegistry, broker: str) -> None:
    with lived.client as client:
        idea = packet("IDEA", 1, session=SESSION)
        (place,) = client.post("/v1/apc/packets", json=[idea]).json()["positions"]
        path = f"/v1/apc/sessions/{SESSION}/packets/{idea['packet_id']}"
        assert client.get(path, params={"after": place}).json()["packet_id"] == idea["packet_id"]
        assert verdict(lived, place) == "accepted"
        fact = caused(lived, APC_EVENTS.name, lived.settings.partitions, place)
        id = int.from_bytes((fact.value or b"")[1:5], "big")
        assert id not in CATALOGUE
        named = header(fact, "ce_dataschema")
        assert named == f"/schemas/ids/{id}".encode()
        served = client.get(named.decode()).json()["schema"]
    assert json.loads(served) == CATALOGUE.latest("headrace.apc.ApcEvent").schema
    names = [lived.prefix + topic.name for topic in READABLE]
    with Decoded(registry.url) as decoded:
        kinds = [decoded.whole(each) for each in records(broker, names, lived.settings.partitions)]
    assert {"headrace.apc.ApcPacket", "headrace.apc.ApcEvent"} < set(kinds)


def test_topics_create_registers_what_is_missing_once(lived: Live, registry: RealRegistry) -> None:
    name = f"{lived.prefix}{APC_PACKETS.name}-value"
    with SchemaRegistryClient({"url": registry.url}) as client:
        assert len(client.get_versions(name)) == 1
        assert client.get_compatibility(name) == "BACKWARD_TRANSITIVE"
        client.delete_subject(name)
        for _ in range(2):  # the second adds nothing to what was printed
            ran = lived.process("create", "streams.cli", "topics", "create")
            assert ran.exit_code() == 0, ran.text()
            (line,) = ran.text().splitlines()
            assert line.startswith(f"{name} version 1 has schema id ")
        assert len(client.get_versions(name)) == 1


def test_ids_of_the_catalogue_are_still_read(lived: Live) -> None:
    assert verdict(lived, sent(lived, encode(PACKET, value(2)))) == "accepted"


def documented(number: int) -> Json:
    """The schema of packets, with words of another."""
    schema: Json = copy.deepcopy(CATALOGUE.latest(PACKET).schema)
    return {**schema, "doc": f"Packets, as told by {number}."}


def test_what_a_library_writes_is_taken(lived: Live, registry: RealRegistry) -> None:
    """It registers a schema of its own wording."""
    context = SerializationContext(lived.prefix + APC_PACKETS.name, MessageField.VALUE)
    with SchemaRegistryClient({"url": registry.url}) as client:
        written = AvroSerializer(client, json.dumps(documented(3)))(value(3), context)
    assert verdict(lived, sent(lived, written)) == "accepted"


def test_an_id_that_the_registry_does_not_know_is_a_dead_letter(lived: Live) -> None:
    assert letter(lived, sent(lived, framed(123_456, body(4)))) == b"schema_unknown"
    assert letter(lived, sent(lived, framed(2**32 - 1, body(4)))) == b"schema_unknown"


@pytest.mark.slow
def test_records_wait_while_the_registry_is_away(lived: Live, registry: RealRegistry) -> None:
    subject = f"{lived.prefix}{APC_PACKETS.name}-value"
    with SchemaRegistryClient({"url": registry.url}) as client:
        id = client.register_schema(subject, Schema(json.dumps(documented(5)), "AVRO"))
    registry.pause()
    try:
        place = sent(lived, framed(id, body(5)))
        wait_for(
            lambda: "waits: no registry answers" in lived.worker.text(),
            "the task says that it waits",
            3 * REQUEST_S,
        )
    finally:
        registry.go_on()
    assert verdict(lived, place) == "accepted"


@pytest.mark.slow
def test_an_unknown_id_between_processors_stops_the_worker(
    broker: str, registry: RealRegistry, tmp_path: Path
) -> None:
    with live(broker, tmp_path, SCHEMA_REGISTRY_URL=registry.url) as system:
        name = system.prefix + APC_TRANSFERS.name
        system.log.append([Output(name, b"p", framed(123_456, b"x"))])
        assert system.worker.exit_code(60) == 3
        assert "is not in the catalogue" in system.worker.text()


@pytest.mark.slow
def test_a_worker_refuses_a_registry_that_lacks_schemas(
    registry: RealRegistry, lived: Live, tmp_path: Path
) -> None:
    """Nothing was registered under this prefix."""
    settings = {
        "BOOTSTRAP": lived.settings.bootstrap or "",
        "PREFIX": "never-registered.",
        "STATE_DIR": str(tmp_path),
        "SCHEMA_REGISTRY_URL": registry.url,
    }
    worker = Process("w", tmp_path / "log", named(settings), "streams.cli", "worker")
    assert worker.exit_code() == 3
    assert "Run `headrace topics create`" in worker.text()
