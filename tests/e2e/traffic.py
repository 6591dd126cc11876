"""Seeded traffic of many sessions: every kind of packet, every kind of answer, every kind of fault.

Packets refer to each other as agents' packets do: answers name packets that wait, retractions and
evaluations name packets of their session.  Some of it is wrong, in each way in which a record on
the log can be wrong.
"""

from __future__ import annotations

import copy
import random
import struct
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from schemas import CATALOGUE, encode
from streams.engine.records import Output
from tests.e2e import steps
from tests.e2e.observations import observations
from tests.e2e.outputs import PARTITIONS, Outputs
from tests.e2e.steps import SWARMS, Step
from tests.unit.protocols.apc.processor.packets import THRESHOLDS, Json, candidate, packet, pid
from topology.core import RTES_RAW
from topology.keys import partition_of

SESSIONS = 240
AGENTS = ("a", "b", "c", "d")
STEADY = "e"
"""An agent that does what its way demands and nothing besides."""
LONG_MS = 3_600_000
_REMEMBERED = 24
_SYNCED = 4
"""The steps of a session after which its swarms are ready."""

Fault = Callable[[Json], Any]


class Sent(NamedTuple):
    """packet: None for bytes that are none.  key, partition: where they are not what they should
    be.  value: bytes to send as they are.
    """

    packet: Json | None
    key: bytes | None = b""
    partition: int | None = None
    value: bytes | None = b""


def _set(path: str, value: Any) -> Fault:
    *parents, name = path.split("/")

    def change(made: Json) -> None:
        holder: Any = made
        for parent in parents:
            holder = holder[int(parent) if isinstance(holder, list) else parent]
        holder[name] = value

    return change


SHAPE_FAULTS: tuple[Fault, ...] = (
    _set("confidence", 1.5),
    _set("confidence", "NaN"),
    _set("protocol_version", "apc/2.0"),
    _set("symbolic_keys", ["k", "k"]),
    _set("recipients", []),
    _set("sender/role", ""),
    _set("routing/ttl_ms", 0),
    _set("trace/generation", -1),
    _set("expires_at", "2026-02-30T00:00:00Z"),
    _set("metadata", {"project_id": 7}),
    _set("metadata", {"anti_drift": {"ci_verifiable": "yes"}}),
    lambda made: made.update(channel="INTRA_AGENT", recipients=[{"agent_id": "a"}] * 2),
)


class Session:
    """What was sent in one session, as far as others may name it.

    step, agent_steps: how far it and each of its agents are on their ways.  declared: a task was
    sent in it, so that transfers wait for its swarms.
    """

    def __init__(self, number: int) -> None:
        self.name = f"s/{number}%" if number % 9 == 0 else f"s{number}"
        self.protocols = steps.protocols_of(number)
        self.eager = number % 4 == 1
        self.declared = False
        self.step = 0
        self.agent_steps = dict.fromkeys((*AGENTS, STEADY), 0)
        self.packets: list[Json] = []
        self.waiting: list[Json] = []

    def note(self, made: Json) -> None:
        for queue in (self.packets, self.waiting):
            if len(queue) > _REMEMBERED:
                del queue[0]
        self.packets.append(made)
        if made["routing"]["requires_ack"]:
            self.waiting.append(made)


