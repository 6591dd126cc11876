"""Calls of Summit with real agents behind, over Kafka and over HTTP; the documents of the seed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from mcp.types import Tool

from schemas.summit import mcp_tool
from streams import CallRejected, Client, ManifestRejected, RunPending
from streams.agents.summit.__main__ import HERE
from streams.agents.summit.words import counted
from streams.client import TailStream
from tests.integration.summit_agent import SEED_METRICS, SEED_OUTPUT
from tests.integration.summit_desk import TEXT, WAIT_S, SummitHarness, new_id, run_ids
from tests.integration.system import Live

pytestmark = pytest.mark.slow

Json = dict[str, Any]
WAYS = ("kafka", "http")


@pytest.mark.parametrize("way", WAYS)
def test_the_worked_example_with_a_real_agent(harness: SummitHarness, way: str) -> None:
    """Summit guide, 2.7, and its tool."""
    harness.example("word-stats")
    budget = {"usd": 0, "seconds": 20}

    async def story(hr: Client) -> None:
        run_id = new_id()
        context = {"traceId": "tr-9c", "budget": budget}
        response = await hr.invoke("word-stats", {"text": TEXT}, run_id, context, wait=WAIT_S)
        assert (response["status"], response["output"]) == ("completed", counted(TEXT, 3))
        assert list(response) == ["status", "output", "metrics", "provenance"]
        assert response["provenance"]["model"] == "none"
        title = {"title": "To be, or not"}
        made = await hr.call_tool("word-stats", "slugify", title, call_id="c-1", wait=WAIT_S)
        assert made == {"id": "c-1", "output": "to-be-or-not"}
        again = await hr.invoke("word-stats", {"text": TEXT}, run_id, context, wait=WAIT_S)
        assert again == response, "the same call returns the result of the first"
        with pytest.raises(CallRejected) as caught:
            await hr.invoke("word-stats", {"text": "other"}, run_id, context)
        assert (caught.value.rule, caught.value.rpc_code) == ("run.conflict", -32003)
        status = await hr.status(run_id)
        assert (status["status"], status["result"]) == ("completed", response)

    harness.run(story, way)


SEED_REQUEST = """
{
  "jsonrpc": "2.0",
  "method": "agent.invoke",
  "params": {
    "agentId": "deep-researcher",
    "inputs": {
      "query": "status of quantum computing in 2026"
    },
    "runId": "run-12345",
    "context": {
      "traceId": "trace-abc",
      "budget": { "usd": 0.50 }
    }
  },
  "id": 1
}
"""


SEED_RESPONSE = """
{
  "jsonrpc": "2.0",
  "result": {
    "status": "completed",
    "output": {
      "summary": "...",
      "sources": ["..."],
      "confidence": 0.85
    },
    "metrics": {
      "tokens": 4500,
      "latency_ms": 12000,
      "cost_usd": 0.04
    },
    "provenance": {
      "model": "gpt-4o",
      "timestamp": "2026-01-05T12:00:00Z"
    }
  },
  "id": 1
}
"""


def test_the_documents_of_the_seed_as_printed(system: Live) -> None:
    """Its manifest, its request, and what its response is made of: the caller reads that."""
    response = json.loads(SEED_RESPONSE)
    expected = {name: response["result"][name] for name in ("output", "metrics", "provenance")}
    ids = {"replyId": "final", "runId": "run-12345", "agentId": "deep-researcher"}
    reply = {**ids, "kind": "result", **expected}
    manifest = (HERE / "deep-researcher.yaml").read_bytes()

    async def delivered(hr: Client, inbox: TailStream) -> Json:
        async for record in inbox:
            if record.value["params"]["runId"] == "run-12345":
                await hr.send("summit.replies", reply)
                delivery: Json = record.value
                return delivery
        raise AssertionError("a tail does not end")

    async def story() -> None:
        async with (
            Client(settings=system.settings) as hr,
            httpx.AsyncClient(base_url=system.url, timeout=WAIT_S) as http,
            hr.tail("summit.inbox") as inbox,
        ):
            yaml = {"content-type": "application/yaml", "prefer": "wait=30"}
            sent = await http.post("/v1/summit/manifests", content=manifest, headers=yaml)
            assert [one["rule"] for one in sent.json()["verdicts"]] == ["manifest.accepted"]
            agent = asyncio.create_task(delivered(hr, inbox))
            json_type = {"content-type": "application/json"}
            answer = await http.post("/summit", content=SEED_REQUEST, headers=json_type)
            assert answer.json() == response
            inputs = (await agent)["params"]["inputs"]
            assert inputs == {"query": "status of quantum computing in 2026", "depth": 2}
            other = {**reply, "runId": "run-12346", "output": {"summary": 5}}
            request = json.loads(SEED_REQUEST)
            request["params"]["runId"] = "run-12346"
            waiting = asyncio.create_task(http.post("/summit", json=request))
            async for record in inbox:
                if record.value["params"]["runId"] == "run-12346":
                    await hr.send("summit.replies", other)
                    break
            result = (await waiting).json()["result"]
            assert (result["status"], result["error"]["code"]) == ("failed", -32010)
            assert "output" not in result, "what breaks the schema is not passed on"

    asyncio.run(asyncio.wait_for(story(), 2 * WAIT_S))


def test_the_documents_of_the_seed_with_a_real_agent(harness: SummitHarness) -> None:
    """Its request as printed, but for names, gives its response but for the time."""
    harness.agent("seed", harness.manifest("deep-researcher"))
    params = {
        "agentId": harness.name,
        "inputs": {"query": "status of quantum computing in 2026"},
        "runId": new_id(),
        "context": {"traceId": "trace-abc", "budget": {"usd": 0.50}},
    }
    request = {"jsonrpc": "2.0", "method": "agent.invoke", "params": params, "id": 1}
    with httpx.Client(base_url=harness.system.url, timeout=WAIT_S) as http:
        answer = http.post("/summit", json=request).json()
    timestamp = answer["result"]["provenance"].pop("timestamp")
    assert timestamp.endswith("Z")
    assert answer == {
        "jsonrpc": "2.0",
        "result": {
            "status": "completed",
            "output": SEED_OUTPUT,
            "metrics": SEED_METRICS,
            "provenance": {"model": "gpt-4o"},
        },
        "id": 1,
    }


def test_tools_are_listed_as_mcp_has_them(harness: SummitHarness) -> None:
    harness.run(lambda hr: hr.register(harness.manifest()))
    params = {"agentId": harness.name, "dialect": "mcp"}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tool.list", "params": params}
    with harness.system.client as http:
        (tool_json,) = http.post("/summit", json=request).json()["result"]["tools"]
    tool = Tool.model_validate(tool_json)
    made = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert {"agentId": harness.name, **made} == tool_json
    assert made == mcp_tool(harness.manifest()["spec"]["tools"][0])


@pytest.mark.parametrize("way", WAYS)
def test_the_client_manages_agents_and_runs(harness: SummitHarness, way: str) -> None:
    """Registering, withdrawing, waiting in vain, judging; the same over both ways."""

    async def story(hr: Client) -> None:
        manifest = harness.manifest()
        event = await hr.register(manifest)
        assert (event["rule"], event["agentId"]) == ("manifest.accepted", harness.name)
        assert (await hr.register(manifest))["rule"] == "manifest.duplicate"
        with pytest.raises(ManifestRejected) as refused:
            await hr.register(harness.manifest(role="x-other"))
        assert refused.value.rule == "manifest.version_conflict"
        with pytest.raises(ManifestRejected) as refused:
            await hr.register(harness.manifest(role="boss"))
        assert refused.value.rule == "manifest.role"
        run_id = new_id()
        with pytest.raises(RunPending) as pending:
            await hr.invoke(harness.name, {"text": TEXT}, run_id, wait=1)
        assert (pending.value.run_id, pending.value.status) == (run_id, "queued")
        for error, inputs in (("inputs.schema", {"text": 5}), ("inputs.schema", {})):
            with pytest.raises(CallRejected) as bad:
                await hr.invoke(harness.name, inputs)
            assert (bad.value.rule, bad.value.rpc_code) == (error, -32602)
            assert bad.value.data["errors"]
        assert (await hr.status(agent_id=harness.name))["runs"]["queued"] == 1
        with pytest.raises(CallRejected) as refusal:
            await hr.judge(run_id, harness.name, {"status": "passed"})
        assert refusal.value.rule == "judge.not_completed"
        with pytest.raises(CallRejected) as unknown:
            await hr.cancel("run-nowhere")
        assert (unknown.value.rule, unknown.value.rpc_code) == ("run.unknown", -32002)
        assert (await hr.cancel(run_id))["status"] == "cancelled"
        assert (await hr.invoke(harness.name, {"text": TEXT}, run_id, wait=WAIT_S))["status"] == (
            "cancelled"
        )
        assert (await hr.withdraw(harness.name))["rule"] == "manifest.withdrawn"
        with pytest.raises(ManifestRejected) as refused:
            await hr.withdraw(harness.name)
        assert refused.value.rule == "manifest.not_registered"
        with pytest.raises(CallRejected) as gone:
            await hr.invoke(harness.name, {"text": TEXT})
        assert (gone.value.rule, gone.value.rpc_code) == ("agent.withdrawn", -32004)
        with pytest.raises(CallRejected) as nowhere:
            await hr.status("run-nowhere")
        assert nowhere.value.rule == "run.unknown"

    harness.run(story, way)


@pytest.mark.parametrize("way", WAYS)
def test_a_caller_is_named_and_alone_may_cancel(harness: SummitHarness, way: str) -> None:
    agent = harness.agent("hold")

    async def story(hr: Client) -> None:
        running, done = run_ids(2)
        response = await hr.invoke(harness.name, {"text": ""}, done, caller="desk-7", wait=WAIT_S)
        assert response["status"] == "completed"
        assert harness.get(f"/v1/summit/runs/{done}")["caller"] == "desk-7"
        with pytest.raises(RunPending):
            await hr.invoke(harness.name, {"text": TEXT}, running, caller="desk-7", wait=0.5)
        await asyncio.to_thread(agent.wait_text, f"begun {running}\n")
        with pytest.raises(CallRejected) as denied:
            await hr.cancel(running, caller="desk-8")
        assert (denied.value.rule, denied.value.rpc_code) == ("cancel.not_caller", -32007)
        assert (await hr.cancel(running, caller="desk-7"))["status"] == "cancelled"

    harness.run(story, way)


@pytest.mark.parametrize("way", WAYS)
def test_a_critic_judges_a_run(harness: SummitHarness, way: str) -> None:
    """One that is registered as such, and is not the run's agent."""
    harness.agent("slow")
    run_id, critic = new_id(), f"{harness.name}-critic"
    assert harness.invoke(run_id)["status"] == "completed"
    checks = [{"name": "tone", "passed": True}, {"name": "sources", "passed": False}]

    async def story(hr: Client) -> None:
        manifest = harness.manifest("fact-checker")
        manifest["metadata"]["name"] = critic
        await hr.register(manifest)
        verification = {"status": "passed", "score": 0.9, "checks": checks}
        event = await hr.judge(run_id, critic, verification, model="gpt-4o")
        assert (event["verdict"], event["rule"]) == ("accepted", "reply.verification")
        row = await hr.status(run_id)
        assert row["verificationStatus"] == "failed"
        assert row["judge"]["verification"]["claimedStatus"] == "passed"

    harness.run(story, way)
