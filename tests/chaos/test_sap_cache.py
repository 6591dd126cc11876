"""`sap.cache` is written once and for ever: through kills, lost state and compaction."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from schemas import decode, encode, sap, to_json
from streams.engine.records import Output, TopicPartition
from tests.e2e import checker_sap, sap_check_cache, sap_history
from tests.e2e.environment import Environment, Worker
from tests.e2e.outputs import PARTITIONS, Json
from tests.e2e.sap_history import Entry, SapHistory
from tests.e2e.sap_site import Site
from tests.e2e.sap_traffic import plain_task
from tests.processes import wait_for
from topology.sap import SAP_CACHE, SAP_OUTCOMES, SAP_TASKS, SAP_VERDICTS

pytestmark = pytest.mark.slow

DOCUMENTS = 12
VERSIONS = 3
CONTROL = b"control"
RECORD = SAP_CACHE.record or ""
SOON = {
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.001",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "100",
}
"""Of a topic: close a segment and compact it as soon as can be."""


class Cache(Site):
    """Tasks that differ in nothing but the document that they are about."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment, 1)
        self._sent = 0

    def ask(self, documents: Iterable[int], **policy: Any) -> list[Output]:
        """Send a task on each; the records sent."""
        now = int(time.time() * 1000)
        records = []
        for document in documents:
            self._sent += 1
            task = plain_task(self._sent, document, now, **policy)
            records.append(self.environment.record(SAP_TASKS, task))
        self.environment.send(records)
        return records

    def final_history(self, worker: Worker) -> SapHistory:
        """Everything, when there is nothing left to do and the worker has ended."""
        self.drain()
        worker.end()
        return sap_history.read(self.environment)


@pytest.fixture
def cache(broker: str, tmp_path: Path) -> Iterator[Cache]:
    with Environment(broker, tmp_path) as environment:
        site = Cache(environment)
        with site.agents:
            yield site


def passed(second: int) -> bool:
    return int(time.time()) > second


def hits(history: SapHistory) -> list[Json]:
    outcomes = history.values(SAP_OUTCOMES)
    return [one for one in outcomes if one["meta"]["headrace"]["rule"] == "cache_hit"]


def written(environment: Environment) -> int:
    """Offsets of `sap.cache` that are taken, by whatever was not committed too."""
    tps = [TopicPartition(environment.name(SAP_CACHE), number) for number in range(PARTITIONS)]
    return sum(environment.log.high_watermarks(tps).values())


class Dying(Worker):
    MODULE = "tests.e2e.sap_dying_worker"


def killed(cache: Cache, moment: str) -> None:
    """A worker that gets as far as the first row of the cache."""
    environment = cache.environment
    directory = environment.directory
    named = {"HEADRACE_BOOTSTRAP": environment.settings.bootstrap or ""}
    named["HEADRACE_PREFIX"] = environment.prefix
    log = directory / f"{moment}.log"
    worker = Dying("only", directory / "only", log, named, moment)
    try:
        assert worker.exit_code() == -9, worker.text()[-3000:]
    finally:
        worker.kill()


def test_a_store_that_is_killed_is_done_once(cache: Cache) -> None:
    environment = cache.environment
    records = cache.ask([1], mode="prefer")
    killed(cache, "before")
    assert written(environment) > 0
    assert environment.records(SAP_CACHE) == []  # the row is on the log, and nobody may see it

    killed(cache, "after")
    # The coordinator answers a commit before it is marked on the partitions.
    wait_for(lambda: environment.values(SAP_CACHE), "the committed row")
    (row,) = environment.values(SAP_CACHE)
    assert row["version"] == 1
    stored = [one for one in environment.values(SAP_VERDICTS) if one["verdict"] == "stored"]
    assert len(stored) == 1

    cache.empty("only")
    worker = cache.start("only", "--static")
    environment.send(records)
    cache.ask([1, 1], mode="only")
    history = cache.final_history(worker)
    assert checker_sap.check(history) == []
    assert history.values(SAP_CACHE) == [row]
    assert len(hits(history)) == 2


