"""Tasks of SAP as many issuers send them, and what operators say of them."""

from __future__ import annotations

import copy
import random
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from schemas import sap
from streams.engine.records import Output
from tests.e2e.outputs import Json, Outputs
from topology.sap import SAP_SIGNALS, SAP_TASKS

LEARNED = "report.weekly"
"""Its payload has a member that says nothing, which the service is to find out."""
CAPABILITIES = (LEARNED, "report.summarise", "consult.align", "risk.review", "letter.draft")
DOCUMENTS = 8
WELL_KNOWN = 30
"""Tasks that operators like to speak of."""
_CONSTRAINTS = ("No PII", "Cite at least one source", "Keep it courteous", "At most 900 tokens")
_POLICIES: Sequence[tuple[int, Json | None]] = (
    (8, {"mode": "prefer"}),
    (3, {"mode": "prefer", "maxAgeSec": 0}),
    (2, {"mode": "prefer", "maxAgeSec": 2, "mustAlign": False}),
    (1, {"maxAgeSec": 3600}),
    (2, {"mode": "only"}),
    (1, {"mode": "only", "maxAgeSec": 1, "mustAlign": False}),
    (2, {"mode": "bypass"}),
    (2, None),
)
_DEADLINES_S = (None, None, None, None, None, -3600, 2, 4, 9)


def plain_task(number: int, document: int, now_ms: int, **policy: Any) -> Json:
    """A task that every agent does at once, and as everyone else would.  policy: of the cache."""
    return {
        "protocolVersion": "2.0",
        "taskId": str(uuid.UUID(int=number, version=4)),
        "correlationId": str(uuid.UUID(int=number, version=4)),
        "issuedAt": sap.protocol_time(now_ms),
        "issuer": {"agentId": "issuer", "agentKind": "system"},
        "target": {"capability": LEARNED},
        "constitutionalContext": {"pressureLevel": "consulted", "cachePolicy": policy},
        "payload": {"document": f"doc-{document}"},
    }


