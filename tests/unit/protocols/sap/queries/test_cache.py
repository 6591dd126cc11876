"""Vetted answers as HTTP shows them: ages, counts, versions, and proof that none was changed."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import encode, from_json, sap
from streams.engine.records import Output
from streams.protocols.sap.queries.knowledge import verified_records
from tests.unit.protocols.sap.queries.stage import SapInboxAgent, cached
from tests.unit.views.bench import Bench
from topology.sap import SAP_CACHE, SAP_VERDICTS, sap_key, sap_version

KEY = "ab" * 32
Json = dict[str, Any]


def record(version: int, before: str = "0" * 64, key: str = KEY, **more: Any) -> Json:
    """A SapCacheRecord in its JSON form, its hash right."""
    value: Json = {
        "cacheKey": key,
        "version": version,
        "sapVersion": "2.0",
        "capability": "report.summarise",
        "territory": None,
        "principles": ["p"],
        "outputContract": {"format": "json"},
        "fingerprint": "e0." + "cd" * 32,
        "storedAt": "2026-01-01T00:00:00Z",
        "producer": "A-ml-001",
        "producerKind": "agent",
        "alignment": "VALID",
        "output": {"n": None, "x": 1.5},
        "citations": None,
        "policyChecks": [{"principle": "p", "status": "PASS"}],
        "violations": [],
        "pressureLevel": "consulted",
        "heuristicsVersion": 0,
        "constitution": "1@0123456789ab",
        "taskId": "85f5f684-6830-5973-b27c-6b55b83f9b23",
        "correlationId": "a7f5d5b2-13a8-4a0d-9ba2-6b1e3c6f9d11",
        "outcomeSeq": 2,
        "resultSha256": "ef" * 32,
        "cause": "sap.lookups/0/1",
        "previousSha256": before,
        **more,
    }
    return {**value, "recordSha256": sap.record_sha256(value)}


def stored(bench: Bench, *records: Json) -> None:
    """Straight onto the topic."""
    for each in records:
        value = encode(SAP_CACHE.record or "", from_json(SAP_CACHE.record or "", each))
        key = sap_key(each["cacheKey"], sap_version(each["version"])).encode()
        bench.log.append([Output(SAP_CACHE.name, key, value)])


def chain(count: int, key: str = KEY) -> list[Json]:
    records: list[Json] = []
    for version in range(1, count + 1):
        before = records[-1]["recordSha256"] if records else "0" * 64
        records.append(record(version, before, key))
    return records


def test_the_newest_is_shown_with_its_age(bench: Bench) -> None:
    records = chain(3)
    stored(bench, *records)
    bench.now += 90_900
    newest = bench.look(f"/v1/sap/cache/{KEY}")
    more = {"ageSec": 90, "versions": 3, "refusedWrites": 0}
    assert newest == {**records[-1], **more}


def test_an_age_is_never_negative(bench: Bench) -> None:
    stored(bench, record(1, storedAt="2026-01-01T00:00:09Z"))
    assert bench.look(f"/v1/sap/cache/{KEY}")["ageSec"] == 0


def test_versions_are_newest_first_and_verified(bench: Bench) -> None:
    records = chain(12)
    stored(bench, *records, *chain(1, "cd" * 32))
    page = bench.look(f"/v1/sap/cache/{KEY}/versions")
    assert tuple(page) == ("cacheKey", "versions")
    assert [each["version"] for each in page["versions"]] == list(range(12, 0, -1))
    assert page["versions"][0] == {**records[-1], "ageSec": 0, "verified": True}
    assert all(each["verified"] for each in page["versions"])


@pytest.mark.parametrize(
    ("change", "bad"),
    [
        ({"output": {"n": None, "x": 2}}, [2, 3]),
        ({"previousSha256": "0" * 64}, [2, 3]),
        ({"recordSha256": "0" * 64}, [2]),
    ],
)
def test_a_changed_record_is_found(bench: Bench, change: Json, bad: list[int]) -> None:
    """A change of its content shows in the record and in the one that follows."""
    one, two, three = chain(3)
    stored(bench, one, {**two, **change}, three)
    versions = bench.look(f"/v1/sap/cache/{KEY}/versions")["versions"]
    assert [each["version"] for each in versions if not each["verified"]] == bad[::-1]


def test_a_missing_record_is_found(bench: Bench) -> None:
    one, _, three = chain(3)
    stored(bench, one, three, *chain(2, "cd" * 32))
    bench.view.catch_up(0)
    results = [
        (each["cacheKey"][:2], each["version"], holds)
        for each, holds in verified_records(bench.view)
    ]
    assert results == [("ab", 1, True), ("ab", 3, False), ("cd", 1, True), ("cd", 2, True)]


def test_a_key_that_nobody_has(bench: Bench) -> None:
    stored(bench, *chain(1))
    for cache_key in ("cd" * 32, "ab", KEY.upper(), "%2F"):
        for below in ("", "/versions"):
            bench.view.catch_up(0)
            assert bench.get(f"/v1/sap/cache/{cache_key}{below}").status == 404


def test_refused_writes_are_counted(bench: Bench, inbox_agent: SapInboxAgent) -> None:
    of = cached()
    bench.send("sap.tasks", of)
    inbox_agent.work()
    key = bench.look(f"/v1/sap/tasks/{of['taskId']}")["cache"]["cacheKey"]
    verdict: Json = {
        "at": "2026-01-01T00:00:00.000Z",
        "verdictId": "v",
        "lookupId": "l",
        "taskId": of["taskId"],
        "cacheKey": key,
        "verdict": "cache_version_exists",
        "reason": "there is one",
        "leader": False,
        "leaderTaskId": None,
        "waitUntil": None,
        "version": 1,
        "ageSec": None,
        "record": None,
        "checks": None,
        "violations": None,
        "candidates": [],
        "constitution": "1@0123456789ab",
    }
    value = encode(SAP_VERDICTS.record or "", from_json(SAP_VERDICTS.record or "", verdict))
    for _ in range(2):
        bench.log.append([Output(SAP_VERDICTS.name, of["taskId"].encode(), value)])
        bench.view.catch_up(0)
    assert bench.look(f"/v1/sap/cache/{key}")["refusedWrites"] == 2


def test_what_the_service_stores_is_verified(bench: Bench, inbox_agent: SapInboxAgent) -> None:
    of = cached()
    bench.send("sap.tasks", of)
    inbox_agent.work()
    key = bench.look(f"/v1/sap/tasks/{of['taskId']}")["cache"]["cacheKey"]
    (version,) = bench.look(f"/v1/sap/cache/{key}/versions")["versions"]
    assert version["verified"]
    assert version["output"] == {"capability": "report.summarise", "sections": ["ledger-2026-10"]}
