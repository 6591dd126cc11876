"""On the engine: batches of any size and restarts between them change nothing on the log."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import encode, from_json
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.records import LogRecord, Output
from streams.ops.topics import create_topics
from streams.protocols.sap.processor import SapProcessor
from streams.settings import Settings
from tests.examples import example_count
from tests.unit.protocols.sap.processor.support import START_MS
from tests.unit.protocols.sap.processor.test_interleavings import COMMANDS, TOPICS, Step
from topology import topics
from topology.declarations import TopicKind

pytestmark = pytest.mark.slow

OUTPUTS = {topic.name for topic in SapProcessor.declaration.outputs}
TABLES = {topic.name for topic in topics.ALL if topic.kind is TopicKind.TABLE}


def tell(line: list[Step], batch: int, stops: set[int]) -> list[LogRecord]:
    """The facts and rows that a line of commands gives rise to, the host restarted at the stops.

    Each record has a time of its own: of two inputs, equal times are judged in the order of the
    inputs as far as both are there.
    """
    settings = Settings(partitions=1, batch=batch)
    log = MemoryLog(lambda: START_MS)
    create_topics(log, settings)
    written: list[LogRecord] = []
    with TemporaryDirectory() as folder:
        host = LocalHost(log, lambda: [SapProcessor()], settings, Path(folder))
        log.on_append = written.append
        for n, step in enumerate(line):
            log.append_at(_output(step), START_MS + n)
            if n in stops:
                host.run()
                host.restart()
        host.run()
        host.close()
    return [record for record in written if record.topic in OUTPUTS]


def _output(step: Step) -> Output:
    topic = TOPICS[step.what]
    value = encode(str(topic.record), from_json(str(topic.record), step.value))
    return Output(topic.name, str(step.value["taskId"]).encode(), value)


def facts(written: list[LogRecord]) -> dict[str, list[object]]:
    """Records by topic; of rows only the last per key, for batches write fewer of them."""
    by_topic: dict[str, list[LogRecord]] = {}
    for record in written:
        by_topic.setdefault(record.topic, []).append(record)
    for name in TABLES & by_topic.keys():
        last = {record.key: record for record in by_topic[name]}
        by_topic[name] = sorted(last.values(), key=lambda record: record.key or b"")
    return {
        name: [(record.key, record.value, sorted(record.headers)) for record in records]
        for name, records in by_topic.items()
    }


@settings(max_examples=example_count(8), deadline=None)
@given(st.data())
def test_batches_and_restarts_change_nothing_on_the_log(data: st.DataObject) -> None:
    line = data.draw(st.lists(COMMANDS, min_size=1, max_size=25))
    calm = facts(tell(line, 1000, set()))
    stops = data.draw(st.sets(st.integers(0, len(line) - 1), max_size=2))
    busy = facts(tell(line, data.draw(st.integers(1, 7)), stops))
    assert calm == busy
