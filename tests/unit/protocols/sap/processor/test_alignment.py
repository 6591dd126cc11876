"""An outcome is a result like any other: its lists are bounded, and so is its nesting."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import validate
from tests.unit.protocols.sap.processor.support import Bench, Json, cached, result, task
from topology.sap import SAP_LOOKUPS

MOST = 256


def checks(count: int, status: str = "PASS") -> list[Json]:
    return [{"principle": f"own {n}", "status": status} for n in range(count)]


def ended(of: Json, reported: Json) -> Json:
    """The outcome of a result, which is as its schema has it."""
    bench = Bench()
    assert bench.task(of)["rule"] == "accepted"
    assert bench.result(reported)["rule"] == "accepted"
    return sound(bench)


def sound(bench: Bench) -> Json:
    assert validate("sap.result", bench.last) == []
    return bench.last


def names(outcome: Json, of: str = "policyChecks") -> list[str]:
    return [finding["principle"] for finding in outcome["constitutionalEvidence"][of]]


def omitted(outcome: Json) -> Any:
    return outcome["meta"]["headrace"].get("omitted")


def test_of_the_agents_checks_the_last_are_left_out() -> None:
    unknown = [f"be kind to number {n}" for n in range(200)]
    reported = {"policyChecks": checks(200)}
    outcome = ended(
        task(constitutionalContext={"constraints": unknown}),
        result("SUCCEEDED", constitutionalEvidence=reported),
    )
    principles = names(outcome)
    assert [name.partition(":")[0] for name in principles[:200]] == ["constraint"] * 200
    assert principles[200:] == [f"own {n}" for n in range(MOST - 200)]
    assert omitted(outcome) == {"policyChecks": 400 - MOST}


def test_what_is_just_enough_is_shown_in_full() -> None:
    reported = {
        "policyChecks": checks(MOST - 1),
        "violations": [{"principle": f"own {n}", "severity": "low"} for n in range(MOST - 1)],
    }
    of = task(telemetry={"budget": {"tokens": 1}})
    evidence = {"constitutionalEvidence": reported, "metrics": {"tokens": 2}}
    outcome = ended(of, result("SUCCEEDED", **evidence))
    assert outcome["status"] == "ESCALATED"
    for of_what in ("policyChecks", "violations"):
        principles = names(outcome, of_what)
        assert principles == ["budget:tokens", *(f"own {n}" for n in range(MOST - 1))]
    assert omitted(outcome) is None


def test_of_the_services_own_checks_the_worse_stay() -> None:
    """A hundred that pass stand before the one for which the answer is refused."""
    limits = {f"limit {n}": 1 for n in range(100)}
    constraints = [*(f"be kind to number {n}" for n in range(MOST - 1)), "No PII"]
    outcome = ended(
        task(constitutionalContext={"constraints": constraints}, telemetry={"budget": limits}),
        result("SUCCEEDED", output="ana@example.org", metrics=limits),
    )
    principles = names(outcome)
    assert outcome["status"] == "FAILED"
    assert (len(principles), principles[-1]) == (MOST, "constraint:no_pii")
    assert not [name for name in principles if name.startswith("budget:")]
    assert outcome["error"]["details"]["checks"] == ["constraint:no_pii"]
    assert omitted(outcome) == {"policyChecks": 100}


def test_of_the_services_own_violations_the_worse_stay() -> None:
    reported = {
        "policyChecks": checks(MOST, "FAIL"),
        "violations": [{"principle": "theirs", "severity": "low"}],
    }
    of = task(telemetry={"budget": {"tokens": 1}})
    evidence = {"constitutionalEvidence": reported, "metrics": {"tokens": 2}}
    outcome = ended(of, result("SUCCEEDED", **evidence))
    assert names(outcome, "violations") == [*(f"own {n}" for n in range(MOST - 1)), "budget:tokens"]
    assert omitted(outcome) == {"policyChecks": 1, "violations": 2}


def test_of_a_cached_answers_checks_the_last_are_left_out() -> None:
    bench = Bench()
    bench.task(task("prefer"))
    then = [{**check, "notes": None, "extra_json": None} for check in checks(200)]
    now = [{**check, "principle": f"now {n}"} for n, check in enumerate(then)]
    record = {**cached(bench.of(SAP_LOOKUPS)[-1].value), "policyChecks": then}
    bench.hit(record=record, checks=now, violations=[])
    outcome = sound(bench)
    assert names(outcome) == [f"now {n}" for n in range(200)] + [f"own {n}" for n in range(56)]
    assert omitted(outcome) == {"policyChecks": 144}


def nested(depth: int) -> Json:
    value: Json = {}
    for _ in range(depth - 1):
        value = {"x": value}
    return value


@pytest.mark.parametrize(("depth", "is_whole"), [(60, True), (61, False)])
def test_an_agents_cache_that_nests_too_deep_beside_the_services_is_cut(
    depth: int, is_whole: bool
) -> None:
    theirs = {"hit": False, "cacheKey": "theirs", "odd": nested(depth)}
    outcome = ended(task(), result("SUCCEEDED", constitutionalEvidence={"cache": theirs}))
    reported = outcome["meta"]["headrace"]["reportedCache"]
    assert reported == (theirs if is_whole else {"hit": False, "cacheKey": "theirs"})
