"""Envelopes, and a bus with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from schemas.sap import protocol_time
from streams import LocalBus
from streams.sdk.local_bus.transcript import Entry

START_MS = 1_767_225_600_000
"""2026-01-01T00:00:00.000Z, where a scenario starts."""
CAPABILITY = "report.summarise"
SESSION = "a7f5d5b2-13a8-4a0d-9ba2-6b1e3c6f9d11"

Json = dict[str, Any]


def id_of(n: int, kind: str = "4") -> str:
    return f"00000000-0000-{kind}000-8000-{n:012x}"


def task(n: int = 1, *, mode: str | None = None, **members: Any) -> Json:
    """Task n: everyone may do it, nothing speaks against it."""
    context: Json = {"pressureLevel": "consulted"}
    if mode is not None:
        context["cachePolicy"] = {"mode": mode}
    return {
        "protocolVersion": "2.0",
        "taskId": id_of(n),
        "correlationId": SESSION,
        "issuedAt": protocol_time(START_MS),
        "issuer": {"agentId": "A-prime", "agentKind": "agent"},
        "target": {"capability": CAPABILITY},
        "constitutionalContext": context,
        "payload": {"document": "ledger"},
        **members,
    }


def result(n: int = 1, status: str = "SUCCEEDED", agent: str = "a", **members: Any) -> Json:
    return {
        "protocolVersion": "2.0",
        "taskId": id_of(n),
        "correlationId": SESSION,
        "reportedAt": protocol_time(START_MS),
        "producer": {"agentId": agent, "agentKind": "agent"},
        "status": status,
        "constitutionalEvidence": {"alignment": "VALID"},
        **members,
    }


def signal(n: int, kind: str, of: int = 1, **members: Any) -> Json:
    return {
        "protocolVersion": "2.0",
        "signalId": id_of(n, "5"),
        "taskId": id_of(of),
        "correlationId": SESSION,
        "sentAt": protocol_time(START_MS),
        "operator": {"agentId": "op", "agentKind": "user"},
        "kind": kind,
        **members,
    }


class BusBench:
    """A bus, its clock, and every entry that an observer was given."""

    def __init__(self, **options: Any) -> None:
        self.now = START_MS
        self.entries: list[Entry] = []
        self.bus = LocalBus(lambda: self.now, **options)
        self.bus.observe(self.entries.append)

    def kinds(self) -> list[str]:
        return [entry["kind"] for entry in self.entries]

    def of(self, kind: str) -> list[Json]:
        return [entry["body"] for entry in self.entries if entry["kind"] == kind]

    def status(self, n: int = 1) -> str | None:
        outcome = self.bus.outcome(id_of(n))
        return outcome.status if outcome else None


@contextmanager
def open_bus(**options: Any) -> Iterator[BusBench]:
    made = BusBench(**options)
    with made.bus:
        yield made
