"""What others read of headrace: frames that any Avro reader decodes, headers, keys, settings."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import pytest
from avro.io import BinaryDecoder, DatumReader
from avro.schema import parse
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource

from streams.engine.records import Record
from tests.e2e.environment import Environment
from tests.e2e.outputs import PARTITIONS, Json, value_as_json
from tests.unit.protocols.apc.processor.packets import ack, packet, pid, waiting
from topology import topics
from topology.apc import APC_COORDINATION, APC_EVENTS, APC_INBOX, APC_PACKET_STATES, APC_PACKETS
from topology.asap import ASAP_MANIFESTS
from topology.core import RTES_RAW
from topology.declarations import Topic, TopicKind
from topology.keys import composite, partition_of
from topology.saop import RTES_EVENTS, RTES_REJECTIONS, SAOP_TASKS

pytestmark = pytest.mark.slow

SESSION = "wire/1%"
PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE = "0af7651916cd43dd8448eb211c80319c"
PUBLIC = {
    "ce_specversion",
    "ce_type",
    "ce_source",
    "ce_dataschema",
    "ce_id",
    "ce_subject",
    "ce_time",
}
WRITTEN = (
    APC_EVENTS,
    APC_INBOX,
    APC_PACKET_STATES,
    APC_COORDINATION,
    RTES_RAW,
    RTES_EVENTS,
    SAOP_TASKS,
)


@pytest.fixture(scope="module")
def lived(shared: Environment) -> Environment:
    """A packet that waits, is delivered again, answered and archived; all under one trace."""
    idea = waiting(1, session=SESSION, to=("a", "b/c"), ack_timeout_ms=300, retry_limit=1)
    traced = [("traceparent", PARENT)]
    first = [shared.packet(idea, headers=traced)]
    answers = [shared.packet(ack(2, 1, "a", session=SESSION), headers=traced)]
    shared.await_answers(shared.send(first + answers))
    shared.until(lambda: _redelivered(shared), "redelivered")
    shared.send([shared.packet(ack(3, 1, "b/c", session=SESSION), headers=traced)])
    refused = packet("IDEA", 4, session=SESSION, confidence=3)
    shared.send([shared.packet(refused, headers=traced)])
    shared.drain()
    return shared


def _redelivered(shared: Environment) -> bool:
    return any(fact["rule"] == "redelivered" for fact in shared.values(APC_EVENTS))


def records(
    environment: Environment, topic: Topic
) -> Iterator[tuple[Record, dict[str, str], Json]]:
    for record in environment.records(topic):
        headers = {name: value.decode() for name, value in record.headers}
        yield record, headers, value_as_json(topic, record)


def test_the_trace_is_in_every_record_that_it_caused(lived: Environment) -> None:
    for topic in (APC_EVENTS, APC_INBOX, RTES_RAW, RTES_EVENTS):
        decoded_records = list(records(lived, topic))
        assert decoded_records
        for _, headers, _ in decoded_records:
            assert headers["traceparent"] == PARENT.decode(), topic.name
    assert {row["trace_id"] for row in lived.values(APC_PACKET_STATES)} == {TRACE}


def test_facts_and_deliveries_are_cloud_events(lived: Environment) -> None:
    ids = {
        APC_EVENTS: ("event_id", "session_id", "at", "apc"),
        APC_INBOX: ("delivery_id", "recipient_agent_id", "at", "apc"),
        RTES_EVENTS: ("event_id", "session_id", "recorded_at", "rtes"),
    }
    for topic, (ident, subject, at, processor) in ids.items():
        for _, headers, value in records(lived, topic):
            added_headers = {"headrace-cause", "headrace-principal", "traceparent"}
            assert headers.keys() == PUBLIC | added_headers
            assert headers["headrace-principal"] == "unauthenticated"
            assert headers["ce_specversion"] == "1.0"
            assert headers["ce_type"] == topic.record
            assert headers["ce_source"] == f"/headrace/{processor}"
            assert headers["ce_id"] == value[ident]
            assert headers["ce_subject"] == value[subject]
            assert headers["ce_time"] == value[at]
            assert headers["ce_dataschema"] == f"/schemas/ids/{schema_id(topic)}"


def test_every_record_names_its_cause(lived: Environment) -> None:
    inputs = {f"{r.topic}/{r.partition}/{r.offset}" for r in lived.records(APC_PACKETS)}
    raw = {f"{r.topic}/{r.partition}/{r.offset}" for r in lived.records(RTES_RAW)}
    for topic in WRITTEN:
        causes = {headers["headrace-cause"] for _, headers, _ in records(lived, topic)}
        assert causes <= (raw if topic in (RTES_EVENTS, SAOP_TASKS) else inputs), topic.name
    for _, headers, fact in records(lived, APC_EVENTS):
        assert headers["headrace-cause"] == fact["cause"]


def test_keys_and_partitions(lived: Environment) -> None:
    home = partition_of(SESSION.encode(), PARTITIONS)
    keys = {
        APC_EVENTS: {SESSION},
        APC_INBOX: {"a", "b/c", "builder-1"},
        APC_PACKET_STATES: {composite(SESSION, pid(n)) for n in (1, 2, 3, 4)},
        APC_COORDINATION: {composite(SESSION)},
        RTES_RAW: {SESSION},
        RTES_EVENTS: {SESSION},
        SAOP_TASKS: {composite(SESSION, f"apc:{SESSION}")},
    }
    for topic, expected_keys in keys.items():
        records = lived.records(topic)
        assert {(record.key or b"").decode() for record in records} == expected_keys
        for record in records:
            partition_key = record.key if topic is APC_INBOX else SESSION.encode()
            assert record.partition == partition_of(partition_key or b"", PARTITIONS), topic.name
            assert topic is APC_INBOX or record.partition == home
    assert composite(SESSION) == "wire%2F1%25"


def schema_id(topic: Topic) -> int:
    """From the committed catalogue, read as anyone would."""
    entries = json.loads(files("schemas").joinpath("catalogue.json").read_text("utf-8"))
    return int([entry["id"] for entry in entries if entry["record"] == topic.record][-1])


def plain_decoder(topic: Topic) -> DatumReader:
    entries = json.loads(files("schemas").joinpath("catalogue.json").read_text("utf-8"))
    (schema,) = [entry["schema"] for entry in entries if entry["id"] == schema_id(topic)]
    return DatumReader(parse(json.dumps(schema)))


def test_frames_are_decoded_by_any_avro_reader(lived: Environment) -> None:
    for topic in (*WRITTEN, APC_PACKETS):
        reader = plain_decoder(topic)
        for record in lived.records(topic):
            assert record.value is not None
            assert record.value[0] == 0
            assert int.from_bytes(record.value[1:5], "big") == schema_id(topic)
            body = io.BytesIO(record.value[5:])
            value = reader.read(BinaryDecoder(body))
            assert body.read() == b""
            _same(value, value_as_json(topic, record))


def _same(value: Any, expected: Json) -> None:
    """The plain members of a record, as another reader has them."""
    for name, member in expected.items():
        if isinstance(member, str | int | bool) and name in value:
            actual = value[name]
            if isinstance(actual, datetime):
                actual = actual.astimezone(UTC).isoformat(timespec="milliseconds")
                actual = actual.replace("+00:00", "Z")
            assert actual == member, name


def test_topics_are_set_as_declared(lived: Environment) -> None:
    admin = AdminClient({"bootstrap.servers": lived.settings.bootstrap})
    topics_by_name = {lived.name(topic): topic for topic in topics.ALL}
    futures = admin.describe_configs([ConfigResource("topic", name) for name in topics_by_name])
    for resource, future in futures.items():
        config = {name: entry.value for name, entry in future.result(30).items()}
        topic = topics_by_name[resource.name]
        assert topics.config_of(topic).items() <= config.items(), topic.name
        compacted = (TopicKind.TABLE, TopicKind.CHANGELOG, TopicKind.DOOR)
        rows = topic.kind in compacted or topic is ASAP_MANIFESTS
        assert config["cleanup.policy"] == ("compact" if rows else "delete")
    counts = {
        name: info.partitions for name, info in lived.log.topics().items() if name in topics_by_name
    }
    assert counts == {n: topics.partitions_of(t, PARTITIONS) for n, t in topics_by_name.items()}


def test_inputs_carry_the_brokers_time(lived: Environment) -> None:
    old = lived.packet(packet("SIGNAL", 9, session=SESSION), timestamp=1_000_000_000_000)
    began = time.time() * 1000
    (position,) = lived.send([old])
    ((_, fact),) = lived.await_answers([position])
    _, partition, offset = position.split("/")
    config = {"bootstrap.servers": lived.settings.bootstrap, "group.id": f"{lived.prefix}wire"}
    consumer = Consumer(config)
    consumer.assign([TopicPartition(old.topic, int(partition), int(offset))])
    message = consumer.consume(1, 10)[0]
    consumer.close()
    kind, stamp = message.timestamp()
    assert kind == TIMESTAMP_LOG_APPEND_TIME
    assert abs(stamp - began) < 60_000
    assert fact["at"] == datetime.fromtimestamp(stamp / 1000, UTC).isoformat(
        timespec="milliseconds"
    ).replace("+00:00", "Z")


def test_a_refused_observation_is_a_cloud_event_too(lived: Environment) -> None:
    value = {
        "event_id": "00000000-0000-4000-8000-000000000001",
        "session_id": SESSION,
        "payload": {
            "type": "TASK_TRANSITION",
            "task_id": "t",
            "from_state": "PENDING",
            "to_state": "COMPLETED",
            "timestamp": "2026-01-01T00:00:00Z",
        },
    }
    (position,) = lived.send([lived.record(RTES_RAW, value, headers=[("traceparent", PARENT)])])
    lived.drain()
    ((_, headers, refused),) = records(lived, RTES_REJECTIONS)
    assert refused["rule"] == "illegal_transition"
    assert headers.keys() == PUBLIC | {"headrace-cause", "headrace-principal", "traceparent"}
    assert headers["headrace-cause"] == refused["cause"] == position
