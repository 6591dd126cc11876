"""The peer: stock Faust with the same processor, codec and outputs, at least once.

An agent per topic, one event at a time, rows in a Faust table on RocksDB with its changelog,
outputs through Faust's producer.  What differs from headrace is the host, nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

import faust

from streams.engine.copies import Copies, copied
from streams.engine.kafka import KafkaLog
from streams.engine.records import LogRecord
from streams.engine.rows import Bytes
from streams.engine.step import Step
from streams.engine.work import Context
from streams.processors.apc import ApcProcessor
from streams.settings import Settings
from topology.declarations import Kind
from topology.processors import APC
from topology.topics import APC_PACKETS

settings = Settings.load()
prefix = settings.prefix
app = faust.App(
    f"{prefix}stock-faust",
    broker=f"kafka://{settings.bootstrap}",
    store="rocksdb://",
    datadir=str(settings.state_dir),
    topic_partitions=settings.partitions,
    topic_disable_leader=True,
    web_enabled=False,
    key_serializer="raw",
    value_serializer="raw",
)
packets = app.topic(prefix + APC_PACKETS.name, key_type=bytes, value_type=bytes)
rows = app.Table("rows", key_type=bytes, value_type=bytes)
SENT = {
    prefix + t.name: app.topic(prefix + t.name, key_type=bytes, value_type=bytes)
    for t in APC.outputs
    if t.kind is not Kind.TABLE
}
processor = ApcProcessor()
copies = Copies(
    settings.state_dir / "copies",
    KafkaLog(settings.bootstrap or "", settings.security(), app.conf.id),
    prefix,
    settings.partitions,
    copied([APC]),
)
copies.open()
copies.follow()


def read(keys: Sequence[bytes]) -> list[bytes | None]:
    return [rows.get(key) for key in keys]


async def judge(stream: faust.Stream[bytes]) -> None:
    """One packet record: decide, then write what it causes."""
    async for event in stream.events():
        message = event.message
        context = Context(
            message.partition, settings.partitions, prefix, settings.as_work(), copies
        )
        record = LogRecord(
            message.topic,
            message.partition,
            message.offset,
            int(message.timestamp * 1000),
            message.key,
            message.value,
            tuple((message.headers or {}).items()),
        )
        step = Step(processor, context, read)
        step.records([(APC_PACKETS, record)])
        changes: Bytes = step.effects.rows
        for key, value in changes.items():
            if value is None:
                rows.pop(key, None)
            else:
                rows[key] = value
        for output in step.effects.outputs:
            topic = SENT.get(output.topic)
            if topic is not None:
                await topic.send(
                    key=output.key,
                    value=output.value,
                    headers=dict(output.headers),
                    partition=output.partition,
                )


app.agent(packets)(judge)

if __name__ == "__main__":
    faust.Worker(app, loglevel="WARNING").execute_from_commandline()
