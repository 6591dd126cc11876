"""The results of the example agent: a pure function of the task and of its arrival time.

So a task that is delivered twice gets the same bytes twice, which the service deduplicates:
at-least-once delivery needs no memory here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from schemas import Problem, sap
from streams.engine.headers import iso

Json = dict[str, Any]
CONSTITUTION = "headrace://constitution"
"""The citation for a task that names no references."""


@dataclass(frozen=True)
class EchoAgent:
    """An agent that echoes the texts of its tasks.

    capabilities: of tasks that name no agent; a task that names this agent is always taken.
    """

    agent_id: str
    capabilities: tuple[str, ...] = ()

    def takes(self, task: Mapping[str, Any]) -> bool:
        """Return whether a task of the inbox is for this agent."""
        target = task["target"]
        if target.get("agentId") is not None:
            return bool(target["agentId"] == self.agent_id)
        return target["capability"] in self.capabilities

    def results(self, task: Mapping[str, Any], at_ms: int) -> list[Json]:
        """Return RUNNING, then SUCCEEDED; or FAILED where the result would not be valid.

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
        context, texts = task["constitutionalContext"], list(_texts(task["payload"]))
        evidence = {
            "alignment": "VALID",
            "pressureReadings": context.get("pressure") or {},
            "policyChecks": list(_checks(context)),
            "citations": context.get("references") or [CONSTITUTION],
            "cache": {"hit": False},
        }
        return {
            **self._result(task, at_ms, "SUCCEEDED"),
            "output": _output(task, texts),
            "metrics": {"tokensIn": _count_words(texts), "tokensOut": _count_words(texts)},
            "constitutionalEvidence": evidence,
        }

    def _failed(self, task: Mapping[str, Any], at_ms: int, problem: Problem) -> Json:
        message = f"{problem.rule}: {problem.message}"
        error = {"code": "INTERNAL", "message": message, "details": {"path": problem.path}}
        return {**self._result(task, at_ms, "FAILED"), "error": error}


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value, in its order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _count_words(texts: list[str]) -> int:
    return sum(len(text.split()) for text in texts)


def _checks(context: Mapping[str, Any]) -> Iterator[Json]:
    named = [*(context.get("principles") or ()), *(context.get("pressure") or ())]
    for principle in dict.fromkeys(named):
        notes = "It says nothing that the task does not say."
        yield {"principle": principle, "status": "PASS", "notes": notes}


def _output(task: Mapping[str, Any], texts: list[str]) -> Any:
    """Return a text where the contract requires one, else an object."""
    if (task.get("outputContract") or {}).get("format") in ("markdown", "text"):
        return "\n".join(texts)
    return {"capability": task["target"]["capability"], "sections": texts}
