"""What the example agent says to a task: a pure function of the task and of when it came.

So a task that is delivered twice is answered twice with the same bytes, which the service takes
for one: at-least-once delivery needs no memory here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from schemas import Problem, sap
from streams.engine.headers import iso

Json = dict[str, Any]
CONSTITUTION = "headrace://constitution"
"""What is cited when a task names no references."""


@dataclass(frozen=True)
class EchoAgent:
    """capabilities: of tasks that name no agent; a task that names this one is always taken."""

    agent_id: str
    capabilities: tuple[str, ...] = ()

    def takes(self, task: Mapping[str, Any]) -> bool:
        """Whether a task of the inbox is for this agent."""
        target = task["target"]
        if target.get("agentId") is not None:
            return bool(target["agentId"] == self.agent_id)
        return target["capability"] in self.capabilities

    def results(self, task: Mapping[str, Any], at_ms: int) -> list[Json]:
        """RUNNING, then SUCCEEDED; FAILED where what the task says is too much for a result.

        at_ms: when the task was put into the inbox.
        """
        done = self._done(task, at_ms)
        if problems := sap.validate_result(done):
            done = self._failed(task, at_ms, problems[0])
        return [self._result(task, at_ms, "RUNNING"), done]

    def _result(self, task: Mapping[str, Any], at_ms: int, status: str) -> Json:
        return {
            "protocolVersion": task["protocolVersion"],
            "taskId": task["taskId"],
            "correlationId": task["correlationId"],
            "reportedAt": iso(at_ms)[:19].decode() + "Z",
            "producer": {"agentId": self.agent_id, "agentKind": "agent"},
            "status": status,
            "constitutionalEvidence": {"alignment": "VALID"},
        }

    def _done(self, task: Mapping[str, Any], at_ms: int) -> Json:
        context, said = task["constitutionalContext"], list(_said(task["payload"]))
        evidence = {
            "alignment": "VALID",
            "pressureReadings": context.get("pressure") or {},
            "policyChecks": list(_checks(context)),
            "citations": context.get("references") or [CONSTITUTION],
            "cache": {"hit": False},
        }
        return {
            **self._result(task, at_ms, "SUCCEEDED"),
            "output": _output(task, said),
            "metrics": {"tokensIn": _words(said), "tokensOut": _words(said)},
            "constitutionalEvidence": evidence,
        }

    def _failed(self, task: Mapping[str, Any], at_ms: int, problem: Problem) -> Json:
        message = f"{problem.rule}: {problem.message}"
        error = {"code": "INTERNAL", "message": message, "details": {"path": problem.path}}
        return {**self._result(task, at_ms, "FAILED"), "error": error}


def _said(value: Any) -> Iterator[str]:
    """The texts of a JSON value, in its order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _said(member)
    elif isinstance(value, list):
        for item in value:
            yield from _said(item)


def _words(texts: list[str]) -> int:
    return sum(len(text.split()) for text in texts)


def _checks(context: Mapping[str, Any]) -> Iterator[Json]:
    named = [*(context.get("principles") or ()), *(context.get("pressure") or ())]
    for principle in dict.fromkeys(named):
        notes = "It says nothing that the task does not say."
        yield {"principle": principle, "status": "PASS", "notes": notes}


def _output(task: Mapping[str, Any], said: list[str]) -> Any:
    """A text where the contract asks for one, else an object."""
    if (task.get("outputContract") or {}).get("format") in ("markdown", "text"):
        return "\n".join(said)
    return {"capability": task["target"]["capability"], "sections": said}
