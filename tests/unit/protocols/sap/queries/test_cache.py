"""Vetted answers as HTTP shows them: ages, counts, versions, and proof that none was changed."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import encode, from_json, sap
from streams.engine.records import Output
from streams.protocols.sap.queries.knowledge import cached_versions
from tests.unit.protocols.saop.queries.stage import items
from tests.unit.protocols.sap.queries.stage import SapInboxAgent, cached
from tests.unit.views.bench import Bench
from topology.keys import partition_of
from topology.sap import SAP_CACHE, SAP_VERDICTS, sap_key, sap_version

KEY = "ab" * 32
RECORD = SAP_CACHE.record or ""
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


def forged(bench: Bench, each: Json, key: str | None = None) -> None:
    """Straight onto the topic, without a verdict.  key: of the record, if not its own."""
    value = encode(SAP_CACHE.record or "", from_json(SAP_CACHE.record or "", each))
    row_key = key or sap_key(each["cacheKey"], sap_version(each["version"]))
    bench.log.append([Output(SAP_CACHE.name, row_key.encode(), value)])


def stored(bench: Bench, *records: Json, sha256: bool = True) -> None:
    """With the verdicts that say so.  sha256: they name the hashes, as those of 0.1 do not."""
    for each in records:
        forged(bench, each)
        written(bench, each, each["recordSha256"] if sha256 else None)


def written(bench: Bench, each: Json, sha256: str | None) -> None:
    """The verdict that a version was stored."""
    verdict = verdict_of(each["cacheKey"], each["taskId"], "stored", each["version"])
    value = {**verdict, "recordSha256": sha256}
    record = encode(SAP_VERDICTS.record or "", from_json(SAP_VERDICTS.record or "", value))
    bench.log.append([Output(SAP_VERDICTS.name, each["taskId"].encode(), record)])


def verdict_of(key: str, task_id: str, verdict: str, version: int) -> Json:
    return {
        "at": "2026-01-01T00:00:00.000Z",
        "verdictId": "v",
        "lookupId": "l",
        "taskId": task_id,
        "cacheKey": key,
        "verdict": verdict,
        "reason": "there is one",
        "leader": False,
        "leaderTaskId": None,
        "waitUntil": None,
        "version": version,
        "ageSec": None,
        "record": None,
        "checks": None,
        "violations": None,
        "candidates": [],
        "constitution": "1@0123456789ab",
        "recordSha256": None,
    }


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
    "change",
    [
        {"output": {"n": None, "x": 2}},
        {"previousSha256": "1" * 64},
        {"recordSha256": "0" * 64},
    ],
)
def test_a_changed_record_is_refused(bench: Bench, change: Json) -> None:
    """Nothing of its content is shown; the version after it does not follow it."""
    one, two, three = chain(3)
    stored(bench, one, {**two, **change}, three)
    newest, changed, first = bench.look(f"/v1/sap/cache/{KEY}/versions")["versions"]
    assert changed == {"version": 2, "verified": False, "refused": "hash_mismatch"}
    assert (newest["version"], newest["verified"]) == (3, False)
    assert first["verified"]


def lie(version: int, before: str = "0" * 64) -> Json:
    """A record that is right in itself, with an answer that nobody has vetted."""
    return record(version, before, output={"n": "forged"}, producer="mallory")


def test_a_forged_record_does_not_replace_the_one_that_is_there(bench: Bench) -> None:
    (one,) = chain(1)
    stored(bench, one)
    forged(bench, lie(1))
    bench.log.append([Output(SAP_CACHE.name, sap_key(KEY, sap_version(1)).encode(), None)])
    assert bench.look(f"/v1/sap/cache/{KEY}")["output"] == one["output"]


def test_a_forged_record_that_is_left_alone_is_refused(bench: Bench) -> None:
    """As after compaction, which keeps the last record of a key."""
    (one,) = chain(1)
    forged(bench, lie(1))
    written(bench, one, one["recordSha256"])
    bench.view.catch_up(0)
    answer = bench.get(f"/v1/sap/cache/{KEY}")
    assert (answer.status, answer.body["rule"]) == (409, "record_refused")
    assert (answer.body["version"], answer.body["reason"]) == (1, "hash_mismatch")
    partition = partition_of(sap_key(KEY, sap_version(1)).encode(), 2)
    assert answer.body["position"] == f"{SAP_CACHE.name}/{partition}/0"
    (version,) = bench.look(f"/v1/sap/cache/{KEY}/versions")["versions"]
    assert version == {"version": 1, "verified": False, "refused": "hash_mismatch"}


def test_a_record_above_the_newest_is_not_shown(bench: Bench) -> None:
    (one,) = chain(1)
    stored(bench, one)
    forged(bench, lie(2, one["recordSha256"]))
    assert bench.look(f"/v1/sap/cache/{KEY}")["version"] == 1
    newest, _ = bench.look(f"/v1/sap/cache/{KEY}/versions")["versions"]
    assert newest == {"version": 2, "verified": False, "refused": "not_stored"}


def test_facts_of_0_1_say_nothing_and_the_next_version_does(bench: Bench) -> None:
    one, two = chain(2)
    forged(bench, lie(1))
    written(bench, one, None)
    stored(bench, two, sha256=False)
    newest, first = bench.look(f"/v1/sap/cache/{KEY}/versions")["versions"]
    assert newest["version"] == 2
    assert "refused" not in newest
    assert first["refused"] == "hash_mismatch"


def listed(bench: Bench, query: str = "") -> list[Json]:
    rows: list[Json] = bench.look("/v1/sap/cache", query)["items"]
    return rows


def test_the_list_has_the_newest_version_of_each_key_without_its_output(bench: Bench) -> None:
    records = chain(3)
    stored(bench, *records, *chain(1, "cd" * 32))
    bench.now += 90_900
    first, second = listed(bench)
    names = ("version", "capability", "territory", "storedAt", "alignment", "producer", "taskId")
    newest = {name: records[-1][name] for name in (*names, "recordSha256")}
    assert first == {"cacheKey": KEY, **newest, "ageSec": 90, "refused": None, "checked": None}
    assert (second["cacheKey"], second["version"]) == ("cd" * 32, 1)


def test_the_list_by_capability_and_territory(bench: Bench) -> None:
    stored(bench, record(1), record(1, key="cd" * 32, territory="EUFM", capability="x"))
    stored(bench, record(1, key="ef" * 32, capability="x"))
    for query, keys in (
        ("capability=x", ["cd", "ef"]),
        ("territory=EUFM", ["cd"]),
        ("capability=x&territory=", ["ef"]),
        ("capability=y", []),
    ):
        assert [each["cacheKey"][:2] for each in listed(bench, query)] == keys


def test_the_list_comes_in_pages(bench: Bench) -> None:
    keys = [f"{number:02x}" * 32 for number in range(5)]
    stored(bench, *(record(1, key=each) for each in keys))
    assert [each["cacheKey"] for each in items(bench, "/v1/sap/cache")] == keys


def test_the_list_shows_the_newest_version_that_counts_and_keys_of_which_none_does(
    bench: Bench,
) -> None:
    (one,) = chain(1)
    stored(bench, one)
    forged(bench, lie(2, one["recordSha256"]))
    forged(bench, record(1, key="cd" * 32))
    first, second = listed(bench, "verify=true")
    assert (first["version"], first["refused"]) == (1, None)
    refused = [{"version": 2, "reason": "not_stored"}]
    assert first["checked"] == {"versions": 2, "firstBad": 2, "refused": refused}
    assert (second["version"], second["refused"]) == (None, "not_stored")
    assert second["checked"]["firstBad"] == 1
    assert [each["cacheKey"] for each in listed(bench, "territory=")] == [KEY]


@pytest.mark.parametrize("key", ["nothing", f"{KEY}/1", f"{KEY}/x", f"{KEY}/{10**30}", f"{KEY}/-1"])
def test_a_record_under_a_key_of_no_version_is_nobodys(bench: Bench, key: str) -> None:
    (one,) = chain(1)
    forged(bench, lie(1), key)
    stored(bench, one)
    assert bench.look(f"/v1/sap/cache/{KEY}")["output"] == one["output"]


def test_bytes_that_are_no_record_are_refused(bench: Bench) -> None:
    (one,) = chain(1)
    noise = encode(RECORD, from_json(RECORD, one))[:16]
    bench.log.append([Output(SAP_CACHE.name, sap_key(KEY, sap_version(1)).encode(), noise)])
    written(bench, one, one["recordSha256"])
    bench.view.catch_up(0)
    answer = bench.get(f"/v1/sap/cache/{KEY}")
    assert answer.body["reason"] == "undecodable"


def test_a_missing_record_is_found(bench: Bench) -> None:
    one, _, three = chain(3)
    stored(bench, one, three, *chain(2, "cd" * 32))
    bench.view.catch_up(0)
    results = [
        (each.cache_key[:2], each.number, each.holds) for each in cached_versions(bench.view)
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
    verdict = verdict_of(key, of["taskId"], "cache_version_exists", 1)
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
