"""What agents say of their runs (Summit guide, 5.4, steps 1 to 9)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas import from_json
from schemas.summit import rules
from schemas.summit.words import REPLY_RECORD
from tests.unit.protocols.summit.processor.support import (
    AGENT,
    BUDGET,
    CHECKED,
    METRICS,
    OUTPUT,
    PROVENANCE,
    START_MS,
    Bench,
    Json,
    reply,
    tool_call,
)
from topology.summit import SUMMIT_REPLIES

ERROR: Json = {"code": 7, "message": "no words", "data": {"at": None}}


def begun(**more: Any) -> Bench:
    bench = Bench()
    bench.invoke(**(more or BUDGET))
    return bench


def test_progress() -> None:
    bench = begun()
    metrics = {"tokens": 40, "cost_usd": 0.5, "latency_ms": 12.5}
    fact = bench.reply("progress", "start", metrics=metrics, message="reading", at=START_MS + 9)
    assert (fact["verdict"], fact["rule"]) == ("accepted", "reply.progress")
    assert (fact["replyId"], fact["replyKind"]) == ("start", "progress")
    assert (fact["fromState"], fact["toState"], fact["runVersion"]) == ("queued", "running", 2)
    assert fact["figures"] == {"cost_usd": 0.5, "usd": 9, "tokens": 40}
    second = bench.reply("progress", "p1", provenance=None, at=START_MS + 20)
    assert (second["fromState"], second["toState"], second["runVersion"]) == (None, None, 3)
    run = bench.run()
    assert (run["startedAt"], run["updatedAt"]) == (
        "2026-01-01T00:00:00.009Z",
        "2026-01-01T00:00:00.020Z",
    )
    assert (run["message"], run["provenance"]) == ("reading", PROVENANCE)
    assert bench.moves() == [("none", "queued"), ("queued", "running")]
    assert [key for *_, key in bench.timers] == ["R"]
    assert not [e for e in bench.edges() if e[1] == "answers"]


def test_progress_that_costs_too_much_ends_the_run() -> None:
    bench = begun()
    fact = bench.reply("progress", metrics={"tokens": 0, "cost_usd": 9.5})
    assert (fact["verdict"], fact["rule"]) == ("accepted", "budget.usd")
    run = bench.run()
    assert (run["state"], run["reason"]) == ("budget_exceeded", "budget.usd")
    assert run["error"]["code"] == -32013
    assert run["evidence"].get("replyHash") is None, "it is no final reply"
    stop = bench.inbox()[-1]
    assert stop["delivery"]["reason"] == "budget.usd"
    assert bench.timers == {}
    assert bench.known() == {"R/progress"}


def test_an_error_is_the_agents_own() -> None:
    bench = begun()
    fact = bench.reply("error", error=ERROR)
    assert (fact["rule"], fact["toState"]) == ("reply.error", "failed")
    run = bench.run()
    assert run["error"] == ERROR
    assert run["evidence"]["replyHash"] == fact["contentHash"]
    assert run["evidence"].get("outputHash") is None
    assert ("summit:reply:R/error", "answers", "summit:run:R") in bench.edges()
    assert len(bench.inbox()) == 1, "no stop record: the agent has ended by itself"


def test_an_agent_that_stops_for_its_budget() -> None:
    bench = begun()
    fact = bench.reply("error", error=ERROR, status="budget_exceeded")
    assert (fact["rule"], fact["toState"]) == ("budget.agent_stop", "budget_exceeded")
    data = {"rule": "budget.agent_stop", "agentError": ERROR}
    assert bench.run()["error"]["data"] == data


def test_a_stop_for_a_budget_that_there_is_not() -> None:
    bench = begun(context={"budget": {"seconds": 20}})
    fact = bench.reply("error", error=ERROR, status="budget_exceeded")
    assert (fact["rule"], fact["toState"]) == ("budget.none", "failed")
    assert bench.run()["error"]["code"] == -32011
    assert bench.run()["error"]["data"]["agentError"] == ERROR


FAULTS: list[tuple[str, str, Json]] = [
    ("result", "status.value", {"status": "failed"}),
    ("error", "status.value", {"status": "completed"}),
    ("result", "metrics.missing", {"metrics": None}),
    ("error", "metrics.missing", {"metrics": None}),
    ("result", "metrics.value", {"metrics": {"tokens": -1, "cost_usd": 0}}),
    ("error", "metrics.value", {"metrics": {"tokens": 0, "cost_usd": 1_000_001}}),
    ("result", "provenance.missing", {"provenance": None}),
    ("error", "provenance.missing", {"provenance": None}),
    ("result", "provenance.value", {"provenance": {**PROVENANCE, "model": ""}}),
    ("error", "provenance.value", {"provenance": {**PROVENANCE, "timestamp": "today"}}),
    ("result", "verification.value", {"verification": {"status": "passed", "score": 1.5}}),
    ("error", "error.value", {"error": {"code": -32000, "message": "mine"}}),
    ("error", "error.value", {"error": None}),
    ("result", "output.value", {"output": None}),
    ("result", "output.value", {"output": {"words": 1, "text": "x" * 393_216}}),
    ("result", "output.value", {"output": [1]}),
    ("result", "output.schema", {"output": {"words": "six"}}),
    ("result", "output.schema", {"output": {}}),
]


@pytest.mark.parametrize(("kind", "rule", "more"), FAULTS)
def test_a_final_reply_with_bad_content_ends_the_run(kind: str, rule: str, more: Json) -> None:
    bench = begun()
    fact = bench.reply(kind, **more)
    assert (fact["verdict"], fact["rule"], fact["toState"]) == ("accepted", rule, "failed")
    run = bench.run()
    assert (run["reason"], run["state"]) == (rule, "failed")
    error = run["error"]
    assert error["code"] == rules.ENDS[rule].code
    assert error["message"].startswith(f"{rule}: ")
    assert error["data"]["rule"] == rule
    assert fact["output"] is None, "what it sent is withheld"
    assert run["evidence"]["replyHash"] == fact["contentHash"]
    assert ("outputHash" in run["evidence"]) == ("output" in reply(kind, **more))
    assert bench.timers == {}
    assert len(bench.inbox()) == 1
    assert bench.known() == {f"R/{kind}"}


def test_what_breaks_the_output_schema() -> None:
    bench = begun()
    errors = [
        {"path": "/output/top/0", "keyword": "type"},
        {"path": "/output/words", "keyword": "required"},
    ]
    fact = bench.reply("result", output={"top": [1]})
    assert fact["errors"] == errors
    assert fact["message"] == "output.schema: /output/top/0: type"
    assert bench.run()["error"] == {
        "code": -32010,
        "message": "output.schema: /output/top/0: type",
        "data": {"rule": "output.schema", "path": "/output/top/0", "errors": errors},
    }


ORDER: list[tuple[str, list[tuple[str, Json]]]] = [
    (
        "result",
        [
            ("status.value", {"status": "done"}),
            ("metrics.value", {"metrics": {"tokens": 0, "cost_usd": -1}}),
            ("provenance.missing", {"provenance": None}),
            ("verification.value", {"verification": {"status": "passed", "score": 2}}),
            ("budget.usd", {"metrics": {"tokens": 99, "cost_usd": 10}}),
            ("budget.tokens", {"metrics": {"tokens": 99, "cost_usd": 0}}),
            ("output.value", {"output": 3}),
            ("output.schema", {"output": {}}),
        ],
    ),
    (
        "error",
        [
            ("status.value", {"status": "done"}),
            ("metrics.value", {"metrics": {"tokens": 0, "cost_usd": -1}}),
            ("provenance.missing", {"provenance": None}),
            ("error.value", {"error": {"code": 1, "message": ""}}),
            ("budget.usd", {"metrics": {"tokens": 99, "cost_usd": 10}}),
            ("budget.tokens", {"metrics": {"tokens": 99, "cost_usd": 0}}),
            ("budget.agent_stop", {"status": "budget_exceeded"}),
        ],
    ),
]


@pytest.mark.parametrize(("kind", "steps"), ORDER, ids=["result", "error"])
def test_the_first_broken_rule_decides(kind: str, steps: list[tuple[str, Json]]) -> None:
    """Each reply breaks its rule and all that come after it."""
    for number, (rule, _) in enumerate(steps):
        members: Json = {}
        for _, more in reversed(steps[number:]):
            members |= more
        bench = begun(context={"budget": {"usd": 9, "tokens": 50}})
        assert bench.reply(kind, **members)["rule"] == rule


def test_metrics_count_whatever_rule_ends_the_run() -> None:
    bench = begun()
    bench.reply("result", metrics={"tokens": 5, "cost_usd": 0.25}, provenance=None)
    run = bench.run()
    assert run["metrics"] == {"tokens": 5, "cost_usd": 0.25}
    assert run["provenance"] == {"model": "unknown", "timestamp": "2026-01-01T00:00:00.000Z"}
    bench = begun()
    bench.reply(
        "progress", metrics={"tokens": 5, "cost_usd": 0.25}, provenance={**PROVENANCE, "seed": 3}
    )
    bench.reply("result", metrics=None, provenance=None)
    assert bench.run()["metrics"] == {"tokens": 5, "cost_usd": 0.25}
    assert bench.run()["provenance"] == {**PROVENANCE, "seed": 3}


REJECTED: list[tuple[str, Json]] = [
    ("metrics.missing", {"metrics": None}),
    ("metrics.value", {"metrics": {"tokens": -1, "cost_usd": 0}}),
    ("provenance.value", {"provenance": {"model": "m", "timestamp": "2026-02-30T00:00:00Z"}}),
    ("reply.agent", {"agentId": "other"}),
    ("reply.shape", {"status": "completed"}),
    ("reply.shape", {"output": {}}),
    ("reply.shape", {"error": ERROR}),
    ("reply.shape", {"verification": CHECKED}),
    ("reply.shape", {"runId": "a b"}),
    ("reply.shape", {"message": ""}),
    ("run.unknown", {"runId": "S"}),
]


@pytest.mark.parametrize(("rule", "more"), REJECTED)
def test_progress_that_is_refused_changes_nothing(rule: str, more: Json) -> None:
    bench = begun()
    before = bench.run()
    fact = bench.reply("progress", "p", **more)
    assert (fact["verdict"], fact["rule"], fact["fault"]) == ("rejected", rule, "sender")
    assert bench.run() == before
    assert bench.known() == set()
    assert bench.reply("progress", "p")["rule"] == "reply.progress", "it may be corrected"


def test_a_reply_that_is_repeated() -> None:
    bench = begun()
    bench.reply("progress", "p")
    again = bench.reply("progress", "p")
    assert (again["verdict"], again["rule"], again["runVersion"]) == (
        "duplicate",
        "reply.duplicate",
        2,
    )
    other = bench.reply("progress", "p", message="more")
    assert (other["verdict"], other["rule"]) == ("rejected", "reply.conflict")
    bench.reply("result")
    assert bench.reply("result")["rule"] == "reply.duplicate", "also of a run that has ended"
    assert bench.reply("result", agentId="other")["rule"] == "reply.conflict"
    assert bench.reply("result", "r2")["rule"] == "run.terminal"


def test_a_key_that_is_not_the_runs() -> None:
    bench = begun()
    (one,) = bench.decide(bench.record(SUMMIT_REPLIES, reply("result"), key="other"))
    assert (one.key, one.json["rule"]) == ("other", "key.mismatch")
    assert bench.decide_reply(reply("result", runId="a b"), key="other")["rule"] == "reply.shape"


def put_text(bench: Bench, kind: str, member: str, text: str) -> Json:
    """The fact of a reply whose open JSON is spelled in its own way.  member: dotted."""
    value = from_json(REPLY_RECORD, reply(kind))
    owner, _, name = member.rpartition(".")
    (value[owner] if owner else value)[name] = text
    return bench.fact(bench.record(SUMMIT_REPLIES, value, avro=True))


@pytest.mark.parametrize(
    ("kind", "member", "rule"),
    [
        ("result", "output_json", "output.value"),
        ("result", "provenance.extra_json", "provenance.value"),
        ("error", "error.data_json", "error.value"),
        ("progress", "provenance.extra_json", "json.invalid"),
    ],
)
@pytest.mark.parametrize(
    "text", ["{", '{"a":1,"a":2}', '{"a":1e999}', '"\\ud800"', "9007199254740993"]
)
def test_what_is_no_i_json(kind: str, member: str, rule: str, text: str) -> None:
    bench = begun()
    fact = put_text(bench, kind, member, text)
    final = kind != "progress"
    assert (fact["verdict"], fact["rule"]) == ("accepted" if final else "rejected", rule)
    assert bench.state() == ("failed" if final else "queued")
    readable = member == "provenance.extra_json" or text.isdigit()
    hashed = "outputHash" in bench.run()["evidence"]
    assert hashed == (readable and kind == "result"), "what can be parsed has its hash"


def test_the_spelling_of_json_does_not_matter() -> None:
    bench = begun()
    text = '{ "words": 6.0, "top": ["be", "to", "not"] }'
    fact = put_text(bench, "result", "output_json", text)
    assert (fact["rule"], fact["output"]) == ("reply.result", json.loads(text))
    assert fact["contentHash"] == begun().reply("result")["contentHash"]


def test_verification_by_the_agent_itself() -> None:
    bench = begun()
    checks = [{"name": "tone", "passed": True}, {"name": "sources", "passed": False}]
    bench.reply("result", verification={"status": "passed", "checks": checks})
    run = bench.run()
    assert run["verification"] == {
        "status": "failed",
        "claimedStatus": "passed",
        "checks": checks,
    }
    assert (run["state"], run["verificationStatus"]) == ("completed", "failed")
    bench = begun()
    bench.reply("result", verification={"status": "flagged", "checks": checks[:1]})
    assert bench.run()["verificationStatus"] == "flagged"
    bench = begun()
    bench.reply("result")
    assert bench.run().get("verificationStatus") is None


def test_null_is_an_output_of_a_tool() -> None:
    bench = Bench()
    bench.call(tool_call())
    value = from_json(REPLY_RECORD, reply("result"))
    value["output_json"] = "null"
    fact = bench.fact(bench.record(SUMMIT_REPLIES, value, avro=True))
    assert (fact["rule"], bench.state()) == ("reply.result", "completed")
    assert "outputHash" in bench.run()["evidence"]


def test_the_agents_latency_is_kept() -> None:
    bench = begun()
    bench.reply("result", metrics={**METRICS, "latency_ms": 3}, output=OUTPUT)
    assert bench.run()["metrics"]["latency_ms"] == 3
    assert bench.run()["agentId"] == AGENT
