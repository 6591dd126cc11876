"""The Summit part of the case: a run in which an auditor counts."""

from __future__ import annotations

from streams.api.jsonrpc import build_request
from streams.demo import case
from streams.demo.case import Part
from streams.demo.context import DemoContext, Json
from topology.summit import SUMMIT_CALLS, SUMMIT_MANIFESTS, SUMMIT_REPLIES


def counted(ctx: DemoContext) -> None:
    """Summit: an auditor counts the customers on both sides, and may spend nothing."""
    agent, run_id = case.name(ctx, "auditor"), case.name(ctx, "audit")
    ctx.send(SUMMIT_MANIFESTS.name, _manifest(agent))
    ctx.send(SUMMIT_CALLS.name, _call(ctx, agent, run_id))
    ctx.send(SUMMIT_REPLIES.name, _reply(agent, run_id))
    row = ctx.get(f"/v1/summit/runs/{run_id}")
    ctx.show("run", f"{run_id}: {row['status']}, {row['output']}")
    ctx.expect("the status", row["status"], "completed")


def _manifest(agent: str) -> Json:
    """Return the manifest of the auditor."""
    shape = {"type": "object"}
    return {
        "apiVersion": "summit.io/v1",
        "kind": "Agent",
        "metadata": {"name": agent, "version": "1.0.0", "description": "Counts rows."},
        "spec": {
            "role": "x-data",
            "capabilities": ["rows:count"],
            "interface": {"inputSchema": shape, "outputSchema": shape},
            "tools": [],
        },
    }


def _call(ctx: DemoContext, agent: str, run_id: str) -> Json:
    """Return a call of the auditor."""
    context = {"traceId": case.trace(ctx).hex, "budget": {"usd": 0, "seconds": 20}}
    params = {"agentId": agent, "runId": run_id, "inputs": {"table": "customers"}}
    return build_request("agent.invoke", {**params, "context": context}, 1)


def _reply(agent: str, run_id: str) -> Json:
    """Return the auditor's reply."""
    return {
        "replyId": "final",
        "runId": run_id,
        "agentId": agent,
        "kind": "result",
        "output": {"both": 77},
        "metrics": {"tokens": 0, "latency_ms": 3, "cost_usd": 0},
        "provenance": {"model": "none", "timestamp": case.AT},
    }


PART = Part("summit", counted, {"summit:run": 1, "summit:reply": 1})
