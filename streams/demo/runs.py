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


def run_id(stage: DemoContext, name: str = "run") -> str:
    return f"{stage.session}.{name}"


def invocation(stage: DemoContext, *, text: str = TEXT, **inputs: int) -> Json:
    """Return this run's agent.invoke."""
    context = {"traceId": f"tr-{stage.session}", "budget": {"usd": 0, "seconds": 20}}
    params = {"agentId": AGENT, "runId": run_id(stage), "inputs": {"text": text, **inputs}}
    return _request("agent.invoke", **params, context=context)


def _request(method: str, **params: object) -> Json:
    return build_request(method, params, 1)


def _result(stage: DemoContext, request: Json) -> Json:
    begun = time.monotonic()
    response = stage.door.rpc(request)
    if "result" not in response:
        raise DemoFailed(f"{request['method']} is refused: {response['error']}")
    stage.show("answered", f"{request['method']}, after {time.monotonic() - begun:.1f} s")
    result: Json = response["result"]
    return result


def _error(stage: DemoContext, request: Json, code: int) -> Json:
    error: Json = stage.door.rpc(request).get("error", {})
    stage.expect("the code", error.get("code"), code)
    stage.show("refused", f"{error['code']} {error['message']}")
    data: Json = error["data"]
    return data


def _row(stage: DemoContext) -> Json:
    row: Json = stage.get(f"/v1/summit/runs/{run_id(stage)}")
    return row


def listed(stage: DemoContext) -> None:
    """The agent has registered its manifest, and says what it can do."""
    agents = _result(stage, _request("agent.list", capability="text:count"))["agents"]
    (entry,) = [agent for agent in agents if agent["agentId"] == AGENT]
    stage.show("agent", f"{AGENT} {entry['version']}: {entry['description']}")
    stage.expect("its tools", entry["tools"], ["slugify"])
    stage.show("manifest", f"SHA-256 {entry['manifestHash'][:12]}…")


def invoked(stage: DemoContext) -> None:
    """It is asked to count words, and may spend nothing: the result comes with its provenance."""
    result = _result(stage, invocation(stage))
    stage.expect("the status", result["status"], "completed")
    stage.expect("the output", result["output"], OUTPUT)
    stage.show("output", result["output"])
    stage.show("provenance", f"model {result['provenance']['model']}")
    row = _row(stage)
    stage.expect("a default is filled in", row["inputs"], {"text": TEXT, "top": 3})
    stage.expect("the input hash", row["evidence"]["inputHash"], INPUT_HASH)


def asked_again(stage: DemoContext) -> None:
    """The same call again gets the same result; other inputs under its runId are a conflict."""
    again = _result(stage, {**invocation(stage), "id": "again"})
    stage.expect("the output", again["output"], OUTPUT)
    data = _error(stage, invocation(stage, text="another text"), -32003)
    stage.expect("the rule", data["rule"], "run.conflict")


def misused(stage: DemoContext) -> None:
    """Inputs that break the schema never reach the agent."""
    request = invocation(stage, top=12)
    request["params"]["runId"] = run_id(stage, "misused")
    data = _error(stage, request, -32602)
    wrong = {"path": "/params/inputs/top", "keyword": "maximum"}
    stage.expect("the errors", data["errors"], [wrong])


def used(stage: DemoContext) -> None:
    """A tool of the agent is used in the same way, on behalf of the first run."""
    call = {"id": "t-1", "name": "slugify", "arguments": {"title": "To Be"}}
    request = _request(
        "tool.call",
        agentId=AGENT,
        runId=run_id(stage, "tool"),
        toolCall=call,
        context={"parentRunId": run_id(stage)},
    )
    result = _result(stage, request)
    stage.expect("the result", result, {"id": "t-1", "output": "to-be"})
    below = stage.get("/v1/summit/runs", f"parentRunId={run_id(stage)}")["items"]
    stage.expect("runs below", [run["runId"] for run in below], [run_id(stage, "tool")])


def verify_run(stage: DemoContext) -> None:
    """A critic claims that all is well, though one of its checks fails: the stricter one counts."""
    critic = f"critic-{stage.session}"
    stage.send(SUMMIT_MANIFESTS.name, _critic(stage, critic))
    checks = [{"name": "counts", "passed": True}, {"name": "sources", "passed": False}]
    judgement = {
        "replyId": "judgement",
        "runId": run_id(stage),
        "agentId": critic,
        "kind": "verification",
        "verification": {"status": "passed", "checks": checks},
        "provenance": {"model": "none", "timestamp": "2026-03-02T09:00:01Z"},
    }
    stage.send(SUMMIT_REPLIES.name, judgement)
    row = _row(stage)
    stage.expect("the claim", row["judge"]["verification"]["claimedStatus"], "passed")
    stage.expect("the verification", row["verificationStatus"], "failed")
    stage.show("verified", f"{row['verificationStatus']}, by {critic}; the run stays completed")


def _critic(stage: DemoContext, name: str) -> Json:
    """Return the manifest of the agent, with another name and role."""
    manifest: Json = stage.get(f"/v1/summit/agents/{AGENT}")["manifest"]
    metadata = {**manifest["metadata"], "name": name}
    return {**manifest, "metadata": metadata, "spec": {**manifest["spec"], "role": "critic"}}


def proved(stage: DemoContext) -> None:
    """What `headrace summit-verify` does: every hash is computed anew from the records."""
    for check in checks(_row(stage), records_of(stage.log), lambda *_: None):
        stage.show("hash", f"{check.result}  {check.check}  {check.expected[:12]}…  {check.source}")
        stage.expect(check.check, check.result, OK)


STEPS: tuple[Callable[[DemoContext], None], ...] = (
    listed,
    invoked,
    asked_again,
    misused,
    used,
    verify_run,
    proved,
)


def tell(stage: DemoContext) -> None:
    """Run act five.  Raises DemoFailed at the first failed check."""
    stage.say("\nAct five: an agent runs on a budget, and everything about it can be proved.")
    with stage.example(stage.settings, AGENT):
        act(stage, "five", STEPS)
