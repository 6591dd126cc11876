"""Tasks, results and signals as JSON, and a sap processor on a bench."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas import from_json, sap, uuid5_url
from streams.engine.processor import AvroValue, Message
from streams.engine.records import position
from streams.protocols.sap.processor import SapProcessor
from streams.settings import Settings
from tests.unit.processing.harness import START_MS, Harness, Sent
from topology.core import LINEAGE_EDGES, RTES_RAW
from topology.declarations import Topic
from topology.sap import (
    SAP_ACKS,
    SAP_INBOX,
    SAP_LEARNING_SIGNALS,
    SAP_LOOKUPS,
    SAP_OUTCOMES,
    SAP_RESULTS,
    SAP_SIGNALS,
    SAP_TASK_STATES_TABLE,
    SAP_TASKS,
    SAP_VERDICTS,
)

__all__ = ["CORRELATION", "START_MS", "TASK", "Bench", "Sent", "derived", "uuid"]

Json = dict[str, Any]

TASK = "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a"
CORRELATION = "a7f5d5b2-13a8-4a0d-9ba2-6b1e3c6f9d11"
NOW = "2026-01-01T00:00:00Z"


def uuid(n: int) -> str:
    return f"00000000-0000-4000-8000-{n:012d}"


def derived(cause: str, n: int) -> str:
    return uuid5_url(f"headrace:sap:{cause}:{n}")


def merged(value: Json, changes: Json) -> Json:
    """A copy with members replaced at any depth; `...` takes one away."""
    result = dict(value)
    for name, change in changes.items():
        if change is ...:
            result.pop(name, None)
        elif isinstance(change, dict) and isinstance(result.get(name), dict):
            result[name] = merged(result[name], change)
        else:
            result[name] = change
    return result


def task(mode: str | None = None, **changes: Any) -> Json:
    """A valid task.  mode: of its cache policy; None for none."""
    policy = {} if mode is None else {"cachePolicy": {"mode": mode}}
    value = {
        "protocolVersion": "2.0",
        "taskId": TASK,
        "correlationId": CORRELATION,
        "issuedAt": NOW,
        "issuer": {"agentId": "A-prime", "agentKind": "agent"},
        "target": {"capability": "report.summarise"},
        "constitutionalContext": {"pressureLevel": "consulted", **policy},
        "payload": {"document": "ledger-2026-10"},
    }
    return merged(value, changes)


def result(status: str = "RUNNING", **changes: Any) -> Json:
    value: Json = {
        "protocolVersion": "2.0",
        "taskId": TASK,
        "correlationId": CORRELATION,
        "reportedAt": NOW,
        "producer": {"agentId": "A-ml-001", "agentKind": "agent"},
        "status": status,
        "constitutionalEvidence": {"alignment": "VALID"},
    }
    if status == "SUCCEEDED":
        value["output"] = {"text": "done"}
    if status == "FAILED":
        value["error"] = {"code": "INTERNAL", "message": "It broke."}
    return merged(value, changes)


def signal(kind: str = "note", **changes: Any) -> Json:
    value: Json = {
        "protocolVersion": "2.0",
        "signalId": uuid(900),
        "taskId": TASK,
        "correlationId": CORRELATION,
        "sentAt": NOW,
        "operator": {"agentId": "ana", "agentKind": "user"},
        "kind": kind,
    }
    members: Json = {
        "rating": {"rating": 4},
        "approval": {"decision": "approved"},
        "note": {"note": "fine"},
    }
    return merged({**value, **members.get(kind, {})}, changes)


class Bench(Harness):
    """A sap processor; the clock stands still unless it is advanced."""

    processor: SapProcessor

    def __init__(self, partitions: int = 1, **settings: Any) -> None:
        named = Settings.load({}, **settings).as_work()
        super().__init__(SapProcessor(), named, partitions=partitions)

    def record(self, topic: Topic, value: Json, at: int | None = None, **more: Any) -> Message:
        """The next record of a command topic; value: JSON, or Avro if `avro`."""
        return self.message(value, self.now if at is None else at, topic=topic, **more)

    def send(self, topic: Topic, value: Json, at: int | None = None, **more: Any) -> Json:
        """The ack of one envelope, alone in its batch."""
        message = self.record(topic, value, at, **more)
        (sent,) = self.of(SAP_ACKS, self.decide(message))
        assert sent.cause == position(message.record)
        return sent.json

    def task(self, value: Json | None = None, at: int | None = None, **more: Any) -> Json:
        return self.send(SAP_TASKS, task() if value is None else value, at, **more)

    def result(self, value: Json, at: int | None = None, **more: Any) -> Json:
        return self.send(SAP_RESULTS, value, at, **more)

    def signal(self, value: Json, at: int | None = None, **more: Any) -> Json:
        return self.send(SAP_SIGNALS, value, at, **more)

    def verdict(self, name: str, at: int | None = None, **members: Any) -> list[Sent]:
        """What the cache's answer to the last lookup causes."""
        return self.decide(self.answer(name, at, **members))

    def answer(self, name: str, at: int | None = None, **members: Any) -> Message:
        """That answer itself."""
        lookup = self.of(SAP_LOOKUPS)[-1].value
        stamp = self.now if at is None else at
        value = {
            "at": stamp,
            "verdictId": uuid(800),
            "lookupId": lookup["lookupId"],
            "taskId": lookup["taskId"],
            "cacheKey": lookup["cacheKey"],
            "verdict": name,
            "reason": "so it is",
            "leader": False,
            "leaderTaskId": None,
            "waitUntil": None,
            "version": None,
            "ageSec": None,
            "record": None,
            "checks": None,
            "violations": None,
            "candidates": [],
            "constitution": "1@000000000000",
            **members,
        }
        return self.message(value, stamp, avro=True, topic=SAP_VERDICTS)

    def hit(self, version: int = 1, age_s: int = 5, **members: Any) -> list[Sent]:
        """The cache answers with what another task has stored."""
        return self.decide(self.hit_message(version, age_s, **members))

    def hit_message(self, version: int = 1, age_s: int = 5, **members: Any) -> Message:
        """That answer itself."""
        record = cached(self.of(SAP_LOOKUPS)[-1].value, version)
        more = {"version": version, "ageSec": age_s, "record": record, **members}
        return self.answer("hit", **more)

    def row(self, table: Any = SAP_TASK_STATES_TABLE, key: str = TASK) -> Any:
        return super().row(table, key)

    @property
    def state(self) -> str:
        return str(self.row()["state"])

    def json_of(self, topic: Topic, sent: Iterable[Sent] | None = None) -> list[Json]:
        """What a topic got, as JSON: ever, or of `sent`."""
        return [one.json for one in self.of(topic, None if sent is None else list(sent))]

    def outcomes(self, sent: Iterable[Sent] | None = None) -> list[Json]:
        return self.json_of(SAP_OUTCOMES, sent)

    @property
    def last(self) -> Json:
        """The last outcome."""
        return self.outcomes()[-1]

    def lookups(self, sent: Iterable[Sent] | None = None) -> list[Json]:
        return self.json_of(SAP_LOOKUPS, sent)

    def inbox(self) -> list[Json]:
        return self.json_of(SAP_INBOX)

    def learned(self) -> list[Json]:
        return self.json_of(SAP_LEARNING_SIGNALS)

    def moves(self) -> list[tuple[str, str]]:
        """Every transition that was told to RTES."""
        payloads = [one.value["payload"][1] for one in self.of(RTES_RAW)]
        return [(payload["from_state"], payload["to_state"]) for payload in payloads]

    def edges(self, sent: Iterable[Sent] | None = None) -> set[tuple[str, str, str]]:
        chosen = None if sent is None else list(sent)
        values = [one.value for one in self.of(LINEAGE_EDGES, chosen)]
        return {(edge["from_node"], edge["relation"], edge["to_node"]) for edge in values}

    def stored(self) -> dict[str, dict[str, bytes]]:
        """Every row, by table."""
        return {name: dict(rows) for name, rows in self.tables.items() if rows}

    def advance(self, ms: int) -> list[Sent]:
        return self.advance_to(self.now + ms)


def cached(lookup: AvroValue, version: int = 1) -> AvroValue:
    """A record of the cache that a lookup finds (Avro)."""
    record: Json = {
        "cacheKey": lookup["cacheKey"],
        "version": version,
        "sapVersion": "2.0",
        "capability": "report.summarise",
        "fingerprint": "e0." + "0" * 64,
        "storedAt": NOW,
        "producer": "A-ml-009",
        "producerKind": "agent",
        "alignment": "VALID",
        "output": "as before",
        "citations": ["lib:17"],
        "policyChecks": [{"principle": "old", "status": "PASS", "notes": "then"}],
        "violations": [],
        "pressureLevel": "consulted",
        "heuristicsVersion": 0,
        "constitution": "1@000000000000",
        "taskId": uuid(1),
        "correlationId": CORRELATION,
        "outcomeSeq": 1,
        "resultSha256": "0" * 64,
        "cause": "sap.lookups/0/0",
        "previousSha256": "0" * 64,
    }
    record["recordSha256"] = sap.record_sha256(record)
    return from_json("headrace.sap.SapCacheRecord", record)
