"""Exports of an in-memory log.  pyarrow is imported by the functions, since it is an extra's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from streams.engine.memory import MemoryLog
from streams.engine.records import Record
from streams.ops.topics import create_topics
from streams.settings import Settings
from tests.unit.ops.sink.facts import turn

if TYPE_CHECKING:
    from streams.analytics.export import TopicExport

AT = 1_767_225_600_000
PARTITIONS = 2
TOPIC = "saop.log"


def new_log(prefix: str = "") -> MemoryLog:
    log = MemoryLog(lambda: AT)
    create_topics(log, Settings(partitions=PARTITIONS, prefix=prefix))
    return log


def append(log: MemoryLog, partition: int, index: int) -> Record:
    return log.append([turn("task-1", index)._replace(partition=partition)])[0]


def run(log: MemoryLog, path: Path, *names: str, **options: Any) -> list[TopicExport]:
    from streams.analytics.export import Options, export

    return list(export(log, "", path, Options(names or (TOPIC,), **options)))


def files(path: Path, topic: str = TOPIC, kind: str = "records") -> list[Path]:
    return sorted((path / kind / topic).rglob("*.parquet"))


def table_of(path: Path, topic: str = TOPIC, kind: str = "records") -> Any:
    """Return all rows of a topic, in the order of their files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pa.concat_tables([pq.read_table(each) for each in files(path, topic, kind)])


def positions(path: Path, topic: str = TOPIC) -> list[tuple[int, int]]:
    table = table_of(path, topic)
    return list(zip(table["_partition"].to_pylist(), table["_offset"].to_pylist(), strict=True))
