"""Envelopes as issuers, agents and operators send them, and an agent beside a system in memory."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from schemas import decode, to_json
from streams.agents import EchoAgent
from streams.engine.records import position
from tests.unit.views.bench import Bench
from topology.sap import SAP_INBOX

Json = dict[str, Any]
AGENT = EchoAgent("A-ml-001", ("report.summarise",))
TRACE = "a7f5d5b2-13a8-4a0d-9ba2-6b1e3c6f9d11"
SEED = Path(__file__).parents[4] / "schemas/examples/sap/tasks"


def task_id(number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"task {number}"))


def task(number: int = 1, **more: Any) -> Json:
    """more: members, by name; of the context by `context__` and its name."""
    context: Json = {"pressureLevel": "consulted", "territory": "NORDIC"}
    members = {name: value for name, value in more.items() if not name.startswith("context__")}
    changed = {name[9:]: value for name, value in more.items() if name.startswith("context__")}
    return {
        "protocolVersion": "2.0",
        "taskId": task_id(number),
        "correlationId": TRACE,
        "issuedAt": "2026-01-01T00:00:00Z",
        "issuer": {"agentId": "ana", "agentKind": "user"},
        "target": {"capability": "report.summarise"},
        "constitutionalContext": {**context, **changed},
        "payload": {"document": "ledger-2026-10"},
        **members,
    }


def cached(number: int = 1, mode: str = "prefer", **more: Any) -> Json:
    """A task that goes by the cache."""
    return task(number, context__cachePolicy={"mode": mode}, **more)


def result(of: Json, status: str = "SUCCEEDED", **more: Any) -> Json:
    return {
        "protocolVersion": "2.0",
        "taskId": of["taskId"],
        "correlationId": of["correlationId"],
        "reportedAt": "2026-01-01T00:00:01Z",
        "producer": {"agentId": AGENT.agent_id, "agentKind": "agent"},
        "status": status,
        "constitutionalEvidence": {"alignment": "VALID"},
        **more,
    }


def signal(of: Json, number: int = 1, kind: str = "rating", **more: Any) -> Json:
    return {
        "protocolVersion": "2.0",
        "signalId": str(uuid.uuid5(uuid.NAMESPACE_OID, f"signal {number}")),
        "taskId": of["taskId"],
        "correlationId": of["correlationId"],
        "sentAt": "2026-01-01T00:00:02Z",
        "operator": {"agentId": "olga", "agentKind": "user"},
        "kind": kind,
        **more,
    }


class SapInboxAgent:
    """The example agent beside a bench: it answers what has come into its inbox."""

    def __init__(self, bench: Bench, clerk: EchoAgent = AGENT) -> None:
        self._bench, self._clerk = bench, clerk
        self._seen: set[str] = set()

    def work(self) -> int:
        """Until nothing more comes; how many tasks it has answered."""
        count = 0
        while True:
            self._bench.host.run()
            inbox = {position(record): record for record in self._bench.records(SAP_INBOX.name)}
            waiting = [record for place, record in inbox.items() if place not in self._seen]
            if not waiting:
                return count
            self._seen |= inbox.keys()
            for record in waiting:
                delivery = to_json(
                    SAP_INBOX.record or "",
                    decode(record.value or b"", SAP_INBOX.record or "").value,
                )
                if self._clerk.takes(delivery):
                    self._bench.send(
                        "sap.results", *self._clerk.results(delivery, record.timestamp)
                    )
                    count += 1


def text(value: Any) -> str:
    return json.dumps(value)
