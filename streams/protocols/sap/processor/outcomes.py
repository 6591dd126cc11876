"""Outcomes: what the service publishes of a task, put together as plain JSON.

One that comes of an agent's Result is that Result with what was decided about it; one of the
service's own names the service as its producer.  A refused output is withheld: the command log
has it, and its hash is said.

Source: SAP spec, 5.1 and 3.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from schemas import canonical_json, sha256_hex
from schemas.nesting import too_deep

Json = dict[str, Any]

SERVICE: Mapping[str, str] = {"agentId": "headrace", "agentKind": "system"}
VALID, REFUSED = "VALID", "NON_CONSTITUTIONAL"
_WITHHELD = ("output", "artifacts")


class Finding(NamedTuple):
    """What is found of an answer.

    service: the service's own alignment.  alignment, checks, violations: with the agent's.
    readings: the pressure that it was decided at.  omitted: by the member's name, how many checks
    and violations are left out, where a result may not have so many.
    """

    service: str
    alignment: str
    checks: Sequence[Json] = ()
    violations: Sequence[Json] = ()
    readings: Json | None = None
    steps: Sequence[Any] = ()
    omitted: Mapping[str, int] = MappingProxyType({})


class About(NamedTuple):
    """What every outcome of a task says of the task and of the decision.

    task: its envelope.  cause: position.  now: in the protocol's form.  cache: the evidence.
    trace: the steps of the evaluation are shown.
    """

    task: Json
    seq: int
    cause: str
    now: str
    cache: Json
    heuristics_version: int
    constitution: str
    escalation: str
    trace: bool


class Answer(NamedTuple):
    """What an outcome is to be.  error, output, citations, record: of the service's own.

    brief: without the steps, though the task asks for a trace.
    """

    status: str
    rule: str
    finding: Finding
    error: Json | None = None
    output: Any = None
    citations: Sequence[str] | None = None
    record: Json | None = None
    brief: bool = False


def own(answer: Answer, about: About) -> Json:
    """An outcome of the service alone."""
    task, finding = about.task, answer.finding
    evidence = _evidence({}, finding, about)
    if answer.citations is not None:
        evidence["citations"] = list(answer.citations)
    outcome: Json = {
        "protocolVersion": task["protocolVersion"],
        "taskId": task["taskId"],
        "correlationId": task["correlationId"],
        "reportedAt": about.now,
        "producer": dict(SERVICE),
        "status": answer.status,
        "constitutionalEvidence": evidence,
    }
    if answer.output is not None:
        outcome["output"] = answer.output
    if answer.error is not None:
        outcome["error"] = answer.error
    said = _headrace(answer, about)
    if answer.record is not None:
        said["cacheRecord"] = answer.record
    outcome["meta"] = {"headrace": said}
    return _with_next_action(outcome, answer, about)


def of_result(result: Json, result_sha256: str, answer: Answer, about: About) -> Json:
    """An agent's Result as the service publishes it.  result: its envelope."""
    outcome, finding = dict(result), answer.finding
    agent = result["constitutionalEvidence"]
    said = _headrace(answer, about) | {
        "agentStatus": result["status"],
        "agentAlignment": agent["alignment"],
        "resultSha256": result_sha256,
    }
    if finding.service == REFUSED:
        if result.get("output") is not None:
            said["outputSha256"] = sha256_hex(canonical_json(result["output"]))
        for name in _WITHHELD:
            outcome.pop(name, None)
    if agent.get("cache") is not None:
        said["reportedCache"] = _reported(agent["cache"])
    outcome["status"] = answer.status
    outcome["constitutionalEvidence"] = _evidence(agent, finding, about)
    outcome["meta"] = {**(result.get("meta") or {}), "headrace": said}
    if answer.error is not None:
        outcome["error"] = answer.error
    return _with_next_action(outcome, answer, about)


def refusal(finding: Finding, what: str = "The answer") -> Json:
    """The error of what the constitution refuses."""
    failed = [check["principle"] for check in finding.checks if check["status"] == "FAIL"]
    named = failed or list(dict.fromkeys(found["principle"] for found in finding.violations))
    message = f"{what} breaks the constitution"
    return {
        "code": REFUSED,
        "message": f"{message}: {', '.join(named)}."[:_LONGEST] if named else f"{message}.",
        "details": {"checks": failed},
    }


def timeout(deadline: str, state: str) -> Json:
    return {
        "code": "TIMEOUT",
        "message": f"The deadline {deadline} passed while the task was {state}.",
        "details": {"deadline": deadline, "state": state},
    }


def cache_miss(verdict: str, reason: str, cache_key: str) -> Json:
    return {
        "code": "CACHE_MISS",
        "message": f"The cache has no answer that may be used: {verdict}.",
        "details": {"verdict": verdict, "reason": reason, "cacheKey": cache_key},
    }


_LONGEST = 4000
_REPORTED_LEVEL = 5
"""The nesting at which members of `meta.headrace.reportedCache` stand; the outcome is level 1."""


def _headrace(answer: Answer, about: About) -> Json:
    said: Json = {
        "seq": about.seq,
        "rule": answer.rule,
        "cause": about.cause,
        "agentStatus": None,
        "agentAlignment": None,
        "serviceAlignment": answer.finding.service,
        "resultSha256": None,
        "heuristicsVersion": about.heuristics_version,
        "constitution": about.constitution,
    }
    omitted = dict(answer.finding.omitted)
    if about.trace and answer.brief:
        omitted["steps"] = len(answer.finding.steps)
    elif about.trace:
        said["steps"] = list(answer.finding.steps)
    if omitted:
        said["omitted"] = omitted
    return said


def _reported(cache: Json) -> Json:
    """An agent's own `cache`; without members that nest too deep for where it stands now."""
    return {n: value for n, value in cache.items() if not too_deep(value, _REPORTED_LEVEL)}


def _evidence(agent: Mapping[str, Any], finding: Finding, about: About) -> Json:
    evidence = {
        **agent,
        "alignment": finding.alignment,
        "policyChecks": list(finding.checks),
        "violations": list(finding.violations),
        "cache": about.cache,
    }
    if finding.readings is not None:
        evidence["pressureReadings"] = finding.readings
    return evidence


def _with_next_action(outcome: Json, answer: Answer, about: About) -> Json:
    """An escalation says where to go next, if nobody else has said so."""
    if answer.status != "ESCALATED" or outcome.get("nextActions"):
        return outcome
    task_id = about.task["taskId"]
    open_checks = [
        check["principle"]
        for check in answer.finding.checks
        if check["status"] in ("FAIL", "UNCHECKED")
    ]
    action = {
        "target": {"capability": about.escalation},
        "parentTaskId": task_id,
        "correlationId": about.task["correlationId"],
        "payload": {"taskId": task_id, "rule": answer.rule, "checks": open_checks},
    }
    return {**outcome, "nextActions": [action]}
