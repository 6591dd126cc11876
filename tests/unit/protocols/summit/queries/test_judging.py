"""Critics that the service calls, from the judged run's result to the verification of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.summit import manifests as manifest_rules
from streams.errors import InvalidInput
from streams.protocols.summit.processor.judging import judge_run_id
from streams.protocols.summit.queries import runs
from streams.verify.run import verify
from streams.views.values import json_of
from tests.unit.protocols.summit.queries.stage import (
    AGENT,
    CALLS,
    MANIFESTS,
    REPLIES,
    RUN,
    Json,
    cancel,
    failure,
    invoke,
    judgement,
    manifest,
    progress,
    registered,
    result,
)
from tests.unit.views.bench import Bench
from topology.keys import partition_of
from topology.summit import SUMMIT_AUTO_CALLS

CRITIC = "fact-check"
PASSED: Json = {"status": "passed", "score": 0.9, "checks": [{"name": "tone", "passed": True}]}
OPEN = {"inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}


def critic(name: str = CRITIC, role: str = "critic", **metadata: Any) -> Json:
    made = manifest(name, role=role, interface=OPEN, tools=[])
    return {**made, "metadata": {**made["metadata"], **metadata}}


def with_critic(**judge: Any) -> Json:
    """The example's agent, whose manifest names its critic."""
    return judged_by({"agentId": CRITIC, **judge})


def judged_by(judge: Any) -> Json:
    made = manifest(version="1.3.0")
    return {**made, "metadata": {**made["metadata"], "judge": judge}}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path, partitions=4)
    yield bench
    bench.close()


def completed(bench: Bench, *manifests: Json) -> Json:
    """A completed run of the example's agent.  manifests: of this and other agents."""
    registered(bench, *manifests)
    bench.send(CALLS, {**invoke(), "caller": "desk-7"})
    bench.send(REPLIES, result())
    return look(bench)


def look(bench: Bench, run: str = RUN) -> Json:
    row: Json = bench.look(f"/v1/summit/runs/{run}")
    return row


def auto_calls(bench: Bench) -> list[Json]:
    records = bench.records(SUMMIT_AUTO_CALLS.name)
    return [json_of(SUMMIT_AUTO_CALLS, record.value or b"") for record in records]


def answer(bench: Bench, run: Json, output: Any, **more: Any) -> Json:
    """The judged run after its critic has answered."""
    bench.send(REPLIES, result(run["judgeRunId"], output, agent=CRITIC, **more))
    return look(bench)


def test_a_completed_run_is_judged_by_the_critic_of_its_manifest(bench: Bench) -> None:
    run = completed(bench, with_critic(budget={"usd": 0.5, "seconds": 9}), critic())
    assert (run["judge"], run["verificationStatus"], run["status"]) == (None, None, "completed")
    (call,) = auto_calls(bench)
    assert (call["caller"], call["method"]) == ("service", "agent.invoke")
    params = call["params"]
    assert params["context"] == {"traceId": "tr-9c", "budget": {"usd": 0.5, "seconds": 9}}
    assert params["inputs"] == {
        "runId": RUN,
        "agentId": AGENT,
        "kind": "invoke",
        "output": run["output"],
    }
    judge_run = look(bench, run["judgeRunId"])
    assert (judge_run["agentId"], judge_run["judges"], judge_run["status"]) == (
        CRITIC,
        RUN,
        "queued",
    )
    assert (judge_run["parentRunId"], judge_run["traceId"]) == (None, "tr-9c")
    metrics = {"tokens": 40, "cost_usd": 0.25}
    after = answer(bench, run, {**PASSED, "remark": "fine"}, metrics=metrics)
    assert (after["status"], after["verificationStatus"]) == ("completed", "passed")
    assert after["judge"]["agentId"] == CRITIC
    assert after["judge"]["verification"]["score"] == 0.9
    assert after["judge"]["verification"]["checks"] == PASSED["checks"]
    assert after["judge"]["metrics"] == metrics
    assert after["metrics"] == run["metrics"]
    fact = bench.look(f"/v1/summit/runs/{RUN}/events")["items"][-1]
    assert (fact["subject"], fact["rule"], fact["runVersion"]) == ("judge", "judge.recorded", 3)


def test_the_judges_run_is_named_by_the_judged_one_and_lies_beside_it() -> None:
    for number in range(50):
        name = judge_run_id(f"run-{number}", 12)
        assert name == judge_run_id(f"run-{number}", 12)
        assert partition_of(name.encode(), 12) == partition_of(f"run-{number}".encode(), 12)


def test_a_setting_names_critics_where_the_manifest_does_not(tmp_path: Path) -> None:
    bench = Bench(tmp_path, summit_critics=f"other=x,{AGENT}={CRITIC}")
    run = completed(bench, critic())
    assert answer(bench, run, PASSED)["verificationStatus"] == "passed"
    bench.close()


@pytest.mark.parametrize(
    "reply",
    [
        lambda run: failure(run, agent=CRITIC),
        lambda run: result(run, {"status": "fine"}, agent=CRITIC),
        lambda run: result(run, {}, agent=CRITIC),
        lambda run: progress(run, agent=CRITIC, metrics={"tokens": 9, "cost_usd": 1}),
    ],
)
def test_a_critic_without_a_verdict_leaves_the_run_flagged(bench: Bench, reply: Any) -> None:
    run = completed(bench, with_critic(budget={"usd": 0.5}), critic())
    bench.send(REPLIES, reply(run["judgeRunId"]))
    after = look(bench)
    assert (after["status"], after["verificationStatus"]) == ("completed", "flagged")
    assert bench.look(f"/v1/summit/runs/{RUN}/events")["items"][-1]["rule"] == "judge.flagged"


