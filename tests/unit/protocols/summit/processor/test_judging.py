"""What critics say of completed runs (Summit guide, 5.4, step 10)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.summit.processor.support import (
    AGENT,
    CHECKED,
    CRITIC,
    PROVENANCE,
    START_MS,
    Bench,
    Json,
    manifest,
)

SELF = "own-critic"


def completed(**more: Any) -> Bench:
    bench = Bench()
    bench.invoke()
    bench.reply("result", **more)
    assert bench.state() == "completed"
    return bench


def test_a_judgement() -> None:
    bench = completed()
    before = bench.run()
    failed = {"status": "passed", "checks": [{"name": "sources", "passed": False}]}
    fact = bench.reply("verification", verification=failed, at=START_MS + 5)
    assert (fact["verdict"], fact["rule"]) == ("accepted", "reply.verification")
    assert (fact["agentId"], fact["manifestVersion"]) == (CRITIC, "1.0.0")
    assert (fact["fromState"], fact["toState"], fact["runVersion"]) == (None, None, 3)
    at = "2026-01-01T00:00:00.005Z"
    assert bench.run() == {
        **before,
        "version": 3,
        "updatedAt": at,
        "verificationStatus": "failed",
        "judge": {
            "agentId": CRITIC,
            "replyId": "verification",
            "position": fact["cause"],
            "at": at,
            "verification": {**failed, "status": "failed", "claimedStatus": "passed"},
            "provenance": PROVENANCE,
        },
    }
    assert ("summit:reply:R/verification", "evaluates", "summit:run:R") in bench.edges()
    assert bench.moves()[-1] == ("queued", "completed"), "RTES hears nothing of it"


STATUSES = ("passed", "flagged", "failed")


@pytest.mark.parametrize("agent_status", [None, *STATUSES])
@pytest.mark.parametrize("judge_status", STATUSES)
def test_the_strictest_status_stands(agent_status: str | None, judge_status: str) -> None:
    bench = completed(verification=None if agent_status is None else {"status": agent_status})
    bench.reply("verification", verification={"status": judge_status})
    run = bench.run()
    named = [name for name in (agent_status, judge_status) if name is not None]
    assert run["verificationStatus"] == max(named, key=STATUSES.index)
    assert run.get("verification", {}).get("status") == agent_status, "neither can erase the other"
    assert run["judge"]["verification"]["status"] == judge_status


REFUSED: list[tuple[str, Json]] = [
    ("judge.not_critic", {"agentId": "nobody"}),
    ("judge.not_critic", {"agentId": AGENT}),
    ("metrics.value", {"metrics": {"tokens": 0, "cost_usd": -1}}),
    ("provenance.missing", {"provenance": None}),
    ("provenance.value", {"provenance": {**PROVENANCE, "model": ""}}),
    ("verification.value", {"verification": {**CHECKED, "score": 2}}),
    ("reply.shape", {"verification": None}),
    ("reply.shape", {"output": {}}),
    ("run.unknown", {"runId": "S"}),
]


@pytest.mark.parametrize(("rule", "more"), REFUSED)
def test_a_judgement_that_is_refused_changes_nothing(rule: str, more: Json) -> None:
    bench = completed()
    before = bench.run()
    fact = bench.reply("verification", **more)
    assert (fact["verdict"], fact["rule"]) == ("rejected", rule)
    assert bench.run() == before
    assert bench.reply("verification")["rule"] == "reply.verification"


def test_who_is_no_critic() -> None:
    bench = completed()
    bench.indexed = [9]
    unknown = bench.reply("verification", agentId="nobody")
    assert (unknown["agentsSeen"], unknown["manifestVersion"]) == ([9], None)
    known = bench.reply("verification", agentId=AGENT)
    assert (known["agentsSeen"], known["manifestVersion"]) == (None, "1.2.0")
    bench.withdraw(CRITIC)
    withdrawn = bench.reply("verification")
    assert (withdrawn["rule"], withdrawn["agentsSeen"]) == ("judge.not_critic", [9])
    assert withdrawn["manifestVersion"] == "1.0.0"


def test_a_critic_does_not_judge_itself() -> None:
    bench = Bench()
    bench.register(manifest(SELF, role="critic"))
    bench.invoke(agentId=SELF)
    bench.reply("result", agentId=SELF)
    assert bench.reply("verification", agentId=SELF)["rule"] == "judge.self"


def test_one_judge_per_run() -> None:
    bench = completed()
    bench.register(manifest("second", role="critic"))
    first = bench.reply("verification", "v1")
    assert bench.reply("verification", "v1")["rule"] == "reply.duplicate"
    assert bench.reply("verification", "v2", agentId="second")["rule"] == "judge.already"
    assert bench.run()["judge"]["position"] == first["cause"]


def test_what_a_critic_has_used() -> None:
    bench = completed()
    bench.reply("verification", metrics={"tokens": 7, "cost_usd": 0.5})
    run = bench.run()
    assert run["judge"]["metrics"] == {"tokens": 7, "cost_usd": 0.5}
    assert run["metrics"] == {"tokens": 0, "cost_usd": 0}, "its own, not the run's"
