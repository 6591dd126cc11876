"""Agents that work from `sap.inbox`: what they say, and how they say it more than once."""

from __future__ import annotations

import heapq
import random
import threading
from collections.abc import Callable, Sequence

from streams.engine.log import Log
from streams.engine.records import Output, Record, TopicPartition
from tests.e2e.outputs import Json, Outputs, value_as_json
from tests.e2e.sap_traffic import LEARNED
from topology.sap import SAP_INBOX, SAP_RESULTS
from topology.topics import partitions_of

_PHONE = "+372 5550 1234"
_PLANS: Sequence[tuple[int, Sequence[str]]] = (
    (30, ("SUCCEEDED",)),
    (30, ("RUNNING", "SUCCEEDED")),
    (8, ("RUNNING", "PROGRESS", "PARTIAL", "RUNNING", "SUCCEEDED")),
    (5, ("RUNNING", "FAILED")),
    (3, ("FAILED", "SUCCEEDED")),
    (5, ("PII",)),
    (4, ("ESCALATED",)),
    (3, ("CANCELLED",)),
    (4, ("OWN_CACHE",)),
    (4, ("COSTLY",)),
    (4, ("UNEASY",)),
    (3, ("PARTIAL", "SUCCEEDED")),
    (3, ("QUEUED", "LIAR", "SUCCEEDED")),
    (2, ("STRANGER", "SUCCEEDED")),
    (4, ()),
)
_OUTCOME = {
    "PROGRESS": "RUNNING",
    "PII": "SUCCEEDED",
    "OWN_CACHE": "SUCCEEDED",
    "COSTLY": "SUCCEEDED",
    "UNEASY": "SUCCEEDED",
    "LIAR": "SUCCEEDED",
    "STRANGER": "RUNNING",
}


def results(task: Json) -> list[Json]:
    """What an agent reports of a task, in order: a function of the task alone, so that a task
    that is delivered twice is answered with the same bytes.
    """
    dice = random.Random(task["taskId"])
    if task["target"]["capability"] == LEARNED:
        plan: Sequence[str] = ("SUCCEEDED",)
    else:
        plan = dice.choice([plan for share, plan in _PLANS for _ in range(share)])
    agent = task["target"].get("agentId") or f"agent-{dice.randrange(4)}"
    return [_result(task, agent, step, number) for number, step in enumerate(plan)]


def _result(task: Json, agent: str, step: str, number: int) -> Json:
    status = _OUTCOME.get(step, step)
    evidence: Json = {"alignment": "ESCALATE" if step in ("LIAR", "ESCALATED") else "VALID"}
    result: Json = {
        "protocolVersion": "2.0",
        "taskId": task["taskId"],
        "correlationId": task["correlationId"],
        "reportedAt": task["issuedAt"],
        "producer": {"agentId": "stranger" if step == "STRANGER" else agent, "agentKind": "agent"},
        "status": status,
        "constitutionalEvidence": evidence,
    }
    if status == "FAILED":
        result["error"] = {"code": "TOOL", "message": f"{agent} could not"}
    if step == "PROGRESS":
        result["metrics"] = {"share": number / 4}
    if status == "SUCCEEDED":
        result["output"] = _output(task, step)
        result["metrics"] = {"tokensIn": 2000 if step == "COSTLY" else 410, "latencyMs": 12.5}
        check = {"principle": "strategic_pause", "status": "FAIL" if step == "UNEASY" else "PASS"}
        evidence |= {"citations": ["lib:17"], "policyChecks": [check]}
    if step == "OWN_CACHE":
        evidence["cache"] = {"hit": True, "ageSec": 60}
    return result


def _output(task: Json, step: str) -> Json:
    text = f"All about {task['payload']['document']}"
    if task["target"]["capability"] != LEARNED:
        text += f", for {task['taskId'][:8]}"
    return {"text": f"{text}. Ring {_PHONE}" if step == "PII" else text}


class Agents:
    """At work at least once: results are late, overtake each other and come again.

    clock: in seconds.  Within the context they work in a thread of their own; else by `turn`.
    """

    def __init__(
        self, log: Log, made: Outputs, partitions: int, seed: int, clock: Callable[[], float]
    ) -> None:
        self._log, self._made, self._clock = log, made, clock
        self._dice = random.Random(seed)
        name, count = made.name(SAP_INBOX), partitions_of(SAP_INBOX, partitions)
        self._reader = log.reader({TopicPartition(name, number): 0 for number in range(count)})
        self._due: list[tuple[float, int, Output]] = []
        self._planned = self._sent = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="agents")
        self._failed: BaseException | None = None
        self.seen = 0
        """Deliveries that are answered but for what is `waiting`."""

    @property
    def waiting(self) -> int:
        """Results that are not on the log yet."""
        assert self._failed is None, self._failed
        return self._planned - self._sent

    def __enter__(self) -> Agents:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        self._reader.close()
        assert self._failed is None, self._failed

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                self.turn(0.01)
        except BaseException as exc:
            self._failed = exc

    def turn(self, patience_s: float = 0) -> None:
        """Take what is delivered, and send what is due."""
        records = self._reader.poll(patience_s)
        for record in records:
            self._take(record)
        self.seen += len(records)
        ready: list[Output] = []
        while self._due and self._due[0][0] <= self._clock():
            ready.append(heapq.heappop(self._due)[2])
        self._log.append(ready)
        self._sent += len(ready)

    def _take(self, record: Record) -> None:
        task, dice = value_as_json(SAP_INBOX, record), self._dice
        for _ in range(dice.choice((1, 1, 1, 1, 2))):
            at = self._clock()
            for result in results(task):
                at += dice.choice((0, 0, 0.01, 0.3)) * dice.random()
                self._plan(at, result)
                if dice.random() < 0.1:
                    self._plan(at - 0.3 * dice.random(), result)
        if dice.random() < 0.02:
            for result in results(task)[:1]:
                self._plan(self._clock(), result | {"taskId": _unknown(task)})

    def _plan(self, at: float, result: Json) -> None:
        self._planned += 1
        record = self._made.record(SAP_RESULTS, result)
        heapq.heappush(self._due, (at, self._planned, record))


def _unknown(task: Json) -> str:
    """The id of a task that nobody has sent."""
    text: str = task["taskId"]
    return text[:-1] + ("0" if text[-1] != "0" else "1")