class Traffic:
    """Records to be sent, in order.  dice: all that is random.  sessions: how many."""

    def __init__(self, dice: random.Random, sessions: int) -> None:
        self._dice = dice
        self._sessions = [Session(number) for number in range(sessions)]
        self._number = 0
        kinds: list[tuple[float, Callable[[Session], Sent]]] = [
            (18, self._plain),
            (20, self._waiting),
            (22, self._answer),
            (7, self._evaluation),
            (4, self._decision),
            (3, self._arbitration),
            (20, self._transfer),
            (6, self._session_step),
            (12, self._agent_step),
            (1.5, self._signal),
            (0.5, self._error),
            (5, self._retraction),
            (3, self._repeated),
            (2, self._conflict),
            (2, self._phase),
            (2, self._drift),
            (2, self._shape),
            (1, self._misplaced),
            (1, self._nameless),
            (1, self._undecodable),
        ]
        self._weights = [weight for weight, _ in kinds]
        self._makers = [maker for _, maker in kinds]

    def __iter__(self) -> Iterator[Sent]:
        while True:
            session = self._dice.choice(self._sessions)
            (maker,) = self._dice.choices(self._makers, self._weights)
            eager = session.eager and self._dice.random() < 0.25
            if session.declared and session.step < _SYNCED:
                eager = eager or self._dice.random() < 0.5
            yield self._session_step(session) if eager else maker(session)

    def _new(
        self, packet_type: str, session: Session, generation: int = 12, **members: Any
    ) -> Json:
        self._number += 1
        session.declared = session.declared or packet_type == "TASK_IR"
        dice = self._dice
        metadata = members.pop("metadata", {})
        if dice.random() < 0.02:
            metadata = {**metadata, "coordination_event": dice.choice(steps.EVENTS)}
        if packet_type != "TRANSFER" and dice.random() < 0.08:
            members["lineage"] = steps.lineage(dice, dice.choice(session.protocols))
        made = packet(
            packet_type,
            self._number,
            session=session.name,
            metadata=metadata or None,
            **{"sender": dice.choice(AGENTS), "swarm": dice.choice(SWARMS), **members},
        )
        trace = {
            "run_id": dice.choice(["run-01", "run-01", "run/02"]),
            "task_id": f"task-{dice.randrange(2)}",
            "generation": generation,
        }
        if dice.random() < 0.2:
            trace["parent_packet_id"] = self._named(session, session.packets)
            trace["root_packet_id"] = self._named(session, session.packets)
        made["trace"] |= trace
        if packet_type == "EVAL" and "metric_set" not in members.get("payload", {}):
            made["payload"]["metric_set"] = steps.metrics(dice)
        if dice.random() < 0.03:
            made["packet_id"] = made["packet_id"].upper()
        return made

    def _sent(self, session: Session, made: Json) -> Sent:
        session.note(made)
        return Sent(made)

    def _to(self) -> tuple[str, ...]:
        return tuple(self._dice.choices(AGENTS, k=self._dice.randint(1, 3)))

    def _deferral(self) -> Json:
        deferred = self._dice.random() < 0.4
        return {"metadata": {"verification": "deferred"}} if deferred else {}

    def _plain(self, session: Session) -> Sent:
        kind = self._dice.choice(["IDEA", "IDEA", "CLAIM", "SIGNAL", "HEARTBEAT", "ARTIFACT"])
        members = {"to": self._to(), **self._deferral()}
        if kind == "CLAIM":
            members["proof_bundle"] = {}
            if self._dice.random() < 0.2:  # where it bears on a decision, that is refused
                members["run_phase"] = "VALIDATION"
        if self._dice.random() < 0.03:
            members["expires_at"] = "2026-01-01T00:00:00Z"
        return self._sent(session, self._new(kind, session, **members))

    def _waiting(self, session: Session) -> Sent:
        dice = self._dice
        routing: Json = {"requires_ack": True, "ttl_ms": LONG_MS}
        if dice.random() < 0.3:
            routing["ttl_ms"] = dice.randint(1, 6000)
        if dice.random() < 0.4:
            routing["ack_timeout_ms"] = dice.randint(100, 3000)
            routing["retry_limit"] = dice.randint(0, 2)
        kind = dice.choice(["IDEA", "IDEA", "IDEA", "EVAL", "DECISION"])
        members = {"to": self._to(), "routing": routing, **self._deferral()}
        return self._sent(session, self._new(kind, session, **members))

    def _named(self, session: Session, among: list[Json]) -> str:
        """A packet of the session; at times one of another session, or none at all."""
        if not among or self._dice.random() < 0.04:
            return self._dice.choice([pid(999_999_999), pid(self._number + 1), pid(1)])
        return str(self._dice.choice(among)["packet_id"])

    def _answer(self, session: Session) -> Sent:
        dice = self._dice
        kind = "ACK" if dice.random() < 0.9 else "NACK"
        statuses = ["ACCEPTED"] * 8 + ["DEFERRED", "DEFERRED", "REJECTED"]
        target = self._named(session, session.waiting[-6:])
        payload = {"acked_packet_id": target, "ack_status": dice.choice(statuses)}
        if dice.random() < 0.3:
            payload["reason"] = "as discussed"
        members: Json = {"payload": payload}
        known = _found(target, session.waiting)
        if known is not None and known["recipients"] and dice.random() < 0.9:
            members["sender"] = dice.choice(known["recipients"])["agent_id"]
        return self._sent(session, self._new(kind, session, **members))

    def _evaluation(self, session: Session) -> Sent:
        dice = self._dice
        refs = [
            f"packet:{self._named(session, session.packets)}" for _ in range(dice.randint(0, 4))
        ]
        members: Json = {"proof_bundle": {"evidence_refs": refs}}
        if dice.random() < 0.3:
            members["run_phase"] = "VALIDATION"
        payload = {"pass": dice.random() < 0.6, "thresholds": THRESHOLDS}
        return self._sent(session, self._new("EVAL", session, payload=payload, **members))

    def _decision(self, session: Session) -> Sent:
        level = self._dice.choice(["PROPOSED", "APPROVED", "DONE"])
        payload = {} if self._dice.random() < 0.3 else {"commitment_level": level}
        members = {"payload": payload, **self._deferral()}
        return self._sent(session, self._new("DECISION", session, **members))

    def _arbitration(self, session: Session) -> Sent:
        """Of transfers, mostly, and of other packets."""
        dice = self._dice
        transfers = [one for one in session.packets if one["packet_type"] == "TRANSFER"]
        among = transfers if transfers and dice.random() < 0.8 else session.packets
        shared = self._named(session, session.packets)
        refs = [[shared, self._named(session, among), self._named(session, among)] for _ in "12"]
        candidates = [candidate("one", 0.5, *refs[0]), candidate("two", 0.5, *refs[1])]
        dice.shuffle(candidates)
        payload: Json = {"candidates": candidates}
        if dice.random() < 0.1:
            payload["winner_candidate_id"] = "three"
        if dice.random() < 0.3:
            payload["vetoes"] = [{"agent_id": dice.choice(AGENTS), "reason": "no"}]
        return self._sent(session, self._new("ARBITRATION", session, payload=payload))

    def _transfer(self, session: Session) -> Sent:
        dice = self._dice
        step = steps.transfer(dice, dice.choice(session.protocols), dice.choice(SWARMS))
        members = {"to": self._to(), **self._deferral()}
        if dice.random() < 0.02:
            members["expires_at"] = "2026-01-01T00:00:00Z"
        if dice.random() < 0.2:
            members["routing"] = {"requires_ack": True, "ttl_ms": dice.choice([1000, LONG_MS])}
        return self._stepped(session, step, **members)

    def _session_step(self, session: Session) -> Sent:
        step = steps.OF_SESSION[session.step % len(steps.OF_SESSION)]
        session.step += 1
        return self._stepped(session, step)

    def _agent_step(self, session: Session) -> Sent:
        agent = STEADY if self._dice.random() < 0.8 else self._dice.choice(AGENTS)
        every = steps.of_agent(self._dice)
        step = every[session.agent_steps[agent] % len(every)]
        session.agent_steps[agent] += 1
        return self._stepped(session, step, sender=agent)

    def _signal(self, session: Session) -> Sent:
        return self._stepped(session, steps.signal(self._dice))

    def _error(self, session: Session) -> Sent:
        return self._stepped(session, steps.error(self._dice))

    def _stepped(self, session: Session, step: Step, **members: Any) -> Sent:
        packet_type, own_members = step
        return self._sent(session, self._new(packet_type, session, **{**own_members, **members}))

    def _retraction(self, session: Session) -> Sent:
        target = self._named(session, session.packets)
        known = _found(target, session.packets)
        members: Json = {"payload": {"target_packet_id": target}, "to": self._to()}
        if known is not None and self._dice.random() < 0.7:
            members["sender"] = known["sender"]["agent_id"]
        return self._sent(session, self._new("RETRACTION", session, **members))

    def _repeated(self, session: Session) -> Sent:
        if not session.packets:
            return self._plain(session)
        again = copy.deepcopy(self._dice.choice(session.packets))
        again["created_at"] = "2026-01-01T00:00:09Z"  # filled in anew by the edge
        return Sent(again)

    def _conflict(self, session: Session) -> Sent:
        if not session.packets:
            return self._plain(session)
        other = copy.deepcopy(self._dice.choice(session.packets))
        other["confidence"] = 0.11
        return Sent(other)

    def _phase(self, session: Session) -> Sent:
        made = self._new("IDEA", session, run_phase=self._dice.choice(["VALIDATION", "EXECUTION"]))
        return self._sent(session, made)

    def _drift(self, session: Session) -> Sent:
        checks = {"ci_verifiable": self._dice.random() < 0.5, "phase_appropriate": True}
        return self._sent(session, self._new("IDEA", session, metadata={"anti_drift": checks}))

    def _shape(self, session: Session) -> Sent:
        made = self._new(self._dice.choice(["IDEA", "EVAL", "DECISION"]), session)
        self._dice.choice(SHAPE_FAULTS)(made)
        session.packets.append(made)
        return Sent(made)

    def _misplaced(self, session: Session) -> Sent:
        made = self._new("IDEA", session)
        home = partition_of(session.name.encode(), PARTITIONS)
        match self._dice.randrange(4):
            case 0:
                return Sent(made, key=None, partition=self._dice.randrange(PARTITIONS))
            case 1:
                return Sent(made, key=b"another")
            case 2:
                return Sent(made, key=b"\xff\xfe")
            case _:
                return Sent(made, partition=(home + 1) % PARTITIONS)

    def _nameless(self, session: Session) -> Sent:
        made = self._new("IDEA", session)
        if self._dice.random() < 0.5:
            made["packet_id"] = "no uuid"
        else:
            made["trace"]["session_id"] = ""
        return Sent(made)

    def _undecodable(self, session: Session) -> Sent:
        return Sent(None, key=session.name.encode(), value=self._dice.choice(UNDECODABLE))


