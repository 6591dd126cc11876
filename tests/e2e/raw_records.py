"""Record batches as a careless client may build them, which no client library would."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from aiokafka.structs import TopicPartition

from streams.engine.records import Output

_BATCH_BYTES = 1 << 30


class RawName(str):
    """A header name that is these bytes, whatever they spell."""

    __slots__ = ("raw",)
    raw: bytes

    def encode(self, *_: str) -> bytes:
        return self.raw


def raw_name(raw: bytes) -> RawName:
    name = RawName("raw")
    name.raw = raw
    return name


def batch(outputs: Sequence[Output], compression: int) -> bytes:
    """compression: as in the attributes of a batch, 0 for none."""
    builder = _DefaultRecordBatchBuilderPy(2, compression, False, -1, -1, -1, _BATCH_BYTES)
    for number, output in enumerate(outputs):
        appended = builder.append(number, None, output.key, output.value, list(output.headers))
        assert appended is not None, "it does not fit"
    return bytes(builder.build())


def produce(bootstrap: str, partition: int, outputs: Sequence[Output], compression: int) -> int:
    """Write them as one batch, to one topic; returns the offset of the first."""
    (topic,) = {output.topic for output in outputs}
    return asyncio.run(_send(bootstrap, topic, partition, batch(outputs, compression)))


async def _send(bootstrap: str, topic: str, partition: int, data: bytes) -> int:
    client = AIOKafkaClient(bootstrap_servers=bootstrap)
    await client.bootstrap()
    try:
        await client._wait_on_metadata(topic)
        node = client.cluster.leader_for_partition(TopicPartition(topic, partition))
        request = ProduceRequest(None, -1, 30_000, [(topic, [(partition, data)])])
        response = await client.send(node, request)
        ((_, ((_, error, offset, *_rest),)),) = response.topics
        assert error == 0, error
        return int(offset)
    finally:
        await client.close()
