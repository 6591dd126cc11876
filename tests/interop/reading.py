"""Records of all topics, as a client of Kafka has them that knows nothing of headrace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Self

import fastavro
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from topology import topics
from topology.declarations import TopicKind

READABLE = [topic for topic in topics.ALL if topic.kind is not TopicKind.DEAD_LETTER]


def records(bootstrap: str, names: list[str], partitions: int) -> Iterator[Message]:
    """With a value, from the start of each topic to its end."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "interop",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    left = {(name, partition) for name in names for partition in range(partitions)}
    try:
        consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in left])
        while left:
            message = consumer.poll(30)
            assert message is not None, f"nothing more of {left}"
            if message.error() is not None:
                left.discard((message.topic(), message.partition()))
            elif message.value() is not None:
                yield message
    finally:
        consumer.close()


def position(message: Message) -> str:
    return f"{message.topic()}/{message.partition()}/{message.offset()}"


class Decoded:
    """A value as `AvroDeserializer` reads it with the schemas of the registry at that address."""

    def __init__(self, url: str) -> None:
        self._client = SchemaRegistryClient({"url": url})
        self._read = AvroDeserializer(self._client, return_record_name=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def value(self, topic: str, framed: bytes) -> Any:
        return self._read(framed, SerializationContext(topic, MessageField.VALUE))

    def whole(self, message: Message) -> str:
        """The record's name.  Fails when the value, written again, is not the bytes it was."""
        framed: bytes = message.value()
        value = self.value(message.topic(), framed)
        id = int.from_bytes(framed[1:5], "big")
        parsed: Any = fastavro.parse_schema(json.loads(self._client.get_schema(id).schema_str))
        again = BytesIO()
        fastavro.schemaless_writer(again, parsed, value)
        assert again.getvalue() == framed[5:], position(message)
        return str(parsed["name"])