def _found(packet_id: str, among: list[Json]) -> Json | None:
    return next((one for one in among if one["packet_id"] == packet_id), None)


def _undecodable() -> tuple[bytes | None, ...]:
    frame = b"\0" + struct.pack(">I", CATALOGUE.id_of("headrace.apc.ApcPacket"))
    another = encode("headrace.core.TimerRow", {"data": {}})
    return (None, b"", b"{}", b"\0", b"\0\0\0\0\7x", another, frame, frame + b"\x80" * 40)


UNDECODABLE = _undecodable()
"""Null, no frame, a schema id that nobody gave, another record, a body that ends or runs on."""


def outputs(
    made: Outputs, dice: random.Random, packets: int, sessions: int = SESSIONS
) -> list[Output]:
    """So many packet records, and an observation after every thirtieth."""
    records = []
    observed = observations(dice, sessions)
    for number, sent in enumerate(islice(Traffic(dice, sessions), packets)):
        records.append(output_of(made, sent))
        if number % 30 == 0:
            records.append(made.record(RTES_RAW, next(observed)))
    return records


def output_of(made: Outputs, sent: Sent) -> Output:
    if sent.packet is None:
        return made.raw(sent.key or b"", sent.value)
    output = made.packet(sent.packet)
    if sent.key != b"":
        output = output._replace(key=sent.key)
    return output._replace(partition=sent.partition)
