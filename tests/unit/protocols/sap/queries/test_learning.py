"""`GET /v1/sap/learning`: filters, pages, means, playbooks and the newest heuristics."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import encode, from_json, sap
from streams.engine.records import Output
from tests.unit.protocols.saop.queries.stage import items
from tests.unit.protocols.sap.queries.stage import SapInboxAgent, cached, signal, task
from tests.unit.views.bench import Bench
from topology.declarations import Topic
from topology.keys import key_of
from topology.sap import SAP_HEURISTICS, SAP_KNOWLEDGE, SAP_LEARNING

PATH, VERSIONS = "/v1/sap/learning", "/v1/sap/heuristics"
AT = "2026-01-01T00:00:00.000Z"
Json = dict[str, Any]


def sums(capability: str, territory: str | None, fingerprint: str, **more: Any) -> Json:
    return {
        "capability": capability,
        "territory": territory,
        "fingerprint": fingerprint,
        "outcomes": 3,
        "computed": 2,
        "cacheHits": 1,
        "statusCounts": {"SUCCEEDED": 3},
        "alignmentCounts": {"VALID": 3},
        "checkCounts": {"p": {"pass": 2, "fail": 0, "unchecked": 0}},
        "violationCounts": {},
        "metrics": {"tokens": {"count": 3, "sum": 10, "min": 1, "max": 5.5}},
        "ratings": {"count": 0, "sum": 0, "min": None, "max": None},
        "approved": 0,
        "rejected": 0,
        "citationCounts": {},
        "nextActionCounts": {},
        "notes": [],
        "bestTaskId": None,
        "firstAt": AT,
        "lastAt": AT,
        "heuristicsVersion": 0,
        **more,
    }


def playbook(capability: str, territory: str | None, fingerprint: str) -> Json:
    value: Json = {
        "capability": capability,
        "territory": territory,
        "fingerprint": fingerprint,
        "kind": "playbook",
        "version": 1,
        "active": True,
        "samples": 5,
        "successShare": 1,
        "meanRating": 4.5,
        "approvals": 0,
        "bestTaskId": None,
        "citations": [],
        "metricMeans": {},
        "requiredChecks": ["p"],
        "notes": [],
        "nextActions": [],
        "heuristicsVersion": 0,
        "at": AT,
    }
    return {**value, "sha256": sap.record_sha256(value, "sha256")}


def derived(capability: str, version: int, **more: Any) -> Json:
    value: Json = {
        "capability": capability,
        "version": version,
        "extractorVersion": 0,
        "volatileKeys": [],
        "blockedKeys": [],
        "thresholds": {"p": 35},
        "extraChecks": [],
        "constitution": "1@0123456789ab",
        "basis": {"n": version},
        "derivedAt": AT,
        "cause": "sap.learning-signals/0/1",
        "previousSha256": "0" * 64,
        **more,
    }
    return {**value, "sha256": sap.record_sha256(value, "sha256")}


def written(bench: Bench, topic: Topic, *values: Json) -> None:
    for value in values:
        row = encode(topic.record or "", from_json(topic.record or "", value))
        bench.log.append([Output(topic.name, key_of(topic, value).encode(), row)])


ROWS = [
    ("a.b", None, "e0.1"),
    ("a.b", None, "e0.2"),
    ("a.b", "ÅLAND/%", "e0.1"),
    ("a.b", "NORDIC", "e0.1"),
    ("a.b", "NORDIC", "e1.1"),
    ("a.bc", None, "e0.1"),
    ("z", "NORDIC", "e0.2"),
]


@pytest.fixture
def learned(bench: Bench) -> Bench:
    written(bench, SAP_LEARNING, *(sums(*row) for row in ROWS))
    return bench


def keys(rows: list[Json]) -> list[tuple[Any, ...]]:
    return sorted(
        ((row["capability"], row["territory"], row["fingerprint"]) for row in rows),
        key=lambda row: (row[0], row[1] or "", row[2]),
    )


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"capability": "a.b"},
        {"capability": "a.b", "territory": "NORDIC"},
        {"capability": "a.b", "territory": ""},
        {"capability": "a.b", "fingerprint": "e0.1"},
        {"territory": "NORDIC"},
        {"fingerprint": "e0.2"},
        {"territory": "ÅLAND/%", "fingerprint": "e0.1"},
        {"capability": "a"},
    ],
)
def test_rows_that_fit_page_by_page(learned: Bench, query: dict[str, str]) -> None:
    names = ("capability", "territory", "fingerprint")
    expected = [
        row
        for row in ROWS
        if all(
            query.get(name) in (None, value or "") for name, value in zip(names, row, strict=True)
        )
    ]
    rows = items(learned, PATH, **query)
    assert keys(rows) == sorted(expected, key=lambda row: (row[0], row[1] or "", row[2]))


def test_means_and_the_playbook_are_added(bench: Bench) -> None:
    ratings = {"count": 2, "sum": 9, "min": 4, "max": 5}
    row = sums("a.b", None, "e0.1", ratings=ratings)
    written(bench, SAP_LEARNING, row, sums("a.b", "NORDIC", "e0.1"))
    written(bench, SAP_KNOWLEDGE, playbook("a.b", None, "e0.1"))
    first, second = bench.look(PATH)["items"]
    metrics = {"tokens": {**row["metrics"]["tokens"], "mean": 10 / 3}}
    more = {"metrics": metrics, "ratings": {**ratings, "mean": 4.5}}
    book = {**playbook("a.b", None, "e0.1"), "punchCard": None}
    assert first == {**row, **more, "playbook": book}
    assert (second["playbook"], second["ratings"]["mean"]) == (None, None)


def test_rows_without_their_hash_are_absent(bench: Bench) -> None:
    written(bench, SAP_LEARNING, sums("a.b", None, "e0.1"))
    written(bench, SAP_KNOWLEDGE, {**playbook("a.b", None, "e0.1"), "samples": 99})
    written(bench, SAP_HEURISTICS, derived("a.b", 1), {**derived("a.b", 2), "thresholds": {"p": 0}})
    page = bench.look("/v1/sap/learning")
    assert page["items"][0]["playbook"] is None
    assert [each["version"] for each in page["heuristics"]] == [1]
    assert [each["version"] for each in bench.look(VERSIONS)["items"]] == [1]


def test_the_newest_heuristics_of_the_capabilities_shown(learned: Bench) -> None:
    written(learned, SAP_HEURISTICS, *(derived("a.b", version) for version in range(1, 12)))
    written(learned, SAP_HEURISTICS, derived("other", 1), derived("z", 1))
    page = learned.look(PATH)
    assert tuple(page) == ("items", "heuristics", "next")
    assert [(h["capability"], h["version"]) for h in page["heuristics"]] == [("a.b", 11), ("z", 1)]
    assert page["heuristics"][0] == derived("a.b", 11)
    assert learned.look(PATH, "capability=a.bc")["heuristics"] == []


def test_all_versions_of_the_heuristics_page_by_page(bench: Bench) -> None:
    versions = [derived("a.b", version) for version in range(1, 12)]
    written(bench, SAP_HEURISTICS, *versions, derived("a.bc", 1))
    assert items(bench, VERSIONS, capability="a.b") == versions
    assert items(bench, VERSIONS) == [*versions, derived("a.bc", 1)]
    assert bench.look(VERSIONS, "capability=a")["items"] == []


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "cursor=AAAA", "colour=red"])
def test_a_bad_query_is_refused(bench: Bench, query: str) -> None:
    assert bench.get(PATH, query).status == 422


def test_what_the_service_learns_is_shown(bench: Bench, inbox_agent: SapInboxAgent) -> None:
    of = cached()
    bench.send("sap.tasks", of, task(2, payload={"document": "other"}))
    inbox_agent.work()
    bench.send("sap.signals", signal(of, rating=4))
    rows = items(bench, PATH, capability="report.summarise", territory="NORDIC")
    assert sorted(row["ratings"]["count"] for row in rows) == [0, 1]
    assert [row["computed"] for row in rows] == [1, 1]
    (rated,) = [row for row in rows if row["ratings"]["count"]]
    assert rated["ratings"]["mean"] == 4
    assert rated["metrics"]["tokensIn"]["mean"] == 1
