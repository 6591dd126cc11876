"""One generation of one use case: common members of its packets, and the packets sent so far."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from schemas.apc import ANTI_DRIFT_CHECKS
from streams.demo.fleet_simulation.world import SWARMS, Protocol

Json = dict[str, Any]
ACCEPTED = frozenset({"accepted"})
EITHER = frozenset({"accepted", "protocol_decayed"})
OUT_OF_STATE = frozenset({"session_state"})
VETOED = frozenset({"decision_vetoed"})
TTL_MS = 300_000
DRIFT_CHECKED = frozenset(
    {"TASK_IR", "IDEA", "CLAIM", "ARTIFACT", "EVAL", "TRANSFER", "ARBITRATION", "DECISION"}
)


class Sent(NamedTuple):
    """A sent packet and the rules of which one decides it."""

    packet: Json
    rules: frozenset[str] = ACCEPTED


class Lesson(NamedTuple):
    """A legal transfer."""

    protocol: Protocol
    packet: Json
    rules: frozenset[str]


@dataclass
class Session:
    """A use case over all generations.

    suffix: of protocol ids.  checks_drift: whether packets carry the drift checks.  late: EVALs by
    the generation in which they come.  done: packets that may be taken back.
    """

    name: str
    run_id: str
    use_case: str
    suffix: str
    checks_drift: bool
    dice: random.Random
    late: dict[int, list[Json]] = field(default_factory=dict)
    unmeasured: list[Lesson] = field(default_factory=list)
    done: list[Json] = field(default_factory=list)
    retracted: list[Json] = field(default_factory=list)
    retractions: list[Json] = field(default_factory=list)
    steps: int = 0
    faults: int = 0
    converges: frozenset[bool] = frozenset({False})
    """Whether a transfer has brought the session to where it arbitrates, as far as is known."""

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.dice.getrandbits(128), version=4))

    def chance(self, likely: float) -> bool:
        return self.dice.random() < likely


@dataclass
class FleetContext:
    """The packets of one session in one generation.

    sent: in order.  lessons: the legal transfers of this generation.
    """

    session: Session
    generation: int
    sent: list[Sent] = field(default_factory=list)
    lessons: list[Lesson] = field(default_factory=list)

    @property
    def dice(self) -> random.Random:
        return self.session.dice

    def task(self, name: str) -> str:
        return f"g{self.generation:02d}-{name}"

    def send(self, packet: Json, rules: frozenset[str] = ACCEPTED) -> Json:
        self.sent.append(Sent(packet, rules))
        return packet

    def new(
        self, kind: str, phase: str, payload: Json, sender: str, to: tuple[str, ...], **members: Any
    ) -> Json:
        """Return a packet of this session and generation.

        sender, to: `role/swarm`.  task, channel, routing, metadata, lineage: as members.
        Keyword members with the value None are left out.
        """
        session = self.session
        session.steps += 1
        packet_id = session.uuid()
        packet: Json = {
            "protocol_version": "apc/1.0",
            "packet_id": packet_id,
            "packet_type": kind,
            "channel": "INTER_AGENT",
            "run_phase": phase,
            "created_at": "2026-01-01T00:00:00Z",
            "sender": {**_agent(sender), "role": sender.split("/")[0]},
            "recipients": [_agent(one) for one in to],
            "trace": {
                "session_id": session.name,
                "run_id": session.run_id,
                "task_id": members.pop("task", None) or self.task("research"),
                "root_packet_id": packet_id,
                "generation": self.generation,
                "step": session.steps,
            },
            "routing": {
                "delivery_mode": "DIRECT" if len(to) == 1 else "MULTICAST",
                "priority": 5,
                "ttl_ms": TTL_MS,
                "requires_ack": members.pop("requires_ack", False),
            },
            "confidence": round(self.dice.uniform(0.5, 0.95), 2),
            "symbolic_keys": [session.use_case],
            "metadata": {**self._metadata(kind), **members.pop("metadata", {})},
            "payload": payload,
        }
        return packet | {name: value for name, value in members.items() if value is not None}

    def _metadata(self, kind: str) -> Json:
        metadata: Json = {"project_id": self.session.use_case}
        if self.session.checks_drift and kind in DRIFT_CHECKED:
            metadata["anti_drift"] = dict.fromkeys(ANTI_DRIFT_CHECKS, True)
        return metadata

    def lineage(self, protocol: Protocol, **members: Any) -> Json:
        suffix = self.session.suffix
        return {
            "protocol_id": protocol.name + suffix,
            "parent_protocol_ids": [parent + suffix for parent in protocol.parents],
            "ancestor_swarms": [f"swarm-{protocol.teachers[0]}"],
            **members,
        }

    def acknowledge(self, packet: Json, recipient: int, status: str) -> Json:
        """Return the acknowledgement of one of the packet's recipients."""
        kind = "NACK" if status == "REJECTED" else "ACK"
        payload = {"acked_packet_id": packet["packet_id"], "ack_status": status}
        answer = self.new(kind, packet["run_phase"], payload, "builder/amber", ("builder/amber",))
        who = packet["recipients"][recipient]
        answer["sender"] = {**who, "role": who["agent_id"].split("-")[0]}
        answer["recipients"] = [{"agent_id": packet["sender"]["agent_id"]}]
        answer["trace"] |= {
            "task_id": packet["trace"]["task_id"],
            "parent_packet_id": packet["packet_id"],
        }
        return answer

    def swarm(self, *but: str) -> str:
        return self.dice.choice([name for name in SWARMS if name not in but])


def _agent(name: str) -> Json:
    role, swarm = name.split("/")
    return {"agent_id": f"{role}-{swarm}", "swarm_id": f"swarm-{swarm}"}
