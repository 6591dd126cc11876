"""The neutral workload is decided exactly by the engine, with outcomes of both kinds."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from bench.neutral import check
from bench.neutral.headrace_worker import Tickets, add_schemas, topics
from bench.neutral.traffic import encoded
from bench.neutral.workload import CHANGES, OUTCOMES, expected
from schemas.catalogue import CATALOGUE
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.records import Output, TopicPartition
from streams.settings import Settings
from topology.declarations import TopicKind

COUNT, PARTITIONS = 2000, 4
START_MS = 1_767_225_600_000


@pytest.mark.parametrize(("kind", "headers"), [(TopicKind.INTERNAL, 1), (TopicKind.FACT, 9)])
def test_each_change_has_the_right_outcome_once(
    kind: TopicKind, headers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_by_id", "_latest"):
        monkeypatch.setattr(CATALOGUE, name, dict(getattr(CATALOGUE, name)))
    add_schemas()
    now = itertools.count(START_MS)
    log = MemoryLog(lambda: next(now))
    log.create(topics(PARTITIONS, ""))
    host = LocalHost(log, lambda: [Tickets(kind)], Settings(partitions=PARTITIONS), tmp_path)
    log.append([Output(CHANGES, key, value) for key, value in encoded(COUNT)])
    host.run()
    host.close()
    tps = [TopicPartition(OUTCOMES, p) for p in range(PARTITIONS)]
    with log.reader(dict.fromkeys(tps, 0)) as reader:
        records = list(itertools.chain.from_iterable(iter(lambda: reader.poll(0), [])))
    assert check.count([record.value for record in records], expected(COUNT)).exact
    assert {len(record.headers) for record in records} == {headers}
