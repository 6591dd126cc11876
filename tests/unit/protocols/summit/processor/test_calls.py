"""Calls: what makes a run, what is refused, what follows (Summit guide, 5.2, 5.3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.summit.processor.support import (
    AGENT,
    START_MS,
    Bench,
    Json,
    cancel,
    invoke,
    manifest,
    tool_call,
)
from topology.summit import SUMMIT_CALLS, SUMMIT_RUNS_TABLE

LIMIT = 262_144


def test_a_tool_call_makes_a_run_of_its_own() -> None:
    bench = Bench()
    context = {"traceId": "tr", "parentRunId": "P", "team": {"b": 1, "a": 2}}
    fact = bench.call(tool_call(context=context))
    assert (fact["rule"], fact["method"]) == ("call.accepted", "tool.call")
    assert fact["inputs"] == {"title": "To Be"}
    run = bench.run()
    assert (run["kind"], run["toolName"], run["toolCallId"]) == ("tool", "slugify", "c/1")
    assert (run["traceId"], run["parentRunId"]) == ("tr", "P")
    assert run["contextExtra"] == {"team": {"b": 1, "a": 2}}
    (delivered,) = bench.inbox()
    assert delivered["delivery"]["kind"] == "tool"
    assert delivered["params"]["context"] == context
    assert bench.edges() == [
        ("summit:run:R", "child_of", "summit:run:P"),
        ("summit:run:R", "same_trace", "trace:tr"),
        ("summit:run:R", "derived_from", "summit:manifest:word-stats/1.2.0"),
    ]


def test_rtes_hears_of_a_tool() -> None:
    bench = Bench()
    bench.call(tool_call())
    bench.reply("result", output=None, at=START_MS + 1_500)
    began, ended = "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.500Z"
    move = {"task_id": "R", "git_hash": None}
    tool = {"call_id": "R/c%2F1", "tool": "slugify"}
    arguments = '{"title":"To Be"}'
    assert bench.rtes_payloads() == [
        ("R", {**move, "from_state": "none", "to_state": "queued", "timestamp": began}),
        ("R", {**tool, "arguments_json": arguments, "timestamp": began}),
        ("R", {**move, "from_state": "queued", "to_state": "failed", "timestamp": ended}),
        ("R", {**tool, "status": "failure", "duration_ms": 1500.0, "timestamp": ended}),
    ]


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (lambda b: b.reply("result", output=[1]), "success"),
        (lambda b: b.reply("error"), "failure"),
        (lambda b: b.cancel(), "failure"),
        (lambda b: b.advance_to(START_MS + 20_001), "timeout"),
        (lambda b: b.reply("result", metrics={"tokens": 0, "cost_usd": 9.1}), "failure"),
    ],
    ids=["result", "error", "cancel", "time", "money"],
)
def test_how_a_tool_ends(end: Any, status: str) -> None:
    bench = Bench()
    bench.call(tool_call(context={"budget": {"seconds": 20, "usd": 9}}))
    end(bench)
    assert bench.rtes_payloads()[-1][1]["status"] == status


def test_the_output_of_a_tool_is_any_json() -> None:
    outputs: list[Any] = [[], "x", 3, False, {"words": "six"}]
    for output in outputs:
        bench = Bench()
        bench.call(tool_call())
        assert bench.reply("result", output=output)["output"] == output
        assert bench.state() == "completed"


REFUSED: dict[str, Json] = {
    "rpc.version": invoke(jsonrpc="1.0"),
    "params.agent_id": invoke(agentId="Word-Stats"),
    "params.run_id": invoke("a/b"),
    "params.tool_call": tool_call(name="no name"),
    "params.reason": cancel(reason=""),
    "params.size": invoke(inputs={"text": "x" * LIMIT}),
    "context.trace_id": invoke(context={"traceId": "a b"}),
    "context.parent": invoke(context={"parentRunId": "R"}),
    "context.size": invoke(context={"note": "x" * 16_384}),
    "budget.value": invoke(context={"budget": {"seconds": 0}}),
    "caller.value": invoke(caller="x" * 201),
    "agent.unknown": invoke(agentId="nobody"),
    "tool.unknown": tool_call(name="shout"),
    "inputs.schema": invoke(inputs={"text": 3}),
    "run.unknown": cancel(),
}


@pytest.mark.parametrize("rule", REFUSED)
def test_a_call_that_is_refused_leaves_nothing_behind(rule: str) -> None:
    bench = Bench()
    fact = bench.call(REFUSED[rule])
    assert (fact["verdict"], fact["rule"], fact["fault"]) == ("rejected", rule, "sender")
    assert fact["message"].startswith(f"{rule}: ")
    assert (fact["inputs"], fact["runVersion"], fact["toState"]) == (None, None, None)
    assert bench.rows(SUMMIT_RUNS_TABLE) == {}
    assert (bench.inbox(), bench.edges(), bench.rtes_payloads(), bench.timers) == ([], [], [], {})
    assert bench.invoke()["rule"] == "call.accepted", "the runId is still free"


def test_a_key_that_is_not_the_runs() -> None:
    bench = Bench()
    for key, expected in (("other", "other"), (None, "R"), (b"\xff", "R")):
        sent = bench.decide(bench.record(SUMMIT_CALLS, invoke(), key=key))
        (one,) = sent
        assert (one.key, one.json["rule"]) == (expected, "key.mismatch")
        assert one.json["runId"] == "R"


def test_the_key_is_looked_at_last_of_the_shape() -> None:
    bench = Bench()
    assert bench.call(invoke(caller="x" * 201), key="other")["rule"] == "caller.value"
    assert bench.call(invoke(agentId="nobody"), key="other")["rule"] == "key.mismatch"


def test_a_record_on_another_partition() -> None:
    bench = Bench(partitions=4, agents=False)
    right = bench.record(SUMMIT_CALLS, invoke()).record.partition
    fact = bench.call(invoke(), partition=(right + 1) % 4)
    assert (fact["verdict"], fact["rule"]) == ("rejected", "partition_mismatch")


def test_schema_errors() -> None:
    fact = Bench().invoke(inputs={"top": 12, "also": 1})
    assert fact["errors"] == [
        {"path": "/params/inputs/also", "keyword": "additionalProperties"},
        {"path": "/params/inputs/text", "keyword": "required"},
        {"path": "/params/inputs/top", "keyword": "maximum"},
    ]
    assert fact["path"] == "/params/inputs/also"
    assert fact["message"] == "inputs.schema: /params/inputs/also: additionalProperties"
    (error,) = Bench().call(tool_call(arguments={"title": 7}))["errors"]
    assert error == {"path": "/params/toolCall/arguments/title", "keyword": "type"}


def test_inputs_are_measured_with_their_defaults() -> None:
    bench = Bench(agents=False)
    schema = {"type": "object", "properties": {"x": {"default": "y" * 1000}}}
    interface = {"inputSchema": schema, "outputSchema": {"type": "object"}}
    bench.register(manifest(interface=interface))
    fact = bench.invoke(inputs={"text": "x" * (LIMIT - 500)})
    assert (fact["rule"], fact["path"]) == ("inputs.size", "/params/inputs")


def test_defaults_that_multiply_are_not_made_first() -> None:
    """In full these would be gigabytes."""
    bench = Bench(agents=False)
    item = {"properties": {"x": {"default": "y" * 100_000}}}
    schema = {"type": "object", "properties": {"a": {"items": item}}}
    bench.register(manifest(interface={"inputSchema": schema, "outputSchema": {"type": "object"}}))
    fact = bench.invoke(inputs={"a": [{}] * 80_000})
    assert (fact["verdict"], fact["rule"]) == ("rejected", "inputs.size")


def test_an_agent_that_was_withdrawn_takes_no_calls_and_ends_its_runs() -> None:
    bench = Bench()
    bench.invoke("before")
    bench.withdraw()
    fact = bench.invoke()
    assert fact["rule"] == "agent.withdrawn"
    assert fact["manifestVersion"] == "1.2.0"
    assert fact["agentsSeen"] == [0]
    assert bench.reply("result", runId="before")["rule"] == "reply.result"


def test_what_a_verdict_saw_of_the_agents() -> None:
    bench = Bench()
    bench.indexed = [7]
    fact = bench.invoke(agentId="nobody")
    assert (fact["agentsSeen"], fact["manifestVersion"]) == ([7], None)
    assert bench.invoke()["agentsSeen"] is None


def test_a_run_keeps_to_the_manifest_that_it_began_with() -> None:
    bench = Bench()
    bench.invoke()
    other = {"inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}
    bench.register(manifest(version="2.0.0", interface=other))
    fact = bench.reply("result", output={"words": "six"})
    assert (fact["rule"], fact["manifestVersion"]) == ("output.schema", "1.2.0")
    bench.invoke("S")
    assert bench.run("S")["evidence"]["manifestVersion"] == "2.0.0"
    assert bench.reply("result", runId="S", output={"words": "six"})["rule"] == "reply.result"


def test_a_call_that_is_repeated() -> None:
    bench = Bench()
    bench.call(invoke())
    again = bench.call(invoke(id=7))
    assert (again["verdict"], again["rule"]) == ("duplicate", "call.duplicate")
    assert again["runVersion"] == 1
    assert len(bench.inbox()) == 1
    for other in (invoke(caller="desk-8"), invoke(context={}), tool_call(), invoke(agentId="x")):
        fact = bench.call(other)
        assert (fact["verdict"], fact["rule"]) == ("rejected", "run.conflict")


@pytest.mark.parametrize(
    ("seconds", "ms"),
    [(20, 20_000), (0.0001, 1), (1.0005, 1_001), (0.003, 3), (604_800, 604_800_000)],
)
def test_when_a_run_is_due(seconds: float, ms: int) -> None:
    bench = Bench()
    fact = bench.invoke(context={"budget": {"seconds": seconds}})
    assert fact["figures"] == {"dueAt": START_MS + ms}
    assert list(bench.timers) == [(START_MS + ms + 1, "summit.run-timeout", "R")]


def test_a_cancel() -> None:
    bench = Bench()
    bench.invoke(context={"traceId": "tr"})
    fact = bench.cancel(reason="enough", id=None, at=START_MS + 50)
    assert (fact["verdict"], fact["rule"]) == ("accepted", "cancel.accepted")
    assert (fact["agentId"], fact["method"]) == (AGENT, "agent.cancel")
    run = bench.run()
    position = fact["cause"]
    at = "2026-01-01T00:00:00.050Z"
    cancel_json = {"caller": "desk-7", "reason": "enough", "position": position, "at": at}
    assert run["cancel"] == cancel_json
    assert run["error"] == {
        "code": -32014,
        "message": "cancel.accepted: the run is cancelled",
        "data": {"rule": "cancel.accepted"},
    }
    assert run["provenance"] == {"model": "unknown", "timestamp": at}
    assert ("summit:call:" + position, "retracts", "summit:run:R") in bench.edges()
    assert bench.timers == {}
    stop = bench.inbox()[-1]
    evidence = run["evidence"]
    assert stop == {
        "jsonrpc": "2.0",
        "method": "agent.cancel",
        "params": {"runId": "R", "agentId": AGENT, "reason": "enough"},
        "delivery": {
            "kind": "stop",
            "agentVersion": "1.2.0",
            "manifestHash": evidence["manifestHash"],
            "callPosition": evidence["callPosition"],
            "dueAt": run["dueAt"],
            "reason": "cancel.accepted",
        },
    }


CANCELS: list[tuple[str | None, Json, str]] = [
    ("desk-7", {}, "cancel.accepted"),
    ("desk-7", {"caller": "operator"}, "cancel.accepted"),
    ("desk-7", {"agentId": AGENT}, "cancel.accepted"),
    ("desk-7", {"caller": "desk-8"}, "cancel.not_caller"),
    ("desk-7", {"caller": None}, "cancel.not_caller"),
    ("desk-7", {"caller": "desk-8", "agentId": "other"}, "cancel.agent"),
    (None, {"caller": "desk-8"}, "cancel.accepted"),
    (None, {"caller": None}, "cancel.accepted"),
]


@pytest.mark.parametrize(("caller", "more", "rule"), CANCELS)
def test_who_may_cancel(caller: str | None, more: Json, rule: str) -> None:
    bench = Bench()
    bench.invoke(caller=caller)
    assert bench.cancel(**more)["rule"] == rule
    assert bench.state() == ("cancelled" if rule == "cancel.accepted" else "queued")


def test_the_trace_context_is_handed_on() -> None:
    bench = Bench()
    parent = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    sent = bench.decide(bench.record(SUMMIT_CALLS, invoke(), headers=[("traceparent", parent)]))
    assert {one.traceparent for one in sent} == {parent}
    fired = bench.advance_to(START_MS + 600_001)
    assert {one.traceparent for one in fired} == {parent}
