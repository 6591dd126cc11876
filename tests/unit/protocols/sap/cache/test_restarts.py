"""On the engine: batches of any size and restarts anywhere; versions are written once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import decode, sap, to_json
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.processor import Message
from streams.engine.records import LogRecord, Output
from streams.ops.topics import create_topics
from streams.protocols.sap.cache import SapCacheProcessor
from streams.settings import Settings
from tests.examples import example_count
from tests.unit.protocols.sap.cache.histories import LOOKUPS, SETTINGS, Op, do
from tests.unit.protocols.sap.cache.support import NINE, Cache
from topology.core import LINEAGE_EDGES
from topology.sap import SAP_CACHE, SAP_LOOKUPS, SAP_VERDICTS

pytestmark = pytest.mark.slow

RECORD = "headrace.sap.SapCacheRecord"
CHANGES: dict[str, Any] = {name.lower(): value for name, value in SETTINGS.items()}


def messages_of(ops: Sequence[Op]) -> list[Message]:
    bench = Cache(**SETTINGS)
    at = 0
    for op in ops:
        at += min(op.after, 100)
        do(bench, op, at)
    return bench.inputs


def run(messages: Sequence[Message], batch: int, stops: set[int]) -> list[LogRecord]:
    """What the processor writes, the host restarted at the stops."""
    settings = Settings(partitions=1, batch=batch, **CHANGES)
    log = MemoryLog(lambda: NINE)
    create_topics(log, settings)
    written: list[LogRecord] = []
    with TemporaryDirectory() as folder:
        host = LocalHost(log, lambda: [SapCacheProcessor()], settings, Path(folder))
        log.on_append = written.append
        for n, message in enumerate(messages):
            record = message.record
            log.append_at(Output(SAP_LOOKUPS.name, record.key, record.value), record.timestamp)
            if n in stops:
                host.run()
                host.restart()
        host.run()
        host.close()
    return [record._replace(offset=0) for record in written]


def of(topic: str, written: Sequence[LogRecord]) -> list[LogRecord]:
    return [record for record in written if record.topic == topic]


@settings(max_examples=example_count(12), deadline=None)
@given(LOOKUPS, st.integers(1, 7), st.sets(st.integers(0, 24)))
def test_restarts_change_nothing(ops: list[Op], batch: int, stops: set[int]) -> None:
    messages = messages_of(ops)
    plain, stopped = run(messages, 1000, set()), run(messages, batch, stops)
    for topic in (SAP_CACHE, SAP_VERDICTS, LINEAGE_EDGES):
        assert of(topic.name, stopped) == of(topic.name, plain)
    previous, keys = "0" * 64, []
    for number, record in enumerate(of(SAP_CACHE.name, stopped), 1):
        assert record.value is not None, "a version has no tombstone"
        assert record.key is not None
        keys.append(record.key)
        json = to_json(RECORD, decode(record.value, RECORD).value)
        assert (json["version"], json["previousSha256"]) == (number, previous)
        previous = json["recordSha256"]
        assert sap.record_sha256(json) == previous
    assert len(set(keys)) == len(keys)
