"""What is learned is applied to later tasks, and taken back when it was wrong."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.sap import SapTask
from tests.unit.sdk.local_bus.support import (
    CAPABILITY,
    BusBench,
    Json,
    id_of,
    open_bus,
    signal,
    task,
)


def teach(at: BusBench) -> None:
    """Thirty answers to five documents, each asked for by six runs; then a note, to derive."""
    at.bus.register("a", [CAPABILITY], lambda task: {"sum": task.payload["document"]})
    for n in range(30):
        at.now += 1000
        at.bus.dispatch(task(n, payload={"document": n % 5, "run": n}))
    at.bus.signal(signal(1, "note", of=0, note="enough"))


def ask(at: BusBench, n: int, mode: str = "prefer", **payload: Any) -> Json:
    at.now += 1000
    at.bus.dispatch(task(n, mode=mode, payload={"document": 1, **payload}))
    row = at.bus.task(id_of(n))
    assert row is not None
    return row


def test_a_member_that_never_matters_leaves_the_key() -> None:
    with open_bus() as at:
        teach(at)
        [row] = at.of("heuristics")
        assert (row["volatileKeys"], row["extractorVersion"]) == (["run"], 1)
        first, second = ask(at, 100, run=100), ask(at, 101, "only", run=101)
        assert (first["state"], first["cacheState"]) == ("SUCCEEDED", "missed")
        assert (second["state"], second["cacheState"]) == ("SUCCEEDED", "hit")
        assert first["accepted"]["cacheKey"] == second["accepted"]["cacheKey"]
        assert first["accepted"]["fingerprint"].startswith("e1.")
        assert first["accepted"]["removedKeys"] == ["run"]
        assert first["accepted"]["policy"]["heuristicsVersion"] == 1


def test_what_is_observed_only_binds_no_task() -> None:
    with open_bus(sap_learning="observe") as at:
        teach(at)
        [row] = at.of("heuristics")
        assert row["volatileKeys"] == ["run"]
        first, second = ask(at, 100, run=100), ask(at, 101, run=101)
        assert first["accepted"]["cacheKey"] != second["accepted"]["cacheKey"]
        for one in (first, second):
            assert one["accepted"]["fingerprint"].startswith("e0.")
            assert one["accepted"]["policy"]["extractorVersion"] == 0


@pytest.mark.parametrize("bad", [{"kind": "rating", "rating": 2}, {"kind": "approval"}])
def test_three_operators_who_find_fault_take_it_back(bad: Json) -> None:
    with open_bus() as at:
        teach(at)
        ask(at, 100, run=100)
        for n in (101, 102, 103):
            assert ask(at, n, run=n)["cacheState"] == "hit"
            members = bad if bad["kind"] == "rating" else {**bad, "decision": "rejected"}
            at.bus.signal(signal(n, of=n, **members))
        row = at.of("heuristics")[-1]
        assert (row["version"], row["extractorVersion"]) == (2, 2)
        assert (row["volatileKeys"], row["blockedKeys"]) == ([], ["run"])
        assert ask(at, 110, run=110)["accepted"]["fingerprint"].startswith("e2.")


def test_an_answer_that_differs_takes_it_back_at_once() -> None:
    def answer(task: SapTask) -> Any:
        return {"sum": task.payload["document"], "late": task.payload["run"] >= 200}

    with open_bus() as at:
        teach(at)
        at.bus.set_available("a", False)
        at.bus.register("b", [CAPABILITY], answer)
        ask(at, 200, "bypass", run=200)
        assert at.of("heuristics")[-1]["blockedKeys"] == ["run"]


def test_a_learned_threshold_and_an_earlier_task() -> None:
    """A version binds the tasks accepted after it, never those before."""
    failing = {"alignment": "VALID", "policyChecks": [{"principle": "p", "status": "FAIL"}]}
    context = {"pressureLevel": "consulted", "riskTolerance": "medium", "pressure": {"p": 57}}
    with open_bus(deliver="manual") as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        at.bus.dispatch(task(99, constitutionalContext=context))
        for n in range(25):
            made = task(n, constitutionalContext={**context, "pressureLevel": "instant"})
            at.bus.dispatch(made)
            report = {"output": 1, "constitutionalEvidence": failing, "status": "SUCCEEDED"}
            at.bus.report(_result(n, report))
        assert at.of("heuristics")[-1]["thresholds"] == {"p": 55}
        at.bus.dispatch(task(100, constitutionalContext=context))
        at.bus.deliver_pending()
        checks = {n: _checks(at, n) for n in (99, 100)}
        assert checks == {99: {}, 100: {"p": "UNCHECKED"}}


def _result(n: int, members: Json) -> Json:
    return {
        "protocolVersion": "2.0",
        "taskId": id_of(n),
        "correlationId": task(n)["correlationId"],
        "reportedAt": "2026-01-01T00:00:00Z",
        "producer": {"agentId": "a", "agentKind": "agent"},
        **members,
    }


def _checks(at: BusBench, n: int) -> dict[str, str]:
    outcome = at.bus.outcome(id_of(n))
    assert outcome is not None
    return {c.principle: c.status for c in outcome.constitutionalEvidence.policyChecks or ()}
