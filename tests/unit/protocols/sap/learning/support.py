"""Learning signals as the sap processor sends them, and a sap-learning processor on a bench."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schemas import parse_ijson
from streams.engine.processor import AvroValue, Message
from streams.protocols.sap.learning import SapLearningProcessor
from streams.settings import Settings
from tests.unit.processing.harness import START_MS, Harness, Sent
from topology.sap import (
    SAP_HEURISTICS_TABLE,
    SAP_KNOWLEDGE_TABLE,
    SAP_LEARNING_TABLE,
    sap_key,
    sap_version,
)

__all__ = ["START_MS", "Bench", "check", "member", "operator", "outcome", "violation"]

CAPABILITY = "report.summarise"
FINGERPRINT = f"e0.{'a' * 64}"
LABEL = "1@000000000000"


def check(principle: str, status: str = "PASS") -> AvroValue:
    return {"principle": principle, "status": status, "notes": None, "extra_json": None}


def violation(principle: str, severity: str = "high") -> AvroValue:
    return {"principle": principle, "severity": severity, "evidence": None, "extra_json": None}


def member(name: str, loo: str, value: str) -> AvroValue:
    return {"name": name, "looSha256": loo, "valueSha256": value}


def _signal(n: int, kind: str, **members: Any) -> AvroValue:
    return {
        "at": START_MS + n,
        "signalId": f"00000000-0000-5000-8000-{n:012}",
        "kind": kind,
        "capability": CAPABILITY,
        "territory": None,
        "fingerprint": FINGERPRINT,
        "extractorVersion": 0,
        "heuristicsVersion": 0,
        "taskId": f"00000000-0000-4000-8000-{n:012}",
        "status": "SUCCEEDED",
        "alignment": "VALID",
        "rule": "agent_status",
        "computed": False,
        "cacheHit": False,
        "pressure": {},
        "policyChecks": [],
        "violations": [],
        "metrics": {},
        "citations": [],
        "nextActions": [],
        "outputSha256": None,
        "members": [],
        "rating": None,
        "decision": None,
        "note": None,
        "operator": None,
        "constitution": LABEL,
        "snippet": None,
        **members,
    }


def outcome(n: int, **members: Any) -> AvroValue:
    """A computed outcome of task n, succeeded and valid unless said otherwise."""
    return _signal(n, "outcome", **{"computed": True, "outputSha256": "o" * 64, **members})


def operator(n: int, kind: str, **members: Any) -> AvroValue:
    """What an operator says of task n."""
    return _signal(n, kind, operator="o", **members)


class Bench(Harness):
    """A sap-learning processor and its rows."""

    processor: SapLearningProcessor

    def __init__(self, constitution: Path | None = None, partitions: int = 1) -> None:
        named = Settings.load({}, sap_constitution=constitution).as_work()
        super().__init__(SapLearningProcessor(), named, partitions=partitions)

    def signal(self, value: AvroValue, **record: Any) -> Message:
        record.setdefault("key", value["capability"])
        return self.message(value, value["at"], avro=True, **record)

    def each(self, *values: AvroValue) -> list[Sent]:
        """Signals in batches of one."""
        return [sent for value in values for sent in self.decide(self.signal(value))]

    def batch(self, *values: AvroValue) -> list[Sent]:
        return self.decide(*map(self.signal, values)) if values else []

    def learned(self, fingerprint: str = FINGERPRINT, territory: str | None = None) -> AvroValue:
        row = self.row(SAP_LEARNING_TABLE, sap_key(CAPABILITY, territory, fingerprint))
        assert row is not None
        return row

    def playbook(self, fingerprint: str = FINGERPRINT) -> AvroValue | None:
        return self.row(SAP_KNOWLEDGE_TABLE, sap_key(CAPABILITY, None, fingerprint))

    def version(self, number: int, capability: str = CAPABILITY) -> AvroValue | None:
        return self.row(SAP_HEURISTICS_TABLE, sap_key(capability, sap_version(number)))

    def versions(self) -> list[AvroValue]:
        """All of them, in order."""
        rows = self.rows(SAP_HEURISTICS_TABLE)
        return [rows[key] for key in sorted(rows)]

    def newest(self) -> AvroValue:
        return self.versions()[-1]

    def basis(self, number: int) -> dict[str, Any]:
        row = self.version(number)
        assert row is not None
        row_basis: dict[str, Any] = parse_ijson(row["basis_json"])
        return row_basis

    def bytes(self) -> dict[str, dict[str, bytes]]:
        """Every row of every table."""
        return {name: dict(rows) for name, rows in self.tables.items() if rows}
