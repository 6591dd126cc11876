"""Lookups as the sap processor sends them, and the processor that answers them."""

from __future__ import annotations

import itertools
import json
from typing import Any
from uuid import UUID

from schemas import decode, encode, from_json, sap
from streams.engine.processor import Message
from streams.protocols.sap.cache import SapCacheProcessor
from streams.settings import Settings
from tests.unit.processing.harness import Harness, Sent
from topology.sap import SAP_CACHE_HEADS, SAP_CACHE_TABLE, SAP_CACHE_WAITS, SAP_VERDICTS

NINE = 1_798_707_600_000
"""2026-12-31T09:00:00.000Z."""
KEY = "5" * 64
TASK_RECORD = "headrace.sap.SapTask"
POLICY = {"heuristicsVersion": 0, "extractorVersion": 0, "thresholds": {}, "extraChecks": []}
SETTINGS = dict(Settings().as_work())

_lookups = itertools.count(1)


def task_id(name: str) -> str:
    """A task by a name of one letter or more."""
    return str(UUID(int=int.from_bytes(name.encode(), "big")))


def task(name: str, **context: Any) -> dict[str, Any]:
    """The JSON of a task."""
    return {
        "protocolVersion": "2.0",
        "taskId": task_id(name),
        "correlationId": task_id("correlation"),
        "issuedAt": "2026-12-31T09:00:00Z",
        "issuer": {"agentId": "issuer", "agentKind": "system"},
        "target": {"capability": "report.summarise"},
        "constitutionalContext": {"pressureLevel": "consulted", **context},
        "payload": {"document": "ledger"},
    }


class Cache(Harness):
    """The processor with lookups spelled short; times are ms since nine o'clock."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(SapCacheProcessor(), {**SETTINGS, **settings})
        self.now = NINE
        self.inputs: list[Message] = []

    def lookup(self, op: str, name: str, at: int, key: str = KEY, **more: Any) -> Any:
        """The verdicts on one lookup."""
        return self.verdicts(self.decide(self.lookup_message(op, name, at, key, **more)))

    def lookup_message(self, op: str, name: str, at: int, key: str = KEY, **more: Any) -> Message:
        """The lookup itself."""
        value: dict[str, Any] = {
            "at": NINE + at,
            "lookupId": task_id(f"l{next(_lookups)}"),
            "op": op,
            "cacheKey": key,
            "taskId": task_id(name),
            "correlationId": task_id("correlation"),
            "mode": "prefer",
            "maxAgeSec": None,
            "mustAlign": False,
            "deadlineAt": None,
            "policy": POLICY,
            "task": None,
            "draft": None,
            "reason": None,
        } | more
        if value["deadlineAt"] is not None:
            value["deadlineAt"] += NINE
        message = self.message(_avro(value), max(self.now, NINE + at), avro=True)
        self.inputs.append(message)
        return message

    def read(
        self, name: str, at: int, *, context: dict[str, Any] | None = None, **more: Any
    ) -> Any:
        """The verdicts of a READ."""
        return self.lookup("READ", name, at, task=task(name, **(context or {})), **more)

    def store(
        self, name: str, at: int, *, output: Any = "text", cited: bool = False, **more: Any
    ) -> Any:
        value = draft(name, at, output) | {"citations": ["lib:17"] if cited else None}
        return self.lookup("STORE", name, at, draft=value, **more)

    def release(self, name: str, at: int, **more: Any) -> Any:
        return self.lookup("RELEASE", name, at, reason="the task is closed", **more)

    def until(self, at: int) -> Any:
        """The verdicts of timers up to a time."""
        return self.verdicts(self.advance_to(NINE + at))

    def verdicts(self, sent: list[Sent]) -> Any:
        return [one.value for one in self.of(SAP_VERDICTS, sent)]

    @property
    def head(self) -> Any:
        return self.row(SAP_CACHE_HEADS, KEY)

    def waiting(self) -> list[str]:
        """Ids of the tasks with a waiting row, in the order of arrival."""
        rows = sorted(self.rows(SAP_CACHE_WAITS).items())
        return [row["lookup"]["taskId"] for _, row in rows]

    def versions(self, key: str = KEY) -> list[dict[str, Any]]:
        rows = sorted(self.rows(SAP_CACHE_TABLE).items())
        return [row for name, row in rows if name.startswith(key)]


def _avro(value: dict[str, Any]) -> dict[str, Any]:
    """The Avro value of a lookup whose task is JSON."""
    if value["task"] is not None:
        framed = encode(TASK_RECORD, from_json(TASK_RECORD, value["task"]))
        value["task"] = decode(framed, TASK_RECORD).value
    return value


def draft(name: str, at: int, output: Any) -> dict[str, Any]:
    return {
        "cacheKey": KEY,
        "sapVersion": "2.0",
        "capability": "report.summarise",
        "territory": None,
        "principles": None,
        "outputContract": None,
        "fingerprint": "e0." + "7" * 64,
        "storedAt": sap.protocol_time(NINE + at),
        "producer": "agent",
        "producerKind": "agent",
        "alignment": "VALID",
        "output_json": json.dumps(output),
        "citations": None,
        "policyChecks": [],
        "violations": [],
        "pressureLevel": "consulted",
        "heuristicsVersion": 0,
        "constitution": "1@000000000000",
        "taskId": task_id(name),
        "correlationId": task_id("correlation"),
        "outcomeSeq": 1,
        "resultSha256": "a" * 64,
    }


def summarize_verdicts(verdicts: Any) -> list[tuple[str, str, bool]]:
    """(task, verdict, leader) of each."""
    names = {task_id(letter): letter for letter in "ABCDEFGHIJ"}
    return [(names[v["taskId"]], v["verdict"], v["leader"]) for v in verdicts]
