"""Deltas as the apc processor sends them, and an apc-lineage processor on a bench."""

from __future__ import annotations

from typing import Any

from streams.engine.processor import AvroValue, Message
from streams.protocols.apc.lineage import ApcLineageProcessor
from streams.protocols.apc.lineage.rows import SUMS, run_key, total_key
from streams.settings import Settings
from tests.unit.processing.harness import START_MS, Harness, Sent
from topology.apc import APC_DECISIONS, APC_LINEAGE_TABLE

__all__ = ["NANO", "START_MS", "SUMS", "Bench", "arbitration", "delta", "sums"]

NANO = 10**9
TRACE = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def sums(**changes: int) -> dict[str, int]:
    """The nine sums, 0 where nothing is given."""
    assert changes.keys() <= set(SUMS)
    return {**dict.fromkeys(SUMS, 0), **changes}


def delta(n: int, kind: str = "transfer", **members: Any) -> AvroValue:
    """A delta (Avro) that packet n causes, n ms after the start unless `at` is given."""
    protocol_id = members.get("protocol_id", "px")
    return {
        "delta_id": f"apc.packets/0/{n}/0/{protocol_id}/{kind}",
        "kind": kind,
        "protocol_id": protocol_id,
        "session_id": "s1",
        "run_id": "run-01",
        "task_id": "t1",
        "packet_id": f"p{n}",
        "at": START_MS + n,
        "cause": f"apc.packets/0/{n}",
        **sums(),
        "decision": None,
        **members,
    }


def arbitration(n: int, **members: Any) -> AvroValue:
    """A delta that brings an arbitration for the decisions' topic."""
    figures = {
        "session_id": "s1",
        "run_id": "run-01",
        "task_id": "t1",
        "trace_id": "run-01",
        "project_id": None,
        "arbitration_id": "arb",
        "packet_id": f"p{n}",
        "candidate_count": 1,
        "validated_count": 0,
        "rejected_count": 1,
        "selected_count": 0,
        "blocked_count": 0,
        "decay_blocked_count": 0,
        "top_k": 1,
        "selected_packet_ids": [],
        "blocked": [],
        "rejected": [{"index": 1, "packet_id": "p0", "reason": "not_live:RETRACTED"}],
        "ranking": [],
        "winner_candidate_id": "one",
        "winner_agrees": False,
    }
    decision = {
        "decision_id": f"apc.packets/0/{n}/0",
        "kind": "arbitration",
        "protocol_id": "px",
        "at": START_MS + n,
        "cause": f"apc.packets/0/{n}",
        "decay": None,
        "arbitration": figures,
    }
    return delta(n, "arbitration", decision=decision, **members)


class Bench(Harness):
    """An apc-lineage processor and its rows."""

    processor: ApcLineageProcessor

    def __init__(self, partitions: int = 1, **settings: Any) -> None:
        named = Settings.load({}, **settings).as_work()
        super().__init__(ApcLineageProcessor(), named, partitions=partitions)

    def give(self, *deltas: AvroValue) -> list[Sent]:
        """One batch of deltas; the decisions it leaves."""
        return self.of(APC_DECISIONS, self.decide(*map(self.delta, deltas)))

    def each(self, *deltas: AvroValue) -> list[Sent]:
        """Deltas in batches of one."""
        return [decision for one in deltas for decision in self.give(one)]

    def delta(self, value: AvroValue, **record: Any) -> Message:
        headers = [("traceparent", TRACE)]
        record.setdefault("key", value["protocol_id"])
        return self.message(value, self.now, avro=True, headers=headers, **record)

    def total(self, protocol_id: str = "px") -> AvroValue:
        return self._row(total_key(protocol_id))

    def run(self, run_id: str = "run-01", protocol_id: str = "px") -> AvroValue:
        return self._row(run_key(protocol_id, run_id))

    def bytes(self) -> dict[str, bytes]:
        return dict(self.tables.get(APC_LINEAGE_TABLE.name, {}))

    def _row(self, key: str) -> AvroValue:
        row = self.row(APC_LINEAGE_TABLE, key)
        assert row is not None
        return row
