"""The fifth act: an agent of Summit runs, uses its tool, is judged, and its evidence is checked.

The run is the worked example of the protocol; the agent is a process (`streams.agents.summit`).
"""

from __future__ import annotations

import time
from collections.abc import Callable

from streams.api.jsonrpc import build_request
from streams.demo.context import DemoContext, DemoFailed, Json, act
from streams.log.fetching import records_of
from streams.protocols.summit.queries.evidence import OK, checks
from topology.summit import SUMMIT_MANIFESTS, SUMMIT_REPLIES

AGENT = "word-stats"
TEXT = "to be or not to be"
OUTPUT = {"words": 6, "top": ["be", "to", "not"]}
INPUT_HASH = "6be91a01069830a5b6973015f9bdf0ca05a38e243c4eb826dd395277df62ac26"


def run_id(ctx: DemoContext, name: str = "run") -> str:
    return f"{ctx.session}.{name}"


def invocation(ctx: DemoContext, *, text: str = TEXT, **inputs: int) -> Json:
    """Return this run's agent.invoke."""
    context = {"traceId": f"tr-{ctx.session}", "budget": {"usd": 0, "seconds": 20}}
    params = {"agentId": AGENT, "runId": run_id(ctx), "inputs": {"text": text, **inputs}}
    return _request("agent.invoke", **params, context=context)


def _request(method: str, **params: object) -> Json:
    return build_request(method, params, 1)


def _result(ctx: DemoContext, request: Json) -> Json:
    begun = time.monotonic()
    response = ctx.door.rpc(request)
    if "result" not in response:
        raise DemoFailed(f"{request['method']} is refused: {response['error']}")
    ctx.show("answered", f"{request['method']}, after {time.monotonic() - begun:.1f} s")
    result: Json = response["result"]
    return result


def _error(ctx: DemoContext, request: Json, code: int) -> Json:
    error: Json = ctx.door.rpc(request).get("error", {})
    ctx.expect("the code", error.get("code"), code)
    ctx.show("refused", f"{error['code']} {error['message']}")
    data: Json = error["data"]
    return data


def _row(ctx: DemoContext) -> Json:
    row: Json = ctx.get(f"/v1/summit/runs/{run_id(ctx)}")
    return row


def listed(ctx: DemoContext) -> None:
    """The agent has registered its manifest, and says what it can do."""
    agents = _result(ctx, _request("agent.list", capability="text:count"))["agents"]
    (entry,) = [agent for agent in agents if agent["agentId"] == AGENT]
    ctx.show("agent", f"{AGENT} {entry['version']}: {entry['description']}")
    ctx.expect("its tools", entry["tools"], ["slugify"])
    ctx.show("manifest", f"SHA-256 {entry['manifestHash'][:12]}…")


def invoked(ctx: DemoContext) -> None:
    """It is asked to count words, and may spend nothing: the result comes with its provenance."""
    result = _result(ctx, invocation(ctx))
    ctx.expect("the status", result["status"], "completed")
    ctx.expect("the output", result["output"], OUTPUT)
    ctx.show("output", result["output"])
    ctx.show("provenance", f"model {result['provenance']['model']}")
    row = _row(ctx)
    ctx.expect("a default is filled in", row["inputs"], {"text": TEXT, "top": 3})
    ctx.expect("the input hash", row["evidence"]["inputHash"], INPUT_HASH)


def asked_again(ctx: DemoContext) -> None:
    """The same call again gets the same result; other inputs under its runId are a conflict."""
    again = _result(ctx, {**invocation(ctx), "id": "again"})
    ctx.expect("the output", again["output"], OUTPUT)
    data = _error(ctx, invocation(ctx, text="another text"), -32003)
    ctx.expect("the rule", data["rule"], "run.conflict")


def misused(ctx: DemoContext) -> None:
    """Inputs that break the schema never reach the agent."""
    request = invocation(ctx, top=12)
    request["params"]["runId"] = run_id(ctx, "misused")
    data = _error(ctx, request, -32602)
    wrong = {"path": "/params/inputs/top", "keyword": "maximum"}
    ctx.expect("the errors", data["errors"], [wrong])


def used(ctx: DemoContext) -> None:
    """A tool of the agent is used in the same way, on behalf of the first run."""
    call = {"id": "t-1", "name": "slugify", "arguments": {"title": "To Be"}}
    request = _request(
        "tool.call",
        agentId=AGENT,
        runId=run_id(ctx, "tool"),
        toolCall=call,
        context={"parentRunId": run_id(ctx)},
    )
    result = _result(ctx, request)
    ctx.expect("the result", result, {"id": "t-1", "output": "to-be"})
    below = ctx.get("/v1/summit/runs", f"parentRunId={run_id(ctx)}")["items"]
    ctx.expect("runs below", [run["runId"] for run in below], [run_id(ctx, "tool")])


def verify_run(ctx: DemoContext) -> None:
    """A critic claims that all is well, though one of its checks fails: the stricter one counts."""
    critic = f"critic-{ctx.session}"
    ctx.send(SUMMIT_MANIFESTS.name, _critic(ctx, critic))
    checks = [{"name": "counts", "passed": True}, {"name": "sources", "passed": False}]
    judgement = {
        "replyId": "judgement",
        "runId": run_id(ctx),
        "agentId": critic,
        "kind": "verification",
        "verification": {"status": "passed", "checks": checks},
        "provenance": {"model": "none", "timestamp": "2026-03-02T09:00:01Z"},
    }
    ctx.send(SUMMIT_REPLIES.name, judgement)
    row = _row(ctx)
    ctx.expect("the claim", row["judge"]["verification"]["claimedStatus"], "passed")
    ctx.expect("the verification", row["verificationStatus"], "failed")
    ctx.show("verified", f"{row['verificationStatus']}, by {critic}; the run stays completed")


def _critic(ctx: DemoContext, name: str) -> Json:
    """Return the manifest of the agent, with another name and role."""
    manifest: Json = ctx.get(f"/v1/summit/agents/{AGENT}")["manifest"]
    metadata = {**manifest["metadata"], "name": name}
    return {**manifest, "metadata": metadata, "spec": {**manifest["spec"], "role": "critic"}}


def proved(ctx: DemoContext) -> None:
    """What `headrace summit verify` does: every hash is computed anew from the records."""
    for check in checks(_row(ctx), records_of(ctx.log), lambda *_: None):
        ctx.show("hash", f"{check.result}  {check.check}  {check.expected[:12]}…  {check.source}")
        ctx.expect(check.check, check.result, OK)


STEPS: tuple[Callable[[DemoContext], None], ...] = (
    listed,
    invoked,
    asked_again,
    misused,
    used,
    verify_run,
    proved,
)


def tell(ctx: DemoContext) -> None:
    """Run act five.  Raises DemoFailed at the first failed check."""
    ctx.say("\nAct five: an agent runs on a budget, and everything about it can be proved.")
    with ctx.example(ctx.settings, AGENT):
        act(ctx, "five", STEPS)
