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


def agent_id(stage: DemoContext) -> str:
    """Return this run's own agent id, so that no task of an earlier run is answered."""
    return f"A-ml-001@{stage.session}"


def seed(stage: DemoContext, number: int, **payload: str) -> Json:
    """Return the example task as the number-th of this run.

    payload: more members of the task's payload.
    """
    text = files("schemas").joinpath("examples", "sap", "tasks", "seed.json").read_text("utf-8")
    task: Json = copy.deepcopy(json.loads(text))
    task["taskId"] = _id(stage, f"task {number}")
    task["correlationId"] = _id(stage, "trace")
    task["target"]["agentId"] = agent_id(stage)
    task["payload"] = {**task["payload"], "asked_in": stage.session, **payload}
    return task


def _id(stage: DemoContext, name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"headrace:demo:{stage.session}:{name}"))


def _ask(stage: DemoContext, task: Json) -> Json:
    """Send a task, wait for its outcome and return it."""
    stage.show("task", f"{task['taskId'][:8]} for {task['target']['capability']}")
    begun = time.monotonic()
    answer = stage.door.wait(SAP_TASKS.name, task, WAIT_S)
    stage.expect("the answer", answer.status, 200)
    outcome: Json = answer.body
    rule = outcome["meta"]["headrace"]["rule"]
    evidence = outcome["constitutionalEvidence"]
    stage.show(
        "outcome",
        f"{outcome['status']}, {evidence['alignment']}, rule {rule}, by"
        f" {outcome['producer']['agentId']}, after {time.monotonic() - begun:.1f} s",
    )
    return outcome


def _row(stage: DemoContext, task: Json) -> Json:
    row: Json = stage.get(f"/v1/sap/tasks/{task['taskId']}")
    return row


def ask_agent(stage: DemoContext) -> None:
    """The example task of SAP 2.0: the agent computes, and the answer is held to its task."""
    task = seed(stage, 1)
    outcome = _ask(stage, task)
    stage.expect("the status", outcome["status"], "SUCCEEDED")
    stage.expect("the rule", outcome["meta"]["headrace"]["rule"], "agent_status")
    evidence = outcome["constitutionalEvidence"]
    stage.expect("a cache hit", evidence["cache"]["hit"], False)
    for check in evidence["policyChecks"]:
        stage.show("check", f"{check['status']}  {check['principle']}  {check.get('notes', '')}")
    stage.expect("checks", {check["status"] for check in evidence["policyChecks"]}, {"PASS"})
    row = _row(stage, task)
    stage.expect("warnings", row["acks"][0]["warnings"], ["deadline_already_past"])
    states = [each["status"] for each in row["outcomes"]]
    stage.expect("the outcomes", states, ["RUNNING", "SUCCEEDED"])
    stored = stage.wait_for("the stored answer", lambda: _stored(stage, task))
    stage.show("stored", f"version {stored['version']} under {stored['cacheKey'][:12]}…")


def _stored(stage: DemoContext, task: Json) -> Json | None:
    cache: Json = _row(stage, task)["cache"]
    return {**cache, "version": cache["storedVersion"]} if cache["storedVersion"] else None


def asked_again(stage: DemoContext) -> None:
    """The same question in another task: the vetted answer is given, and no agent is asked."""
    first, again = seed(stage, 1), seed(stage, 2)
    outcome = _ask(stage, again)
    stage.expect("the rule", outcome["meta"]["headrace"]["rule"], "cache_hit")
    cache = outcome["constitutionalEvidence"]["cache"]
    stage.show("cache", f"hit, version {cache['version']}, {cache['ageSec']} s old")
    stage.expect("a cache hit", (cache["hit"], cache["version"]), (True, 1))
    computed = _row(stage, first)["outcomes"][-1]
    stage.expect("the output", outcome["output"], computed["output"])
    inbox = [record["value"]["taskId"] for record in stage.records(SAP_INBOX)]
    task_ids = [id for id in inbox if id in (first["taskId"], again["taskId"])]
    stage.expect("tasks in the inbox", task_ids, [first["taskId"]])


def refused(stage: DemoContext) -> None:
    """An answer that breaks a constraint of its task, "No PII": it is withheld."""
    task = seed(stage, 3, note=_PRIVATE_TEXT)
    outcome = _ask(stage, task)
    stage.expect("the status", outcome["status"], "FAILED")
    stage.expect("the error", outcome["error"]["code"], "NON_CONSTITUTIONAL")
    checks = outcome["constitutionalEvidence"]["policyChecks"]
    failed = [check for check in checks if check["status"] == "FAIL"]
    stage.expect("checks that fail", [c["principle"] for c in failed], ["constraint:no_pii"])
    stage.show("refused", f"{failed[0]['principle']}: {failed[0]['notes']}")
    stage.expect("whether it is said", _PRIVATE_TEXT[-9:] in json.dumps(outcome), False)
    stage.show("withheld", f"SHA-256 {outcome['meta']['headrace']['outputSha256'][:12]}…")


def rated(stage: DemoContext) -> None:
    """An operator rates the answer, and what is known of the capability grows by it."""
    task = seed(stage, 1)
    signal = {
        "protocolVersion": "2.0",
        "signalId": _id(stage, "signal"),
        "taskId": task["taskId"],
        "correlationId": task["correlationId"],
        "sentAt": task["issuedAt"],
        "operator": {"agentId": "olga", "agentKind": "user"},
        "kind": "rating",
        "rating": 5,
    }
    answer = stage.door.wait(SAP_SIGNALS.name, signal, WAIT_S)
    stage.expect("the verdict", (answer.status, answer.body["verdict"]), (200, "accepted"))
    fingerprint = _row(stage, task)["cache"]["fingerprint"]
    learned = stage.wait_for("what was learned", lambda: _learned(stage, fingerprint))
    stage.show(
        "learned",
        f"{learned['outcomes']} outcomes, {learned['cacheHits']} from the cache, mean rating"
        f" {learned['ratings']['mean']}",
    )
    stage.expect("cache hits", learned["cacheHits"], 1)


def _learned(stage: DemoContext, fingerprint: str) -> Json | None:
    page = stage.get("/v1/sap/learning", f"capability=consult.align&fingerprint={fingerprint}")
    rated = [item for item in page["items"] if item["ratings"]["count"]]
    return rated[0] if rated else None


def proved(stage: DemoContext) -> None:
    """Nobody has changed the stored answer since: its hashes hold."""
    key = _row(stage, seed(stage, 1))["cache"]["cacheKey"]
    versions = stage.get(f"/v1/sap/cache/{key}/versions")["versions"]
    stage.expect("versions", [(v["version"], v["verified"]) for v in versions], [(1, True)])
    stage.show("record", f"version 1 by {versions[0]['producer']}, verified")


STEPS: tuple[Callable[[DemoContext], None], ...] = (ask_agent, asked_again, refused, rated, proved)


def tell(stage: DemoContext) -> None:
    """Run act three.  Raises DemoFailed at the first failed check."""
    stage.say("\nAct three: an agent, a constitution, and answers that are reused.")
    if stage.differs(*RULES):
        stage.say("    left out: it is written for the default HEADRACE_SAP_… settings")
        return
    with stage.agent(stage.settings, agent_id(stage)):
        act(stage, "three", STEPS)
