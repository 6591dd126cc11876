"""A peer: stock Faust with the same processor, codec and outputs, at least once.

python -m bench.stock_faust An agent per topic, one event at a time, rows in a Faust table on
RocksDB with its changelog, outputs through Faust's producer.  What differs from headrace is the
host, nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import faust

from bench.peer import SESSION_TIMEOUT_S, Judge, Restored
from streams.engine.records import LogRecord
from streams.engine.rows import Bytes
from streams.settings import Settings

settings = Settings.load()
app = faust.App(
    f"{settings.prefix}stock-faust",
    broker=f"kafka://{settings.bootstrap}",
    store="rocksdb://",
    datadir=str(settings.state_dir),
    topic_partitions=settings.partitions,
    topic_disable_leader=True,
    broker_session_timeout=SESSION_TIMEOUT_S,
    web_enabled=False,
    key_serializer="raw",
    value_serializer="raw",
)
judge = Judge("apc", settings, app.conf.id)
packets = app.topic(judge.input, key_type=bytes, value_type=bytes)
rows = app.Table("rows", key_type=bytes, value_type=bytes)
SENT = {name: app.topic(name, key_type=bytes, value_type=bytes) for name in judge.outputs}
restored = Restored()


def read(keys: Sequence[bytes]) -> list[bytes | None]:
    return [rows.get(key) for key in keys]


async def work(stream: faust.Stream[bytes]) -> None:
    """Decide each packet record, then write its outputs."""
    async for event in stream.events():
        message = event.message
        record = LogRecord(
            message.topic,
            message.partition,
            message.offset,
            int(message.timestamp * 1000),
            message.key,
            message.value,
            tuple((message.headers or {}).items()),
        )
        effects = judge(record, read)
        changes: Bytes = effects.rows
        for key, value in changes.items():
            if value is None:
                rows.pop(key, None)
            else:
                rows[key] = value
        for output in judge.sent(effects.outputs):
            await SENT[output.topic].send(
                key=output.key,
                value=output.value,
                headers=dict(output.headers),
                partition=output.partition,
            )


async def assigned(*_: Any, **__: Any) -> None:
    restored.begun()


async def recovered(*_: Any, **__: Any) -> None:
    restored.done()


app.agent(packets)(work)
app.on_partitions_assigned.connect(assigned)
app.on_rebalance_complete.connect(recovered)

if __name__ == "__main__":
    faust.Worker(app, loglevel="WARNING").execute_from_commandline()