def test_compaction_leaves_every_version_as_it_was_written(cache: Cache) -> None:
    environment = cache.environment
    worker = cache.start("only", "--static")
    for _ in range(VERSIONS):
        cache.ask(range(DOCUMENTS), mode="prefer", maxAgeSec=0)
        cache.drain()
        wait_for(partial(passed, int(time.time())), "the next second")
    before = cache.final_history(worker)
    assert checker_sap.check(before) == []
    rows = before.of(SAP_CACHE)
    assert len(rows) == DOCUMENTS * VERSIONS

    alter(environment, SOON)
    wait_for(Control(environment, rows[0]).compacted, "sap.cache is compacted", look_s=0.2)
    after = read_again(environment)
    assert [entry for entry in after if entry.key != CONTROL] == rows
    assert list(sap_check_cache.rows(rows)) == []

    cache.empty("only")
    worker = cache.start("only", "--static")
    cache.ask(range(DOCUMENTS), mode="only")
    cache.drain()
    cache.ask(range(DOCUMENTS), mode="prefer", maxAgeSec=0)
    history = cache.final_history(worker)
    used = [one["constitutionalEvidence"]["cache"]["version"] for one in hits(history)]
    assert used == [VERSIONS] * DOCUMENTS
    entries = [entry for entry in history.of(SAP_CACHE) if entry.key != CONTROL]
    history.entries[SAP_CACHE.name] = entries
    assert len(entries) == DOCUMENTS * (VERSIONS + 1)
    assert checker_sap.check(history) == []


def lie(row: Entry) -> bytes:
    """Return the version with an answer that nobody has vetted, its own hash right."""
    assert row.raw is not None
    value = decode(row.raw, RECORD).value | {"output_json": '"forged"', "producer": "mallory"}
    value["recordSha256"] = sap.record_sha256(to_json(RECORD, value))
    return encode(RECORD, value)


@pytest.mark.parametrize("compacted", [False, True])
def test_a_forged_version_is_never_served_after_a_restore(cache: Cache, compacted: bool) -> None:
    """Check that the first row stands; a forged one that is left alone costs one answer."""
    environment = cache.environment
    worker = cache.start("only", "--static")
    cache.ask(range(DOCUMENTS), mode="prefer")
    cache.drain()
    rows = cache.final_history(worker).of(SAP_CACHE)
    assert len(rows) == DOCUMENTS
    name = environment.name(SAP_CACHE)
    environment.log.append([Output(name, row.key, lie(row), (), row.partition) for row in rows])
    if compacted:
        alter(environment, SOON)
        wait_for(Control(environment, rows[0]).compacted, "sap.cache is compacted", look_s=0.2)

    cache.empty("only")
    worker = cache.start("only", "--static")
    cache.ask(range(DOCUMENTS), mode="prefer")
    history = cache.final_history(worker)
    assert len(hits(history)) == (0 if compacted else DOCUMENTS)
    assert all("forged" not in str(one.get("output")) for one in history.values(SAP_OUTCOMES))
    reasons = [one["reason"] for one in history.values(SAP_VERDICTS) if one["verdict"] == "miss"]
    refused = reasons.count("version 1 is refused: hash_mismatch")
    assert refused == (DOCUMENTS if compacted else 0)


def alter(environment: Environment, settings: dict[str, str]) -> None:
    """Of the topic `sap.cache`."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    name = environment.name(SAP_CACHE)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": environment.settings.bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)


class Control:
    """A key in each partition that is written again and again: when its first record is gone, the
    partition has been compacted up to there, and all rows lie before.
    """

    def __init__(self, environment: Environment, row: Entry) -> None:
        self._environment, self._value = environment, row.raw
        first = self._write()
        self._first = {record.partition: record.offset for record in first}

    def _write(self) -> list[Any]:
        name = self._environment.name(SAP_CACHE)
        outputs = [Output(name, CONTROL, self._value, (), p) for p in range(PARTITIONS)]
        return self._environment.log.append(outputs)

    def compacted(self) -> bool:
        self._write()  # closes the segment
        there = {(entry.partition, entry.offset) for entry in read_again(self._environment)}
        return there.isdisjoint(self._first.items())


def read_again(environment: Environment) -> list[Entry]:
    """What a reader that comes now is given."""
    tps = [TopicPartition(environment.name(SAP_CACHE), number) for number in range(PARTITIONS)]
    ends, records = environment.log.ends(tps), []
    with environment.log.reader(dict.fromkeys(tps, 0)) as reader:
        while any(reader.position(tp) < ends[tp] for tp in tps):
            records += reader.poll(0.1)
    records.sort(key=lambda record: (record.partition, record.offset))
    return sap_history.entries(SAP_CACHE, records)
