"""The third act: an agent answers under a constitution, and an answer that is vetted is reused.

The task is the example of SAP 2.0; the agent is a process that reads its inbox like any other.
"""

from __future__ import annotations

import copy
import json
import time
import uuid
from collections.abc import Callable
from importlib.resources import files

from streams.demo.context import DemoContext, Json, act
from topology.sap import SAP_INBOX, SAP_SIGNALS, SAP_TASKS

WAIT_S = 30
RULES = (
    *("sap_constitution", "sap_authorization", "sap_rate", "sap_past_deadline"),
    *("sap_single_flight", "sap_max_wait_s", "sap_learning"),
)
"""Settings that decide the verdicts on tasks."""
_PRIVATE_TEXT = "Ring Ana on +372 5550 1234"


def agent_id(ctx: DemoContext) -> str:
    """Return this run's own agent id, so that no task of an earlier run is answered."""
    return f"A-ml-001@{ctx.session}"


def seed(ctx: DemoContext, number: int, **payload: str) -> Json:
    """Return the example task as the number-th of this run.

    payload: more members of the task's payload.
    """
    text = files("schemas").joinpath("examples", "sap", "tasks", "seed.json").read_text("utf-8")
    task: Json = copy.deepcopy(json.loads(text))
    task["taskId"] = _id(ctx, f"task {number}")
    task["correlationId"] = _id(ctx, "trace")
    task["target"]["agentId"] = agent_id(ctx)
    task["payload"] = {**task["payload"], "asked_in": ctx.session, **payload}
    return task


def _id(ctx: DemoContext, name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"headrace:demo:{ctx.session}:{name}"))


def _ask(ctx: DemoContext, task: Json) -> Json:
    """Send a task, wait for its outcome and return it."""
    ctx.show("task", f"{task['taskId'][:8]} for {task['target']['capability']}")
    begun = time.monotonic()
    answer = ctx.door.wait(SAP_TASKS.name, task, WAIT_S)
    ctx.expect("the answer", answer.status, 200)
    outcome: Json = answer.body
    rule = outcome["meta"]["headrace"]["rule"]
    evidence = outcome["constitutionalEvidence"]
    ctx.show(
        "outcome",
        f"{outcome['status']}, {evidence['alignment']}, rule {rule}, by"
        f" {outcome['producer']['agentId']}, after {time.monotonic() - begun:.1f} s",
    )
    return outcome


def _row(ctx: DemoContext, task: Json) -> Json:
    row: Json = ctx.get(f"/v1/sap/tasks/{task['taskId']}")
    return row


def ask_agent(ctx: DemoContext) -> None:
    """The example task of SAP 2.0: the agent computes, and the answer is held to its task."""
    task = seed(ctx, 1)
    outcome = _ask(ctx, task)
    ctx.expect("the status", outcome["status"], "SUCCEEDED")
    ctx.expect("the rule", outcome["meta"]["headrace"]["rule"], "agent_status")
    evidence = outcome["constitutionalEvidence"]
    ctx.expect("a cache hit", evidence["cache"]["hit"], False)
    for check in evidence["policyChecks"]:
        ctx.show("check", f"{check['status']}  {check['principle']}  {check.get('notes', '')}")
    ctx.expect("checks", {check["status"] for check in evidence["policyChecks"]}, {"PASS"})
    row = _row(ctx, task)
    ctx.expect("warnings", row["acks"][0]["warnings"], ["deadline_already_past"])
    states = [each["status"] for each in row["outcomes"]]
    ctx.expect("the outcomes", states, ["RUNNING", "SUCCEEDED"])
    stored = ctx.wait_for("the stored answer", lambda: _stored(ctx, task))
    ctx.show("stored", f"version {stored['version']} under {stored['cacheKey'][:12]}…")


def _stored(ctx: DemoContext, task: Json) -> Json | None:
    cache: Json = _row(ctx, task)["cache"]
    return {**cache, "version": cache["storedVersion"]} if cache["storedVersion"] else None