class Traffic:
    """made: for whom records are made.  Every choice is the dice's."""

    def __init__(self, made: Outputs, dice: random.Random) -> None:
        self._made, self._dice = made, dice
        self.tasks: list[Json] = []

    def burst(self, count: int, now_ms: int) -> list[Output]:
        """Records of so many new tasks, of some that were sent before, and of some that are bad."""
        records: list[Output] = []
        for _ in range(count):
            if not self.tasks or self._dice.random() < 0.9:
                self.tasks.append(self._task(now_ms))
                records.append(self._record(SAP_TASKS.name, self.tasks[-1]))
            else:
                records.append(self._again())
            if self._dice.random() < 0.03:
                records += self._said(self.tasks[-1], "cancel")
        return records

    def comments(self, count: int) -> list[Output]:
        """What operators say of tasks sent so far, whatever has become of them."""
        known = self.tasks[:WELL_KNOWN]
        picked = [self._dice.choice(self._dice.choice((known, self.tasks))) for _ in range(count)]
        kinds = ("rating", "rating", "rating", "note", "approval")
        return [one for task in picked for one in self._said(task, self._dice.choice(kinds))]

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._dice.getrandbits(128), version=4))

    def _task(self, now_ms: int) -> Json:
        dice, capability = self._dice, self._dice.choice(CAPABILITIES)
        policies = [policy for share, policy in _POLICIES for _ in range(share)]
        context = self._context(copy.deepcopy(dice.choice(policies)))
        task: Json = {
            "protocolVersion": "2.0",
            "taskId": self._uuid(),
            "correlationId": self._uuid(),
            "issuedAt": sap.protocol_time(now_ms - 3_700_000),
            "issuer": {"agentId": f"issuer-{dice.randrange(9)}", "agentKind": "system"},
            "target": {"capability": capability},
            "constitutionalContext": context,
            "payload": {"document": f"doc-{dice.randrange(DOCUMENTS)}", "requestId": self._uuid()},
        }
        if capability == LEARNED:
            task["payload"]["salt"] = dice.randrange(10**9)
            context["pressureLevel"], context["constraints"] = "instant", []
            context["cachePolicy"] = {"mode": "prefer"}
        if dice.random() < 0.2:
            task["target"]["agentId"] = f"agent-{dice.randrange(4)}"
        if dice.random() < 0.1 and self.tasks:
            task["parentTaskId"] = dice.choice(self.tasks)["taskId"]
            task["correlationId"] = self.tasks[-1]["correlationId"]
        return task | self._more(capability, now_ms)

    def _context(self, policy: Json | None) -> Json:
        dice = self._dice
        context: Json = {
            "pressureLevel": dice.choice(("instant", "consulted", "consulted", "deliberated")),
            "principles": dice.choice(
                (["strategic_pause"], ["strategic_pause", "blueprint_thinking"])
            ),
            "pressure": {"strategic_pause": dice.choice((8.5, 12, 27, 34))},
            "riskTolerance": dice.choice(("low", "medium", "high")),
            "constraints": dice.sample(_CONSTRAINTS, dice.choice((0, 1, 1, 2))),
        }
        if policy is not None:
            context["cachePolicy"] = policy
        return context

    def _more(self, capability: str, now_ms: int) -> Json:
        """Of the members that a task may do without."""
        dice, more = self._dice, Json()
        deadline_s = dice.choice(_DEADLINES_S)
        telemetry: Json = {"priority": "normal", "trace": dice.random() < 0.05}
        if deadline_s is not None and capability != LEARNED:
            telemetry["deadline"] = sap.protocol_time(now_ms + 1000 * deadline_s)
        if dice.random() < 0.2 and capability != LEARNED:
            telemetry["budget"] = {"tokens": 900, "seconds": 60.5}
        if dice.random() < 0.7:
            more["telemetry"] = telemetry
        if capability == "report.summarise":
            more["outputContract"] = {"format": "json", "schema": {"type": "object"}}
        return more

    def _again(self) -> Output:
        """Something of an issuer that is not sure, or not right."""
        dice, task = self._dice, copy.deepcopy(self._dice.choice(self.tasks))
        kind = dice.randrange(12)
        if kind == 0:
            task["payload"]["document"] = "another"
        elif kind == 1:
            task["taskId"] = task["taskId"].upper()
        elif kind == 2:
            task["taskId"], task["constitutionalContext"]["pressureLevel"] = self._uuid(), "none"
        elif kind == 3:
            task["taskId"] = self._uuid()
            return self._record(SAP_TASKS.name, task)._replace(key=b"someone-else")
        elif kind == 4:
            value = dice.choice((None, b"", b"no Avro", b"\0\0\0\0\1"))
            return Output(self._made.name(SAP_TASKS), task["taskId"].encode(), value)
        return self._record(SAP_TASKS.name, task)

    def _record(self, topic: str, value: Json) -> Output:
        declared = SAP_TASKS if topic == SAP_TASKS.name else SAP_SIGNALS
        return self._made.record(declared, value)

    def _said(self, task: Json, kind: str) -> Iterator[Output]:
        dice = self._dice
        signal: Json = {
            "protocolVersion": "2.0",
            "signalId": self._uuid(),
            "taskId": task["taskId"],
            "correlationId": task["correlationId"],
            "sentAt": task["issuedAt"],
            "operator": {"agentId": dice.choice(("ana", "ben", "agent-1")), "agentKind": "user"},
            "kind": kind,
        }
        if kind == "rating":
            signal["rating"] = dice.randrange(1, 7)
        elif kind == "approval":
            signal["decision"] = dice.choice(("approved", "approved", "rejected"))
        elif kind == "note":
            signal["note"] = f"note {dice.randrange(100)}"
        if dice.random() < 0.05:
            signal["correlationId"] = self._uuid()
        record = self._record(SAP_SIGNALS.name, signal)
        yield from [record] * dice.choice((1, 1, 1, 2))
        if dice.random() < 0.05:
            yield self._record(SAP_SIGNALS.name, signal | {"meta": {"again": True}})
