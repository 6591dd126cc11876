"""`POST /summit`: what is answered from the views (Summit 6.1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.gateway.summit_bench import CALLS, MANIFESTS, REPLIES, SummitBench, summit_bench
from tests.unit.views.summit.stage import (
    AGENT,
    HASHES,
    MADE,
    NO_COST,
    RESULT,
    RUN,
    Json,
    cancel,
    critic,
    failure,
    invoke,
    judgement,
    manifest,
    progress,
    query,
    result,
    tool,
    tool_call,
)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SummitBench]:
    """Agents with tools, one of them withdrawn; runs in every state."""
    folder: Path = tmp_path_factory.mktemp("told")
    with summit_bench(folder, summit_wait_s=20) as bench:
        others = manifest("a-agent", capabilities=["web:search"], tools=[tool("z"), tool("b")])
        bench.judged(MANIFESTS, manifest(version="1.0.0"), manifest(), critic(), others)
        bench.judged(MANIFESTS, manifest("gone"))
        bench.ask("DELETE", f"{MANIFESTS}/gone", headers={"Prefer": "wait=20"})
        bench.judged(CALLS, {**invoke(), "caller": "desk-7"})
        bench.judged(REPLIES, progress(message="half"), result(), judgement(status="flagged"))
        bench.judged(CALLS, *[invoke(name, traceId="tr-2") for name in ("q1", "q2", "r", "f", "c")])
        bench.judged(REPLIES, progress("r"), failure("f"))
        bench.judged(CALLS, cancel("c"), tool_call("t"))
        bench.judged(CALLS, invoke("over", budget={"usd": 0}))
        bench.judged(REPLIES, result("over", metrics={"tokens": 1, "cost_usd": 2}))
        yield bench


def status(told: SummitBench, **params: Any) -> Json:
    return told.result(query("agent.status", **params))


def test_the_status_of_a_completed_run(told: SummitBench) -> None:
    found = status(told, runId=RUN)
    assert set(found) == {
        *("runId", "agentId", "kind", "status", "reason", "version", "traceId", "parentRunId"),
        *("createdAt", "startedAt", "updatedAt", "finishedAt", "dueAt", "metrics", "provenance"),
        *("message", "verificationStatus", "judge", "evidence", "result"),
    }
    assert (found["status"], found["reason"], found["version"]) == ("completed", "reply.result", 4)
    assert (found["traceId"], found["parentRunId"], found["message"]) == ("tr-9c", None, "half")
    assert (found["metrics"], found["provenance"]) == (NO_COST, MADE)
    assert (found["verificationStatus"], found["judge"]["agentId"]) == ("flagged", "fact-check")
    assert found["result"] == RESULT
    assert {name: found["evidence"][name] for name in HASHES} == HASHES


def test_the_status_of_a_run_under_way(told: SummitBench) -> None:
    found = status(told, runId="q1", agentId=AGENT)
    assert (found["status"], found["startedAt"], found["finishedAt"]) == ("queued", None, None)
    assert "result" not in found
    assert status(told, runId="r")["startedAt"] is not None


def test_the_result_of_a_cancelled_run_has_its_error(told: SummitBench) -> None:
    found = status(told, runId="c")["result"]
    assert (found["status"], found["error"]["code"]) == ("cancelled", -32014)
    assert found["metrics"]["tokens"] == 0


def test_a_run_of_another_agent(told: SummitBench) -> None:
    error = told.error(query("agent.status", runId=RUN, agentId="fact-check"))
    assert (error["code"], error["data"]["path"]) == (-32602, "/params/agentId")


def test_the_status_of_an_agent(told: SummitBench) -> None:
    found = status(told, agentId=AGENT)
    assert found["runs"] == {
        "queued": 3,
        "running": 1,
        "completed": 1,
        "failed": 1,
        "cancelled": 1,
        "budget_exceeded": 1,
    }
    q1 = status(told, runId="q1")
    assert found["oldestQueuedAt"] == q1["createdAt"]
    assert found["lastReplyAt"] == status(told, runId="over")["finishedAt"]
    own = {name: found[name] for name in ("agentId", "status", "version", "role", "manifestHash")}
    assert own == {
        "agentId": AGENT,
        "status": "registered",
        "version": "1.2.0",
        "role": "x-text",
        "manifestHash": HASHES["manifestHash"],
    }
    assert found["registeredAt"] == told.get(f"/v1/summit/agents/{AGENT}")["at"]


def test_the_status_of_an_agent_without_runs(told: SummitBench) -> None:
    found = status(told, agentId="gone")
    assert (found["status"], found["oldestQueuedAt"], found["lastReplyAt"]) == (
        "withdrawn",
        None,
        None,
    )
    assert set(found["runs"].values()) == {0}
    assert status(told, agentId="fact-check")["lastReplyAt"] is not None


def test_the_schema_of_an_agent(told: SummitBench) -> None:
    spec = manifest()["spec"]
    found = told.result(query("agent.schema", agentId=AGENT))
    assert found == {
        "agentId": AGENT,
        "version": "1.2.0",
        **spec["interface"],
        "tools": spec["tools"],
        "manifestHash": HASHES["manifestHash"],
    }
    older = told.result(query("agent.schema", agentId=AGENT, version="1.0.0"))
    assert older["version"] == "1.0.0"
    error = told.error(query("agent.schema", agentId=AGENT, version="3.0.0"))
    assert (error["code"], error["data"]["rule"]) == (-32004, "agent.unknown")
    assert told.result(query("agent.schema", agentId="gone"))["version"] == "1.2.0"


def test_registered_agents_are_listed(told: SummitBench) -> None:
    found = told.result(query("agent.list"))
    assert [agent["agentId"] for agent in found["agents"]] == ["a-agent", "fact-check", AGENT]
    assert found["nextCursor"] is None
    assert found["agents"][2] == {
        "agentId": AGENT,
        "version": "1.2.0",
        "role": "x-text",
        "description": "Counts words.",
        "capabilities": ["text:count"],
        "tools": ["slugify"],
        "manifestHash": HASHES["manifestHash"],
    }


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"role": "critic"}, ["fact-check"]),
        ({"capability": "web:search"}, ["a-agent"]),
        ({"role": "critic", "capability": "web:search"}, []),
    ],
)
def test_agents_are_found_by_what_they_can_do(
    told: SummitBench, params: Json, found: list[str]
) -> None:
    listed = told.result(query("agent.list", **params))["agents"]
    assert [agent["agentId"] for agent in listed] == found


def test_lists_come_in_pages(told: SummitBench) -> None:
    first = told.result(query("agent.list", limit=2))
    rest = told.result(query("agent.list", limit=2, cursor=first["nextCursor"]))
    assert [len(first["agents"]), len(rest["agents"]), rest["nextCursor"]] == [2, 1, None]
    tools = told.result(query("tool.list", limit=3))
    more = told.result(query("tool.list", cursor=tools["nextCursor"]))
    named = [(each["agentId"], each["name"]) for each in (*tools["tools"], *more["tools"])]
    assert named == [
        ("a-agent", "b"),
        ("a-agent", "z"),
        ("fact-check", "slugify"),
        (AGENT, "slugify"),
    ]


def test_the_tools_of_an_agent(told: SummitBench) -> None:
    found = told.result(query("tool.list", agentId=AGENT))["tools"]
    assert found == [{"agentId": AGENT, **tool()}]
    (mcp,) = told.result(query("tool.list", agentId=AGENT, dialect="mcp"))["tools"]
    own = tool()
    assert mcp == {"agentId": AGENT, "inputSchema": own.pop("arguments"), **own}
    assert told.result(query("tool.list", agentId="gone"))["tools"] == []
    assert told.result(query("tool.list", agentId="nobody"))["tools"] == []


def test_queries_see_what_was_decided_about_a_position(told: SummitBench) -> None:
    answer = told.ask("POST", CALLS, json=invoke("seen"))
    (position,) = answer.json()["positions"]
    assert status(told, runId="seen", after=position)["runId"] == "seen"
    found = told.post(query("agent.status", runId="seen"), query=f"?after={position}")
    assert found.json()["result"]["status"] == "queued"
    told.judged(CALLS, cancel("seen"))
