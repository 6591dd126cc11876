"""What packets carry that move protocols, sessions and agents: legal and illegal, as dice fall.

Each function gives (packet type, members), the members as `Traffic` hands them to a new packet.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from tests.e2e.outputs import Json
from tests.unit.protocols.apc.processor.packets import PASSING
from topology.machines.apc_inter import InterEvent
from topology.machines.apc_intra import IntraEvent

SWARMS = ("sw-a", "sw-b", "sw-c")
PROTOCOLS = tuple(f"p/{n}%" if n % 7 == 0 else f"p{n}" for n in range(24))
EVENTS = (*InterEvent, *IntraEvent, "no_such_event")

Step = tuple[str, Json]

_GENERATIONS = {3: 1, 11: 1, 14: 6, 20: 1, 21: 5, 25: 1}
_PHASES = {"REFINEMENT": 6, "CONVERGENCE": 4, "PROMOTION": 2, "ARBITRATION": 0.3}
_SCORES = {
    (0.9, 0.4): 6,
    (1, 0.1): 2,
    (0.85, 0.7): 2,
    (0.84, 0.7): 0.4,
    (0.7, 0.7): 0.4,
    (0.3, 0.6): 0.2,
}
_TOP_K = {1: 5, 2: 8, 3: 0.4, None: 0.4}
_MODES = {
    "WINNER_TO_LOSERS": 4,
    "COMMONS_SEED": 1,
    "SELECTIVE_IMPORT": 1,
    "CROSS_USE_CASE": 1,
}


def drawn(dice: random.Random, weights: Mapping[Any, float]) -> Any:
    return dice.choices(list(weights), list(weights.values()))[0]


def protocols_of(session: int) -> tuple[str, str]:
    """The two that a session deals with; some are dealt with in many sessions."""
    return PROTOCOLS[session % len(PROTOCOLS)], PROTOCOLS[session * 5 % 11]


def transfer(dice: random.Random, protocol: str, swarm: str) -> Step:
    """Of a protocol by a swarm; how often one is taken over depends on the protocol."""
    mode = drawn(dice, _MODES)
    policy = {
        "mode": mode,
        "min_generation": dice.choice([0, 0, 0, 11, 11, 21]),
        "top_k": drawn(dice, _TOP_K),
        "threshold_multiplier": drawn(dice, {None: 8, 1.25: 1, 3: 1}),
    }
    scores = drawn(dice, _SCORES)
    payload: Json = {
        "protocol_id": protocol,
        "from_swarm": drawn(dice, {swarm: 30, "sw-x": 1}),
        "to_swarm": dice.choice([*SWARMS, "sw-d"]),
        "sender_score": scores[0],
        "receiver_score": scores[1],
        "transfer_policy": _present(policy),
    }
    quality = PROTOCOLS.index(protocol) % 4 / 3
    if dice.random() < 0.8:
        payload["accepted"] = dice.random() < quality
    named = protocol if dice.random() < 0.97 else "another"
    lineage_members = {
        **lineage(dice, named),
        "transfer_mode": drawn(dice, {mode: 3, None: 3, **_MODES}),
    }
    members = {"payload": payload, "lineage": _present(lineage_members), "swarm": swarm}
    phase = drawn(dice, _PHASES)
    generation = drawn(dice, _GENERATIONS)
    return "TRANSFER", {**members, "run_phase": phase, "generation": generation}


def lineage(dice: random.Random, protocol: str) -> Json:
    made: Json = {"protocol_id": protocol}
    if dice.random() < 0.3:
        parents = [dice.choice(PROTOCOLS) for _ in range(dice.randrange(3))]
        made["parent_protocol_ids"] = parents
    if dice.random() < 0.2:
        made["cross_use_case"] = dice.random() < 0.7
    return made


def metrics(dice: random.Random) -> Json:
    """Mostly such as meet the gates."""
    outcome = dice.choice([0.4, 0.5, 0.5, 0.9, 0.9, 0.123456789, 0.6666666665])
    values = {**PASSING, "outcome": outcome}
    drift = drawn(dice, {None: 3, 0.3: 6, 0.0: 2, 0.1234567: 2, 0.95: 2})
    return _present({**values, "drift_risk": drift})


def _present(members: Json) -> Json:
    return {name: member for name, member in members.items() if member is not None}


def _seed(phase: str, generation: int) -> Step:
    payload = {
        "protocol_id": PROTOCOLS[3],
        "transfer_policy": {"mode": "COMMONS_SEED", "min_generation": 0, "top_k": 2},
    }
    named = {"protocol_id": PROTOCOLS[3]}
    members: Json = {"payload": payload, "lineage": named, "run_phase": phase}
    return "TRANSFER", {**members, "generation": generation}


def _signal(word: str, **members: Any) -> Step:
    return "SIGNAL", {"payload": {"signal": word}, **members}


OF_SESSION: tuple[Step, ...] = (
    ("TASK_IR", {}),
    *(_signal("SYNC", swarm=swarm) for swarm in SWARMS),
    ("HEARTBEAT", {"generation": 12}),
    _seed("REFINEMENT", 14),
    ("ARBITRATION", {}),
    ("DECISION", {"payload": {"commitment_level": "APPROVED"}}),
    ("ARTIFACT", {}),
    ("EVAL", {}),
    ("EVAL", {"run_phase": "VALIDATION"}),
    _seed("PROMOTION", 14),
)
"""A session that goes on from its beginning to its end, unless something comes in between."""


def of_agent(dice: random.Random) -> tuple[Step, ...]:
    """An agent's work from its task to what it publishes."""
    local: Json = {"channel": "INTRA_AGENT"}
    surer = {"confidence_pre": 0.5, "confidence_post": dice.choice([0.4, 0.5, 0.9])}
    passed = {"pass": dice.random() < 0.8}
    asks = {"requires_ack": dice.random() < 0.7, "ttl_ms": 2000}
    return (
        ("TASK_IR", local),
        _signal("SYNC", **local),
        ("IDEA", local),
        ("CLAIM", {**local, "payload": surer}),
        ("ARTIFACT", local),
        ("EVAL", {**local, "payload": passed}),
        ("IDEA", {"routing": asks}),
    )


def signal(dice: random.Random) -> Step:
    """What holds a session back, or lets it go on; seldom what ends it."""
    words = {"VETO": 3, "RESUME": 4, "SYNC": 3, "CANCEL": 0.5, "STOP": 1.5, "START": 1}
    return _signal(drawn(dice, words))


def error(dice: random.Random) -> Step:
    return "ERROR", {"payload": {"retryable": dice.random() < 0.7}}
