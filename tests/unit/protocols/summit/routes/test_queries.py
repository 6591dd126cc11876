"""`POST /summit`: what is answered from the views (Summit guide, 6.1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.protocols.summit.queries.stage import (
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
from tests.unit.protocols.summit.routes.summit_bench import (
    CALLS,
    MANIFESTS,
    REPLIES,
    SummitBench,
    summit_bench,
)


@pytest.fixture(scope="module")
def seeded_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SummitBench]:
    """Agents with tools, one of them withdrawn; runs in every state."""
    folder: Path = tmp_path_factory.mktemp("told")
    with summit_bench(folder, summit_wait_s=20) as bench:
        others = manifest("a-agent", capabilities=["web:search"], tools=[tool("z"), tool("b")])
        bench.send_and_await(MANIFESTS, manifest(version="1.0.0"), manifest(), critic(), others)
        bench.send_and_await(MANIFESTS, manifest("gone"))
        bench.ask("DELETE", f"{MANIFESTS}/gone", headers={"Prefer": "wait=20"})
        bench.send_and_await(CALLS, {**invoke(), "caller": "desk-7"})
        bench.send_and_await(
            REPLIES, progress(message="half"), result(), judgement(status="flagged")
        )
        bench.send_and_await(
            CALLS, *[invoke(name, traceId="tr-2") for name in ("q1", "q2", "r", "f", "c")]
        )
        bench.send_and_await(REPLIES, progress("r"), failure("f"))
        bench.send_and_await(CALLS, cancel("c"), tool_call("t"))
        bench.send_and_await(CALLS, invoke("over", budget={"usd": 0}))
        bench.send_and_await(REPLIES, result("over", metrics={"tokens": 1, "cost_usd": 2}))
        yield bench


def status(seeded_bench: SummitBench, **params: Any) -> Json:
    return seeded_bench.result(query("agent.status", **params))


def test_the_status_of_a_completed_run(seeded_bench: SummitBench) -> None:
    run_json = status(seeded_bench, runId=RUN)
    assert set(run_json) == {
        *("runId", "agentId", "kind", "status", "reason", "version", "traceId", "parentRunId"),
        *("createdAt", "startedAt", "updatedAt", "finishedAt", "dueAt", "metrics", "provenance"),
        *("message", "verificationStatus", "judge", "evidence", "result", "judgeRunId", "judges"),
        "tree",
    }
    assert (run_json["status"], run_json["reason"], run_json["version"]) == (
        "completed",
        "reply.result",
        4,
    )
    assert (run_json["traceId"], run_json["parentRunId"], run_json["message"]) == (
        "tr-9c",
        None,
        "half",
    )
    assert (run_json["metrics"], run_json["provenance"]) == (NO_COST, MADE)
    assert (run_json["verificationStatus"], run_json["judge"]["agentId"]) == (
        "flagged",
        "fact-check",
    )
    assert run_json["result"] == RESULT
    assert {name: run_json["evidence"][name] for name in HASHES} == HASHES


def test_the_status_of_a_run_under_way(seeded_bench: SummitBench) -> None:
    run_json = status(seeded_bench, runId="q1", agentId=AGENT)
    assert (run_json["status"], run_json["startedAt"], run_json["finishedAt"]) == (
        "queued",
        None,
        None,
    )
    assert "result" not in run_json
    assert status(seeded_bench, runId="r")["startedAt"] is not None


def test_the_result_of_a_cancelled_run_has_its_error(seeded_bench: SummitBench) -> None:
    result = status(seeded_bench, runId="c")["result"]
    assert (result["status"], result["error"]["code"]) == ("cancelled", -32014)
    assert result["metrics"]["tokens"] == 0


def test_a_run_of_another_agent(seeded_bench: SummitBench) -> None:
    error = seeded_bench.error(query("agent.status", runId=RUN, agentId="fact-check"))
    assert (error["code"], error["data"]["path"]) == (-32602, "/params/agentId")


def test_the_status_of_an_agent(seeded_bench: SummitBench) -> None:
    response = status(seeded_bench, agentId=AGENT)
    assert response["runs"] == {
        "queued": 3,
        "running": 1,
        "completed": 1,
        "failed": 1,
        "cancelled": 1,
        "budget_exceeded": 1,
    }
    q1 = status(seeded_bench, runId="q1")
    assert response["oldestQueuedAt"] == q1["createdAt"]
    assert response["lastReplyAt"] == status(seeded_bench, runId="over")["finishedAt"]
    agent_json = {
        name: response[name] for name in ("agentId", "status", "version", "role", "manifestHash")
    }
    assert agent_json == {
        "agentId": AGENT,
        "status": "registered",
        "version": "1.2.0",
        "role": "x-text",
        "manifestHash": HASHES["manifestHash"],
    }
    assert response["registeredAt"] == seeded_bench.get(f"/v1/summit/agents/{AGENT}")["at"]


def test_the_status_of_an_agent_without_runs(seeded_bench: SummitBench) -> None:
    agent_json = status(seeded_bench, agentId="gone")
    assert (agent_json["status"], agent_json["oldestQueuedAt"], agent_json["lastReplyAt"]) == (
        "withdrawn",
        None,
        None,
    )
    assert set(agent_json["runs"].values()) == {0}
    assert status(seeded_bench, agentId="fact-check")["lastReplyAt"] is not None


def test_the_schema_of_an_agent(seeded_bench: SummitBench) -> None:
    spec = manifest()["spec"]
    schema_json = seeded_bench.result(query("agent.schema", agentId=AGENT))
    assert schema_json == {
        "agentId": AGENT,
        "version": "1.2.0",
        **spec["interface"],
        "tools": spec["tools"],
        "manifestHash": HASHES["manifestHash"],
    }
    older = seeded_bench.result(query("agent.schema", agentId=AGENT, version="1.0.0"))
    assert older["version"] == "1.0.0"
    error = seeded_bench.error(query("agent.schema", agentId=AGENT, version="3.0.0"))
    assert (error["code"], error["data"]["rule"]) == (-32004, "agent.unknown")
    assert seeded_bench.result(query("agent.schema", agentId="gone"))["version"] == "1.2.0"


def test_registered_agents_are_listed(seeded_bench: SummitBench) -> None:
    page = seeded_bench.result(query("agent.list"))
    assert [agent["agentId"] for agent in page["agents"]] == ["a-agent", "fact-check", AGENT]
    assert page["nextCursor"] is None
    assert page["agents"][2] == {
        "agentId": AGENT,
        "version": "1.2.0",
        "role": "x-text",
        "description": "Counts words.",
        "capabilities": ["text:count"],
        "tools": ["slugify"],
        "manifestHash": HASHES["manifestHash"],
    }


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"role": "critic"}, ["fact-check"]),
        ({"capability": "web:search"}, ["a-agent"]),
        ({"role": "critic", "capability": "web:search"}, []),
    ],
)
def test_agents_are_found_by_what_they_can_do(
    seeded_bench: SummitBench, params: Json, expected: list[str]
) -> None:
    listed = seeded_bench.result(query("agent.list", **params))["agents"]
    assert [agent["agentId"] for agent in listed] == expected


def test_lists_come_in_pages(seeded_bench: SummitBench) -> None:
    first = seeded_bench.result(query("agent.list", limit=2))
    second = seeded_bench.result(query("agent.list", limit=2, cursor=first["nextCursor"]))
    assert [len(first["agents"]), len(second["agents"]), second["nextCursor"]] == [2, 1, None]
    tools = seeded_bench.result(query("tool.list", limit=3))
    more = seeded_bench.result(query("tool.list", cursor=tools["nextCursor"]))
    named = [(each["agentId"], each["name"]) for each in (*tools["tools"], *more["tools"])]
    assert named == [
        ("a-agent", "b"),
        ("a-agent", "z"),
        ("fact-check", "slugify"),
        (AGENT, "slugify"),
    ]


def test_the_tools_of_an_agent(seeded_bench: SummitBench) -> None:
    tools = seeded_bench.result(query("tool.list", agentId=AGENT))["tools"]
    assert tools == [{"agentId": AGENT, **tool()}]
    (mcp,) = seeded_bench.result(query("tool.list", agentId=AGENT, dialect="mcp"))["tools"]
    mcp_tool = tool()
    assert mcp == {"agentId": AGENT, "inputSchema": mcp_tool.pop("arguments"), **mcp_tool}
    assert seeded_bench.result(query("tool.list", agentId="gone"))["tools"] == []
    assert seeded_bench.result(query("tool.list", agentId="nobody"))["tools"] == []


def test_queries_see_what_was_decided_about_a_position(seeded_bench: SummitBench) -> None:
    answer = seeded_bench.ask("POST", CALLS, json=invoke("seen"))
    (position,) = answer.json()["positions"]
    assert status(seeded_bench, runId="seen", after=position)["runId"] == "seen"
    response = seeded_bench.post(query("agent.status", runId="seen"), query=f"?after={position}")
    assert response.json()["result"]["status"] == "queued"
    seeded_bench.send_and_await(CALLS, cancel("seen"))