def test_a_critic_that_takes_too_long_leaves_the_run_flagged(bench: Bench) -> None:
    run = completed(bench, with_critic(budget={"seconds": 5}), critic())
    bench.now += 6000
    bench.send(CALLS, invoke("later"))
    bench.host.run()
    assert look(bench, run["judgeRunId"])["reason"] == "budget.seconds"
    assert look(bench)["verificationStatus"] == "flagged"
    late = answer(bench, run, PASSED)
    assert (late["verificationStatus"], late["judge"]["verification"]["status"]) == (
        "flagged",
        "flagged",
    )


@pytest.mark.parametrize(
    ("manifests", "rule"),
    [
        ([], "agent.unknown"),
        ([critic(role="writer")], "judge.not_critic"),
        ([manifest(CRITIC, role="critic")], "inputs.schema"),
    ],
)
def test_a_critic_that_cannot_be_called_leaves_the_run_flagged(
    bench: Bench, manifests: list[Json], rule: str
) -> None:
    run = completed(bench, *manifests, with_critic())
    assert run["verificationStatus"] == "flagged"
    (fact,) = bench.look(f"/v1/summit/runs/{run['judgeRunId']}/events")["items"]
    assert (fact["verdict"], fact["rule"]) == ("rejected", rule)


def test_a_cancelled_critic_leaves_the_run_flagged_and_only_operators_cancel(bench: Bench) -> None:
    run = completed(bench, with_critic(), critic())
    bench.send(CALLS, {**cancel(run["judgeRunId"]), "caller": "desk-7"})
    assert look(bench)["verificationStatus"] is None
    bench.send(CALLS, {**cancel(run["judgeRunId"]), "caller": "operator"})
    assert look(bench)["verificationStatus"] == "flagged"


def test_a_critics_run_is_not_judged(bench: Bench) -> None:
    chained = critic(judge={"agentId": "second"})
    run = completed(bench, with_critic(), chained, critic("second"))
    answer(bench, run, PASSED)
    bench.send(CALLS, invoke("by-hand", CRITIC, inputs={}))
    bench.send(REPLIES, result("by-hand", {}, agent=CRITIC))
    assert len(auto_calls(bench)) == 1
    assert look(bench, "by-hand")["judgeRunId"] is None


def test_runs_that_do_not_complete_are_not_judged(bench: Bench) -> None:
    registered(bench, with_critic(), critic())
    bench.send(CALLS, invoke(), invoke("second"))
    bench.send(REPLIES, failure())
    bench.send(CALLS, cancel("second"))
    assert auto_calls(bench) == []


def test_a_verification_that_came_before_stays(bench: Bench) -> None:
    run = completed(bench, with_critic(), critic(), critic("eager"))
    bench.send(REPLIES, judgement(agent="eager", status="failed"))
    after = answer(bench, run, PASSED)
    assert (after["judge"]["agentId"], after["verificationStatus"]) == ("eager", "failed")


def test_the_result_has_the_critics_verification_and_the_stricter_status(bench: Bench) -> None:
    registered(bench, with_critic(), critic())
    bench.send(CALLS, invoke())
    bench.send(REPLIES, result(verification={"status": "failed"}))
    checks = [{"name": "sources", "passed": True}]
    after = answer(bench, look(bench), {"checks": checks})
    seen_result = runs.result(bench.view, RUN)
    assert seen_result is not None
    assert seen_result["verification"] == {"status": "failed", "checks": checks}
    assert after["judge"]["verification"]["status"] == "passed"


def test_a_gate_holds_the_answer_until_the_run_is_judged(bench: Bench) -> None:
    run = completed(bench, with_critic(), critic())
    assert runs.result(bench.view, RUN) is not None
    assert runs.judged_result(bench.view, RUN) is None
    answer(bench, run, PASSED)
    assert runs.judged_result(bench.view, RUN) == runs.result(bench.view, RUN)
    bench.send(CALLS, invoke("not-judged", CRITIC, inputs={}))
    bench.send(REPLIES, result("not-judged", {}, agent=CRITIC))
    bench.view.catch_up(0)
    assert runs.judged_result(bench.view, "not-judged") is not None


@pytest.mark.parametrize(
    "judge",
    [{"agentId": AGENT}, {"agentId": "No"}, {}, "x", {"agentId": CRITIC, "budget": {"usd": -1}}],
)
def test_a_manifest_that_names_no_other_agent_is_refused(bench: Bench, judge: Any) -> None:
    made = manifest()
    with pytest.raises(InvalidInput) as refused:
        bench.send(MANIFESTS, {**made, "metadata": {**made["metadata"], "judge": judge}})
    assert {problem.rule for problem in refused.value.problems} == {"manifest.judge"}


@pytest.mark.parametrize(
    "judge",
    [{}, "x", {"agentId": 5}, {"agentId": CRITIC, "budget": {"usd": "much"}}, {"agentId": AGENT}],
)
def test_what_an_earlier_release_took_for_a_judge_names_no_critic(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, judge: Any, tmp_path: Path
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(manifest_rules, "_check_judge", lambda *_: None)
        registered(bench, judged_by(judge), critic())
    (tmp_path / "verify").mkdir()
    bench.send(CALLS, invoke())
    bench.send(REPLIES, result())
    run = look(bench)
    assert (run["status"], run["judgeRunId"], run["evidence"]["manifestVersion"]) == (
        "completed",
        None,
        "1.3.0",
    )
    assert verify(bench.log, bench.settings, tmp_path / "verify").findings.shown == []
