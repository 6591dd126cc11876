"""Tests that rows forged onto `sap.cache` are never served; each costs one answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schemas import decode, encode, sap, to_json
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.records import LogRecord, Output
from streams.ops.topics import create_topics
from streams.protocols.sap.cache import SapCacheProcessor
from streams.settings import Settings
from tests.unit.protocols.sap.cache.support import KEY, NINE, Cache
from topology.sap import SAP_CACHE, SAP_CACHE_TABLE, SAP_LOOKUPS, SAP_VERDICTS, sap_key, sap_version

RECORD = SAP_CACHE.record or ""


def lie(row: dict[str, Any]) -> bytes:
    """Return the row with an answer that nobody has vetted, its own hash right."""
    value = row | {"output_json": '"forged"', "producer": "mallory"}
    value["recordSha256"] = sap.record_sha256(to_json(RECORD, value))
    return encode(RECORD, value)


def stored(count: int) -> Cache:
    cache = Cache()
    for number in range(1, count + 1):
        cache.store("ABC"[number - 1], 1000 * number, output=f"answer {number}")
    return cache


def put(cache: Cache, version: int, row: bytes | None) -> None:
    """Set a row as a restore leaves it when compaction has kept the forged record only."""
    rows, name = cache.tables[SAP_CACHE_TABLE.name], sap_key(KEY, sap_version(version))
    if row is None:
        del rows[name]
    else:
        rows[name] = row


@pytest.mark.parametrize(
    ("row", "reason"),
    [("lie", "hash_mismatch"), (b"noise", "undecodable"), (None, "missing")],
)
def test_a_newest_row_that_does_not_count_is_a_miss(row: Any, reason: str) -> None:
    cache = stored(1)
    sha256 = cache.head["recordSha256"]
    put(cache, 1, lie(cache.versions()[0]) if row == "lie" else row)
    (verdict,) = cache.read("D", 5000)
    assert (verdict["verdict"], verdict["leader"]) == ("miss", True)
    assert verdict["reason"] == f"version 1 is refused: {reason}"
    (first, *_) = cache.store("D", 6000)
    assert (first["verdict"], first["version"]) == ("stored", 2)
    (hit,) = cache.read("E", 7000)
    assert (hit["verdict"], hit["version"]) == ("hit", 2)
    assert hit["record"]["previousSha256"] == sha256


def test_older_versions_end_at_the_first_that_does_not_count() -> None:
    cache = stored(3)
    put(cache, 2, lie(cache.versions()[1]))
    (hit,) = cache.read("D", 5000)
    assert (hit["verdict"], hit["version"]) == ("hit", 3)
    assert [candidate["version"] for candidate in hit["candidates"]] == [3]


@pytest.mark.parametrize("noise", [False, True])
def test_a_row_above_the_newest_is_not_served_and_blocks_its_version(noise: bool) -> None:
    cache = stored(1)
    put(cache, 2, b"noise" if noise else lie(cache.versions()[0] | {"version": 2}))
    (hit,) = cache.read("D", 5000)
    assert hit["version"] == 1
    (verdict,) = cache.store("D", 6000)
    assert (verdict["verdict"], verdict["version"]) == ("cache_version_exists", 2)


def test_a_stored_verdict_names_the_hash() -> None:
    cache = Cache()
    (verdict, *_) = cache.store("A", 1000)
    assert verdict["recordSha256"] == cache.versions()[0]["recordSha256"]
    assert cache.read("B", 2000)[0]["recordSha256"] is None


@pytest.mark.parametrize("row", ["lie", "tombstone"])
def test_a_restore_keeps_the_first_row_of_a_version(row: str, tmp_path: Path) -> None:
    """Check that a forged record is refused that lies on the topic when the state is lost."""
    settings = Settings(partitions=1)
    log = MemoryLog(lambda: NINE)
    create_topics(log, settings)
    written: list[LogRecord] = []
    log.on_append = written.append
    bench = Cache()
    bench.store("A", 1000, output="vetted")
    bench.read("B", 2000)
    first, second = (message.record for message in bench.inputs)
    host = LocalHost(log, lambda: [SapCacheProcessor()], settings, tmp_path)
    log.append_at(Output(SAP_LOOKUPS.name, first.key, first.value), first.timestamp)
    host.run()
    (record,) = [each for each in written if each.topic == SAP_CACHE.name]
    value = lie(decode(record.value, RECORD).value) if row == "lie" else None
    log.append([Output(SAP_CACHE.name, record.key, value)])
    host.restart()
    log.append_at(Output(SAP_LOOKUPS.name, second.key, second.value), second.timestamp)
    host.run()
    host.close()
    verdicts = [each for each in written if each.topic == SAP_VERDICTS.name]
    hit = decode(verdicts[-1].value, SAP_VERDICTS.record or "").value
    assert (hit["verdict"], hit["version"]) == ("hit", 1)
    assert hit["record"]["output_json"] == '"vetted"'
