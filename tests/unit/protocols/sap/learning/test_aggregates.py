"""The row of a kind of task is what its signals add up to."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import to_json
from tests.unit.protocols.sap.learning.support import (
    FINGERPRINT,
    START_MS,
    Bench,
    check,
    operator,
    outcome,
    violation,
)
from topology.sap import SAP_LEARNING_TABLE, sap_key


def test_an_outcome_counts_in_every_way() -> None:
    bench = Bench()
    bench.each(
        outcome(
            1,
            policyChecks=[check("a"), check("b", "FAIL"), check("c", "UNCHECKED")],
            violations=[violation("b"), violation("c", "low"), violation("d", "low")],
            metrics={"tokens": 0.1},
            citations=["lib:17", "lib:17", "lib:3"],
            nextActions=["governance.review", "other", "other"],
        ),
        outcome(2, status="FAILED", alignment="NON_CONSTITUTIONAL", metrics={"tokens": 0.2}),
    )
    row = to_json(SAP_LEARNING_TABLE.record, bench.learned())
    assert (row["outcomes"], row["computed"], row["cacheHits"]) == (2, 2, 0)
    assert row["statusCounts"] == {"SUCCEEDED": 1, "FAILED": 1}
    assert row["alignmentCounts"] == {"VALID": 1, "NON_CONSTITUTIONAL": 1}
    assert row["checkCounts"]["b"] == {"pass": 0, "fail": 1, "unchecked": 0}
    assert row["violationCounts"] == {"high": 1, "low": 2}
    assert row["metrics"] == {"tokens": {"count": 2, "sum": 0.3, "min": 0.1, "max": 0.2}}
    assert row["citationCounts"] == {"lib:17": 1, "lib:3": 1}
    assert row["nextActionCounts"] == {"governance.review": 1, "other": 2}
    assert (row["firstAt"], row["lastAt"]) == (
        "2026-01-01T00:00:00.001Z",
        "2026-01-01T00:00:00.002Z",
    )


def test_an_answer_from_the_cache_is_no_new_evidence() -> None:
    bench = Bench()
    hit = {"computed": False, "cacheHit": True, "rule": "cache_hit"}
    seen = {"policyChecks": [check("a")], "violations": [violation("a")], "metrics": {"tokens": 1}}
    bench.each(outcome(1, **hit, **seen))
    row = bench.learned()
    assert (row["outcomes"], row["computed"], row["cacheHits"]) == (1, 0, 1)
    assert row["checkCounts"] == row["violationCounts"] == row["metrics"] == {}
    assert row["statusCounts"] == {"SUCCEEDED": 1}
    assert row["bestTaskId"] is None


def test_operators_count() -> None:
    bench = Bench()
    bench.each(
        operator(1, "rating", rating=2, note="dull"),
        operator(1, "rating", rating=5),
        operator(1, "approval", decision="approved"),
        operator(1, "approval", decision="rejected", note="wrong"),
        operator(1, "note", note="late"),
    )
    row = bench.learned()
    assert row["ratings"] == {"count": 2, "sum": 7, "min": 2, "max": 5}
    assert (row["approved"], row["rejected"]) == (1, 1)
    assert row["notes"] == ["dull", "wrong", "late"]
    assert row["outcomes"] == 0


def test_of_two_findings_of_one_name_the_worse_counts() -> None:
    bench = Bench()
    checks = [check("a"), check("a", "FAIL"), check("a", "UNCHECKED")]
    bench.each(outcome(1, policyChecks=checks))
    assert bench.learned()["checkCounts"] == {"a": {"pass": 0, "fail": 1, "unchecked": 0}}


def test_twenty_notes_are_kept_the_last() -> None:
    bench = Bench()
    bench.each(*(operator(i, "note", note=f"n{i}") for i in range(25)))
    assert bench.learned()["notes"] == [f"n{i}" for i in range(5, 25)]


def test_fifty_citations_are_kept_and_their_counts_are_exact() -> None:
    bench = Bench()
    names = [f"lib:{i:03}" for i in range(60)]
    bench.each(outcome(1, citations=names), outcome(2, citations=names[55:]))
    counts = bench.learned()["citationCounts"]
    assert len(counts) == 50
    assert {name: counts[name] for name in names[55:]} == dict.fromkeys(names[55:], 2)
    assert set(counts) == {*names[:45], *names[55:]}
    bench.each(outcome(3, citations=[names[54]]), outcome(4, citations=[names[54]]))
    assert bench.learned()["citationCounts"][names[54]] == 3


def test_the_best_task_is_the_best_rated_else_the_latest_success() -> None:
    bench = Bench()

    def best() -> Any:
        return int(bench.learned()["bestTaskId"].rsplit("-", 1)[1])

    bench.each(outcome(1), outcome(2), outcome(3, status="FAILED"))
    assert best() == 2
    bench.each(operator(1, "rating", rating=3))
    assert best() == 1
    bench.each(outcome(4), operator(3, "rating", rating=2))
    assert best() == 1
    bench.each(operator(2, "rating", rating=3))
    assert best() == 2


def test_ids_stand_in_lower_case() -> None:
    bench = Bench()
    bench.each(outcome(1, taskId="ABCDEF00-0000-4000-8000-000000000001"))
    assert bench.learned()["bestTaskId"] == "abcdef00-0000-4000-8000-000000000001"


def test_times_do_not_go_backwards() -> None:
    bench = Bench()
    bench.each(outcome(5), outcome(3), outcome(4))
    row = bench.learned()
    assert (row["firstAt"], row["lastAt"]) == (START_MS + 3, START_MS + 5)


def test_rows_are_kept_apart_by_territory_and_fingerprint() -> None:
    bench = Bench()
    bench.each(outcome(1), outcome(2, territory="NORDIC"), outcome(3, fingerprint="e1.b"))
    assert set(bench.rows(SAP_LEARNING_TABLE)) == {
        sap_key("report.summarise", None, FINGERPRINT),
        f"report.summarise/NORDIC/{FINGERPRINT}",
        "report.summarise//e1.b",
    }


@pytest.mark.parametrize("many", [1, 100, 130])
def test_what_agents_name_is_bounded(many: int) -> None:
    bench = Bench()
    names = {f"m{i}": 1.0 for i in range(many)}
    bench.each(
        outcome(
            1,
            metrics=names,
            policyChecks=[check(name) for name in names],
            nextActions=list(names),
            pressure=names,
        ),
        outcome(2, metrics={"x" * 257: 1.0}),
    )
    row = bench.learned()
    for member in ("metrics", "checkCounts", "nextActionCounts"):
        assert len(row[member]) == min(many, 100)


def test_the_newest_version_stands_in_the_row() -> None:
    bench = Bench()
    bench.each(*(outcome(i, policyChecks=[check("constraint:no_pii", "FAIL")]) for i in range(25)))
    assert bench.learned()["heuristicsVersion"] == 1