def asked_again(ctx: DemoContext) -> None:
    """The same question in another task: the vetted answer is given, and no agent is asked."""
    first, again = seed(ctx, 1), seed(ctx, 2)
    outcome = _ask(ctx, again)
    ctx.expect("the rule", outcome["meta"]["headrace"]["rule"], "cache_hit")
    cache = outcome["constitutionalEvidence"]["cache"]
    ctx.show("cache", f"hit, version {cache['version']}, {cache['ageSec']} s old")
    ctx.expect("a cache hit", (cache["hit"], cache["version"]), (True, 1))
    computed = _row(ctx, first)["outcomes"][-1]
    ctx.expect("the output", outcome["output"], computed["output"])
    inbox = [record["value"]["taskId"] for record in ctx.records(SAP_INBOX)]
    task_ids = [id for id in inbox if id in (first["taskId"], again["taskId"])]
    ctx.expect("tasks in the inbox", task_ids, [first["taskId"]])


def refused(ctx: DemoContext) -> None:
    """An answer that breaks a constraint of its task, "No PII": it is withheld."""
    task = seed(ctx, 3, note=_PRIVATE_TEXT)
    outcome = _ask(ctx, task)
    ctx.expect("the status", outcome["status"], "FAILED")
    ctx.expect("the error", outcome["error"]["code"], "NON_CONSTITUTIONAL")
    checks = outcome["constitutionalEvidence"]["policyChecks"]
    failed = [check for check in checks if check["status"] == "FAIL"]
    ctx.expect("checks that fail", [c["principle"] for c in failed], ["constraint:no_pii"])
    ctx.show("refused", f"{failed[0]['principle']}: {failed[0]['notes']}")
    ctx.expect("whether it is said", _PRIVATE_TEXT[-9:] in json.dumps(outcome), False)
    ctx.show("withheld", f"SHA-256 {outcome['meta']['headrace']['outputSha256'][:12]}…")


def rated(ctx: DemoContext) -> None:
    """An operator rates the answer, and what is known of the capability grows by it."""
    task = seed(ctx, 1)
    signal = {
        "protocolVersion": "2.0",
        "signalId": _id(ctx, "signal"),
        "taskId": task["taskId"],
        "correlationId": task["correlationId"],
        "sentAt": task["issuedAt"],
        "operator": {"agentId": "olga", "agentKind": "user"},
        "kind": "rating",
        "rating": 5,
    }
    answer = ctx.door.wait(SAP_SIGNALS.name, signal, WAIT_S)
    ctx.expect("the verdict", (answer.status, answer.body["verdict"]), (200, "accepted"))
    fingerprint = _row(ctx, task)["cache"]["fingerprint"]
    learned = ctx.wait_for("what was learned", lambda: _learned(ctx, fingerprint))
    ctx.show(
        "learned",
        f"{learned['outcomes']} outcomes, {learned['cacheHits']} from the cache, mean rating"
        f" {learned['ratings']['mean']}",
    )
    ctx.expect("cache hits", learned["cacheHits"], 1)


def _learned(ctx: DemoContext, fingerprint: str) -> Json | None:
    page = ctx.get("/v1/sap/learning", f"capability=consult.align&fingerprint={fingerprint}")
    rated = [item for item in page["items"] if item["ratings"]["count"]]
    return rated[0] if rated else None


def proved(ctx: DemoContext) -> None:
    """Nobody has changed the stored answer since: its hashes hold."""
    key = _row(ctx, seed(ctx, 1))["cache"]["cacheKey"]
    versions = ctx.get(f"/v1/sap/cache/{key}/versions")["versions"]
    ctx.expect("versions", [(v["version"], v["verified"]) for v in versions], [(1, True)])
    ctx.show("record", f"version 1 by {versions[0]['producer']}, verified")


STEPS: tuple[Callable[[DemoContext], None], ...] = (ask_agent, asked_again, refused, rated, proved)


def tell(ctx: DemoContext) -> None:
    """Run act three.  Raises DemoFailed at the first failed check."""
    ctx.say("\nAct three: an agent, a constitution, and answers that are reused.")
    if ctx.differs(*RULES):
        ctx.say("    left out: it is written for the default HEADRACE_SAP_… settings")
        return
    with ctx.agent(ctx.settings, agent_id(ctx)):
        act(ctx, "three", STEPS)
