"""On the engine: batches of any size and restarts between them change nothing on the log."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import encode
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.records import LogRecord, Output
from streams.ops.topics import create_topics
from streams.protocols.saop.rtes import RtesProcessor
from streams.settings import Settings
from tests.examples import example_count
from tests.unit.protocols.saop.rtes.stories import Story, interleavings, is_command, stories
from tests.unit.protocols.saop.rtes.support import START_MS
from topology.core import CHANGELOG, RTES_RAW
from topology.saop import SAOP_REWINDS, SAOP_TASKS

pytestmark = pytest.mark.slow

OUTPUTS = {topic.name for topic in RtesProcessor.declaration.outputs} - {CHANGELOG.name}


def tell(line: Story, batch: int, stops: set[int]) -> list[LogRecord]:
    """The facts and rows that a line of events gives rise to, the host restarted at the stops.

    Each record has a time of its own: of two inputs, equal times are judged in the order of the
    inputs as far as both are there.
    """
    settings = Settings(partitions=1, batch=batch)
    log = MemoryLog(lambda: START_MS)
    create_topics(log, settings)
    written: list[LogRecord] = []
    with TemporaryDirectory() as folder:
        host = LocalHost(log, lambda: [RtesProcessor()], settings, Path(folder))
        log.on_append = written.append
        for n, value in enumerate(line):
            log.append_at(_output(value), START_MS + n)
            if n in stops:
                host.run()
                host.restart()
        host.run()
        host.close()
    return [record for record in written if record.topic in OUTPUTS]


def _output(value: dict[str, object]) -> Output:
    topic = SAOP_REWINDS if is_command(value) else RTES_RAW
    return Output(topic.name, str(value["session_id"]).encode(), encode(str(topic.record), value))


def facts(written: list[LogRecord]) -> dict[tuple[str, int], list[LogRecord]]:
    """Facts by where they lie; of rows only the last per key, for batches write fewer of them."""
    by_partition: dict[tuple[str, int], list[LogRecord]] = {}
    for record in written:
        without_offset = record._replace(offset=0)
        by_partition.setdefault((record.topic, record.partition), []).append(without_offset)
    for place in [place for place in by_partition if place[0] == SAOP_TASKS.name]:
        last = {record.key: record for record in by_partition[place]}
        by_partition[place] = sorted(last.values(), key=lambda record: record.key or b"")
    return by_partition


@settings(max_examples=example_count(10), deadline=None)
@given(st.data())
def test_batches_and_restarts_change_nothing_on_the_log(data: st.DataObject) -> None:
    line = data.draw(interleavings(data.draw(stories())))
    calm = facts(tell(line, 1000, set()))
    busy = facts(
        tell(line, data.draw(st.integers(1, 7)), data.draw(st.sets(st.integers(0, 40), max_size=2)))
    )
    assert {place: list(map(_told, of)) for place, of in calm.items()} == {
        place: list(map(_told, of)) for place, of in busy.items()
    }


def _told(record: LogRecord) -> tuple[object, ...]:
    return record.key, record.value, sorted(record.headers)
