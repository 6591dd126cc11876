"""Facts as the apc processor writes them, made by hand."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from schemas import encode, from_json
from streams.engine.records import LogRecord, Record
from streams.view_store.rows import FOLLOWED
from streams.views.changes import MemoryStore, WriteBatch
from tests.unit.envelopes import idea, packet_id
from topology.apc import APC_EVENTS

START_MS = 1_767_225_600_000
MODES = ("WINNER_TO_LOSERS", "CROSS_USE_CASE", "COMMONS_SEED", "SELECTIVE_IMPORT")
METRICS = ("rtf", "stability", "audit", "outcome", "learnability", "generalization_ratio")


def bearing(number: int, **changes: Any) -> dict[str, Any]:
    """An IDEA that bears lineage of protocol px."""
    return idea(number, **{"lineage": {"protocol_id": "px"}, **changes})


def transfer(number: int, protocol: str = "px", **changes: Any) -> dict[str, Any]:
    """A TRANSFER of generation 14 in REFINEMENT."""
    policy = {"mode": "SELECTIVE_IMPORT", "min_generation": 11, "top_k": 2}
    payload = {
        "protocol_id": protocol,
        "from_swarm": "swarm-a",
        "to_swarm": "swarm-b",
        "sender_score": 0.85,
        "receiver_score": 0.7,
        "transfer_policy": policy,
    }
    members = {
        "packet_type": "TRANSFER",
        "run_phase": "REFINEMENT",
        "trace__generation": 14,
        "routing__requires_ack": False,
        "lineage": {"protocol_id": protocol},
        "payload": payload,
    }
    return idea(number, **{**members, **changes})


def evaluation(number: int, outcome: float, drift: float | None, **changes: Any) -> dict[str, Any]:
    metrics: dict[str, Any] = {**dict.fromkeys(METRICS, 1.0), "outcome": outcome}
    if drift is not None:
        metrics["drift_risk"] = drift
    payload = {"metric_set": metrics, "thresholds": dict.fromkeys(METRICS, 0.5), "pass": True}
    members = {
        "packet_type": "EVAL",
        "run_phase": "EXECUTION",
        "routing__requires_ack": False,
        "proof_bundle": {"evidence_refs": ["log:1"]},
        "payload": payload,
    }
    return idea(number, **{**members, **changes})


def fact(verdict: str, packet: dict[str, Any], state: str, at: int, offset: int) -> dict[str, Any]:
    """An ApcEvent (Avro value); only a verdict carries the packet."""
    trace = packet["trace"]
    has_packet = verdict in ("accepted", "rejected")
    return {
        "event_id": f"apc.packets/0/{offset}/0",
        "verdict": verdict,
        "rule": verdict,
        "message": "",
        "errors": [],
        "at": at,
        "cause": f"apc.packets/0/{offset}",
        "session_id": trace["session_id"],
        "packet_id": packet["packet_id"],
        "packet_type": packet["packet_type"],
        "run_id": trace["run_id"],
        "task_id": trace["task_id"],
        "trace_id": trace["run_id"],
        "packet": from_json("headrace.apc.ApcPacket", packet) if has_packet else None,
        "transitions": [],
        "state": state,
        "coordination": [],
        "warnings": [],
    }


def record(value: dict[str, Any], offset: int) -> Record:
    body = encode("headrace.apc.ApcEvent", value)
    key = value["session_id"].encode()
    return LogRecord("apc.events", 0, offset, value["at"], key, body, [])


class Told:
    """Facts told to rows in memory, and what is counted after all of them."""

    def __init__(self) -> None:
        self.memory = MemoryStore()
        self.packets: dict[str, tuple[tuple[int, int, int], dict[str, Any]]] = {}
        self.records: list[Record] = []

    def accept(
        self, packet: dict[str, Any], state: str = "ARCHIVED", at: int | None = None
    ) -> None:
        offset = len(self.records)
        when = START_MS + offset if at is None else at
        self.records.append(record(fact("accepted", packet, state, when, offset), offset))
        if state not in ("EXPIRED", "RETRACTED"):
            self.packets[packet["packet_id"]] = ((when, 0, offset), packet)

    def drop(self, packet: dict[str, Any], state: str = "RETRACTED") -> None:
        offset = len(self.records)
        value = fact("effect", packet, state, START_MS + offset, offset)
        self.records.append(record(value, offset))
        self.packets.pop(packet["packet_id"], None)

    def tell(self, sizes: Iterator[int]) -> None:
        """In batches of these sizes."""
        apply = FOLLOWED["apc.events"]
        assert apply is not None
        remaining: Sequence[Record] = self.records
        while remaining:
            size = next(sizes)
            rows = WriteBatch(self.memory)
            apply(APC_EVENTS, remaining[:size], rows)
            self.memory.write(rows)
            remaining = remaining[size:]


def story(seed: int, count: int) -> Told:
    """Packets of all kinds over few ids, some of which are dropped later."""
    rnd = random.Random(seed)
    history = Told()
    for number in range(1, count + 1):
        history.accept(_any_packet(rnd, number), at=START_MS + rnd.randrange(count))
        if rnd.random() < 0.05:
            history.accept(_any_packet(rnd, count + number), "EXPIRED")
        if history.packets and rnd.random() < 0.3:
            _, gone = rnd.choice(list(history.packets.values()))
            history.drop(gone, rnd.choice(["RETRACTED", "REJECTED_POLICY", "EXPIRED"]))
        elif history.packets and rnd.random() < 0.2:
            _, packet_json = rnd.choice(list(history.packets.values()))
            value = fact("effect", packet_json, "ARCHIVED", START_MS, len(history.records))
            history.records.append(record(value, len(history.records)))
    history.tell(iter(lambda: rnd.randrange(1, 20), None))
    return history


def _any_packet(rnd: random.Random, number: int) -> dict[str, Any]:
    protocol = f"p{rnd.randrange(4)}"
    changes: dict[str, Any] = {
        "trace__session_id": f"s{rnd.randrange(3)}",
        "trace__run_id": f"r{rnd.randrange(3)}",
        "trace__task_id": f"t{rnd.randrange(2)}",
    }
    if rnd.random() < 0.6:
        changes["metadata"] = {"project_id": f"j{rnd.randrange(2)}"}
    kind = rnd.randrange(10)
    if kind == 0:
        return idea(number, **changes)
    if kind < 3:
        return bearing(number, lineage=_lineage(rnd, protocol), **changes)
    if kind < 6:
        if rnd.random() < 0.3:
            changes["lineage"] = _lineage(rnd, protocol)
        drift = rnd.choice([None, 0.0, 0.1, 0.25, 0.7])
        return evaluation(number, rnd.choice([0.1, 1 / 3, 0.7, 0.55, 1]), drift, **changes)
    packet = transfer(number, protocol, lineage=_lineage(rnd, protocol), **changes)
    packet["payload"]["sender_score"] = rnd.choice([0.1, 0.7, 0.123456789, 1])
    packet["payload"]["receiver_score"] = rnd.choice([0.05, 0, 0.3])
    packet["payload"]["transfer_policy"]["mode"] = rnd.choice(MODES)
    if rnd.random() < 0.8:
        packet["payload"]["accepted"] = rnd.random() < 0.7
    return packet


def _lineage(rnd: random.Random, protocol: str) -> dict[str, Any]:
    lineage: dict[str, Any] = {"protocol_id": protocol}
    if rnd.random() < 0.5:
        lineage["cross_use_case"] = rnd.random() < 0.5
    if rnd.random() < 0.5:
        lineage["transfer_mode"] = rnd.choice(MODES)
    if rnd.random() < 0.5:
        lineage |= {"parent_protocol_ids": ["p9"], "ancestor_swarms": ["swarm-z"]}
    return lineage


__all__ = ["Told", "bearing", "evaluation", "fact", "packet_id", "record", "story", "transfer"]
