"""Ways through the coordination machines, for tests."""

from __future__ import annotations

from typing import Any

from tests.unit.protocols.apc.processor.packets import (
    PASSING,
    Bench,
    Json,
    candidate,
    evaluation,
    packet,
    transfer,
)

FAILING = {**PASSING, "rtf": 0.9}


def signal(n: int, word: str, **members: Any) -> Json:
    return packet("SIGNAL", n, payload={"signal": word}, **members)


def local(packet_type: str, n: int, **members: Any) -> Json:
    return packet(packet_type, n, channel="INTRA_AGENT", **members)


def named(n: int, event: str, packet_type: str = "HEARTBEAT", **members: Any) -> Json:
    """A packet that names an event itself."""
    return packet(packet_type, n, metadata={"coordination_event": event}, **members)


def young(made: Json, generation: int = 5) -> Json:
    """The packet in a generation in which no transfer window is open."""
    made["trace"]["generation"] = generation
    return made


def validation(n: int, *, ok: bool, **members: Any) -> Json:
    payload = {"metric_set": PASSING if ok else FAILING}
    return evaluation(n, run_phase="VALIDATION", payload=payload, **members)


def decision(n: int, level: str | None = "APPROVED", **members: Any) -> Json:
    payload = {} if level is None else {"commitment_level": level}
    return packet("DECISION", n, payload=payload, **members)


def arbitration(n: int, *refs: str, vetoes: tuple[str, ...] = (), **members: Any) -> Json:
    payload: Json = {"candidates": [candidate("one", 0.9, *refs), candidate("two", 0.4)]}
    if vetoes:
        payload["vetoes"] = [{"agent_id": agent, "reason": "no"} for agent in vetoes]
    return packet("ARBITRATION", n, payload=payload, **members)


# The packet that leads from each state of a session to the next.
SESSION_STEPS: list[tuple[str, Json]] = [
    ("SESSION_OPEN", young(packet("TASK_IR", 901))),
    ("DIFFERENTIATED_RESEARCH", young(signal(902, "SYNC"))),
    ("INDEPENDENT_DISCOVERY", packet("HEARTBEAT", 903)),
    ("SELECTIVE_TRANSFER", transfer(904)),
    ("CONTROLLED_CONVERGENCE", arbitration(905)),
    ("ARBITRATION", decision(906)),
    ("EXECUTION", packet("ARTIFACT", 907)),
    ("EXECUTION", evaluation(908)),
    ("VALIDATION", validation(909, ok=True)),
    ("PROMOTION", transfer(910, "sw-c", phase="PROMOTION", policy={"mode": "COMMONS_SEED"})),
]
OBSERVING: Json = {"APC_COORDINATION_SESSION": "observe", "APC_COORDINATION_AGENT": "observe"}
"""The policy by which coordination refuses nothing, so that all its events are seen."""
SESSION_STATES = list(dict.fromkeys(state for state, _ in SESSION_STEPS))


def session_in(state: str) -> Bench:
    """A session that has come to this state on the plain way; CLOSED and HALTED too.

    Coordination refuses nothing from then on.
    """
    bench = Bench(**OBSERVING)
    for before, step in SESSION_STEPS:
        if before == state:
            break
        bench.give(step)
    if state == "HALTED":
        bench = Bench(**OBSERVING)
        bench.give(young(signal(911, "STOP")))
    assert state == "SESSION_OPEN" or bench.coordination()["state"] == state
    return bench


AGENT = "planner-1"
_OWN: Json = {"sender": AGENT}
AGENT_STEPS: list[tuple[str, Json]] = [
    ("LOCAL_IDLE", young(packet("TASK_IR", 921, sender="boss", to=(AGENT,)))),
    ("CONTEXT_SYNC", young(local("SIGNAL", 922, payload={"signal": "SYNC"}, **_OWN))),
    ("IDEA_SYNTHESIS", young(local("IDEA", 923, **_OWN))),
    ("SELF_CRITIQUE", young(local("CLAIM", 924, **_OWN))),
    ("LOCAL_BUILD", young(local("ARTIFACT", 925, **_OWN))),
    ("LOCAL_VERIFY", young(local("EVAL", 926, **_OWN))),
    (
        "PUBLISH",
        young(packet("IDEA", 927, to=("a", "b"), routing={"requires_ack": True}, **_OWN)),
    ),
]
AGENT_STATES = [state for state, _ in AGENT_STEPS] + ["WAIT_FOR_ACK", "LOCAL_HALT"]


def agent_in(state: str) -> Bench:
    """An agent that has come to this state; in WAIT_FOR_ACK it waits for packet 927."""
    bench = Bench(**OBSERVING)
    for before, step in AGENT_STEPS:
        if before == state:
            break
        bench.give(step)
    if state == "LOCAL_HALT":
        bench = Bench(**OBSERVING)
        bench.give(young(packet("ERROR", 928, payload={"retryable": False}, **_OWN)))
    if state != "LOCAL_IDLE":
        assert bench.coordination(AGENT)["state"] == state
    return bench


def noted(fact: Json) -> list[tuple[str | None, str, str, str | None, str]]:
    """(agent, event, from, to, why) of each note."""
    for note in fact["coordination"]:
        assert note["packet_id"] == fact["packet_id"]
        assert note["at"] == fact["at"]
        assert note["applied"] is (note["why"] == "applied") is (note["to_state"] is not None)
        assert note["machine"] == ("inter" if note["agent_id"] is None else "intra")
    return [
        (note["agent_id"], note["event"], note["from_state"], note["to_state"], note["why"])
        for note in fact["coordination"]
    ]


def of_session(fact: Json) -> list[tuple[str, str, str | None, str]]:
    """(event, from, to, why) of the notes about the session."""
    return [note[1:] for note in noted(fact) if note[0] is None]


def of_agent(fact: Json, agent: str = AGENT) -> list[tuple[str, str, str | None, str]]:
    return [note[1:] for note in noted(fact) if note[0] == agent]
