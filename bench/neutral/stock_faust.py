"""The neutral workload on stock Faust: python -m bench.neutral.stock_faust, at least once.

One agent, a table on RocksDB with its changelog; fastavro for records and rows.
"""

from __future__ import annotations

import faust

from bench.neutral.step import decide, new_row
from bench.neutral.workload import CHANGES, OUTCOMES, read, write
from bench.peer import SESSION_TIMEOUT_S
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
    consumer_auto_offset_reset="earliest",
    web_enabled=False,
    key_serializer="raw",
    value_serializer="raw",
)
source = app.topic(settings.prefix + CHANGES, key_type=bytes, value_type=bytes)
sink = app.topic(settings.prefix + OUTCOMES, key_type=bytes, value_type=bytes)
tickets = app.Table("tickets", key_type=bytes, value_type=bytes)


async def work(stream: faust.Stream[bytes]) -> None:
    """Decide each change by the row of its ticket."""
    async for key, data in stream.items():
        before = tickets.get(key)
        row = new_row() if before is None else read("ticket", before)
        outcome = decide(read("change", data), row)
        tickets[key] = write("ticket", row)
        await sink.send(key=key, value=write("outcome", outcome))


app.agent(source)(work)

if __name__ == "__main__":
    faust.Worker(app, loglevel="WARNING").execute_from_commandline()
