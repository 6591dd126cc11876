"""Violations of everything that the policy of APC/1.0 refuses, one function for each rule.

A function returns the packets that violate its rule, or None if this scene has nothing to build
them from. The only rule without one is that of CONVERGENCE on top_k: the windows refuse such
packets first.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from typing import Any

from schemas.apc import ANTI_DRIFT_CHECKS
from streams.demo.fleet_simulation.context import FleetContext, Json
from streams.demo.fleet_simulation.research import HALTED_AGENT, candidates, claim, idea
from streams.demo.fleet_simulation.teaching import retraction, transfer
from streams.demo.fleet_simulation.world import FIRST_TRANSFERS, LATE, PROTOCOLS, SWARMS

Fault = Callable[[FleetContext], Json | None]
BUILDER, PEER = "builder/birch", ("builder/delta",)


def _faulty_transfer(fleet: FleetContext, phase: str = "CONVERGENCE", **members: Any) -> Json:
    """Return a legal transfer of its own task, to be made wrong.

    members: of the payload; they replace legal ones.
    """
    protocol = PROTOCOLS[0]
    packet = transfer(fleet, protocol, "ember", "birch", phase=phase)
    packet["trace"]["task_id"] = fleet.task("odd")
    lineage = packet["lineage"]
    lineage["cross_use_case"] = False
    packet["payload"] |= members
    return packet


def _policy(packet: Json, **members: Any) -> Json:
    packet["payload"]["transfer_policy"] |= members
    return packet


def _in(low: int, high: int, make: Fault) -> Fault:
    return lambda scene: make(scene) if low <= scene.generation < high else None


def _lineage_mismatch(fleet: FleetContext) -> Json:
    packet = _faulty_transfer(fleet)
    packet["lineage"]["protocol_id"] = PROTOCOLS[2].name + fleet.session.suffix
    return packet


def _too_early(fleet: FleetContext) -> Json:
    return _faulty_transfer(fleet)


def _on_the_line(fleet: FleetContext) -> Json:
    """Return a transfer with a score at its threshold: 0.84 is 0.7 times 1.2, not above it."""
    return _faulty_transfer(fleet, sender_score=0.84, receiver_score=0.7)


def _no_top_k(fleet: FleetContext) -> Json:
    packet = _faulty_transfer(fleet)
    del packet["payload"]["transfer_policy"]["top_k"]
    return packet


def _great_top_k(fleet: FleetContext) -> Json:
    return _policy(_faulty_transfer(fleet), top_k=3)


def _cross(fleet: FleetContext) -> Json:
    packet = _faulty_transfer(fleet)
    packet["lineage"]["cross_use_case"] = True
    return packet


def _refined(fleet: FleetContext) -> Json:
    return _faulty_transfer(fleet, "REFINEMENT", sender_score=0.6, receiver_score=0.55)


def _wrong_mode(fleet: FleetContext) -> Json:
    return _policy(_faulty_transfer(fleet, "PROMOTION"), mode="SELECTIVE_IMPORT")


def _later_only(fleet: FleetContext) -> Json:
    return _policy(_faulty_transfer(fleet), min_generation=fleet.generation + 5)


def _own_threshold(fleet: FleetContext) -> Json:
    packet = _faulty_transfer(fleet, sender_score=0.85, receiver_score=0.6)
    return _policy(packet, threshold_multiplier=1.5)


def _third_receiver(fleet: FleetContext) -> Json | None:
    """Offer to a third swarm what two swarms were taught in this generation."""
    taught = Counter(lesson.protocol for lesson in fleet.lessons)
    lessons = (each for each in fleet.lessons if each.protocol.sound and taught[each.protocol] > 1)
    lesson = next(lessons, None)
    if lesson is None:
        return None
    protocol = lesson.protocol
    teacher = lesson.packet["payload"]["from_swarm"].removeprefix("swarm-")
    others = [name for name in SWARMS if name not in (teacher, *protocol.students)]
    packet = transfer(fleet, protocol, teacher, fleet.dice.choice(others))
    packet["trace"]["task_id"] = fleet.task("odd")
    return packet


def _wrong_phase(fleet: FleetContext) -> Json:
    if fleet.generation >= FIRST_TRANSFERS and fleet.session.chance(0.5):
        return _faulty_transfer(fleet, "EXECUTION")
    return fleet.new("IDEA", "EXECUTION", idea(fleet), BUILDER, PEER)


def _drifting(fleet: FleetContext) -> Json:
    checks = {**dict.fromkeys(ANTI_DRIFT_CHECKS, True), "within_current_scope": False}
    return fleet.new(
        "IDEA", "DISCOVERY", idea(fleet), BUILDER, PEER, metadata={"anti_drift": checks}
    )


def _unchecked(fleet: FleetContext) -> Json | None:
    """Return an idea without all drift checks; it is only refused where they are required."""
    if not fleet.session.checks_drift:
        return None
    checks = dict.fromkeys(ANTI_DRIFT_CHECKS[:5], True)
    return fleet.new(
        "IDEA", "DISCOVERY", idea(fleet), BUILDER, PEER, metadata={"anti_drift": checks}
    )


def _unknown_winner(fleet: FleetContext) -> Json:
    payload = {
        "arbitration_id": f"arbitration-{fleet.session.steps}",
        "winner_candidate_id": "candidate-9",
        "candidates": candidates(fleet),
        "scoring": {},
    }
    return fleet.new("ARBITRATION", "ARBITRATION", payload, BUILDER, PEER)


def _unknown_target(fleet: FleetContext) -> Json | None:
    if not fleet.session.retracted:
        return None
    return retraction(fleet, fleet.session.retracted[-1], fleet.session.uuid())


def _twice_retracted(fleet: FleetContext) -> Json | None:
    gone = fleet.session.retracted
    return retraction(fleet, fleet.dice.choice(gone)) if gone else None


def _retracted_retraction(fleet: FleetContext) -> Json | None:
    made = fleet.session.retractions
    return retraction(fleet, made[-1]) if made else None


def _foreign_retraction(fleet: FleetContext) -> Json | None:
    target = next((packet for packet in fleet.session.done), None)
    if target is None:
        return None
    packet = retraction(fleet, target)
    swarm = fleet.swarm(target["sender"]["swarm_id"].removeprefix("swarm-"))
    packet["sender"] |= {"agent_id": f"sentinel-{swarm}", "swarm_id": f"swarm-{swarm}"}
    return packet


def _answered(fleet: FleetContext, target_id: str) -> Json:
    payload = {"acked_packet_id": target_id, "ack_status": "ACCEPTED"}
    return fleet.new("ACK", "DISCOVERY", payload, "stranger/cedar", PEER)


def _foreign_answer(fleet: FleetContext) -> Json:
    return _answered(fleet, fleet.sent[0].packet["packet_id"])


def _unknown_answer(fleet: FleetContext) -> Json:
    return _answered(fleet, fleet.session.uuid())


def _repeated(fleet: FleetContext) -> Json:
    return copy.deepcopy(fleet.sent[0].packet)


def _conflicting(fleet: FleetContext) -> Json:
    packet = _repeated(fleet)
    return packet | {"confidence": 0.01}


def _empty_proof(fleet: FleetContext) -> Json:
    """Return a claim with an empty proof, which is accepted with a warning."""
    return fleet.new("CLAIM", "DISCOVERY", claim(fleet), BUILDER, PEER, proof_bundle={})


def _event_without_edge(fleet: FleetContext) -> Json:
    """Return a claim that names an event of the session's first step, long after it."""
    event = {"coordination_event": "all_swarms_ready"}
    proof = {"evidence_refs": ["trace:notebook"]}
    return fleet.new(
        "CLAIM", "DISCOVERY", claim(fleet), BUILDER, PEER, proof_bundle=proof, metadata=event
    )


def _of_halted_agent(fleet: FleetContext) -> Json:
    return fleet.new("IDEA", "DISCOVERY", idea(fleet), HALTED_AGENT, PEER)


_END = 10_000
FAULTS: tuple[tuple[str, Fault], ...] = (
    ("phase_type", _wrong_phase),
    ("drift_check_failed", _drifting),
    ("drift_check_missing", _unchecked),
    ("lineage_mismatch", _lineage_mismatch),
    ("generation_disabled", _in(0, FIRST_TRANSFERS, _too_early)),
    ("score_below_window", _in(FIRST_TRANSFERS, LATE, _on_the_line)),
    ("top_k_missing", _in(FIRST_TRANSFERS, _END, _no_top_k)),
    ("top_k_over_limit", _in(FIRST_TRANSFERS, _END, _great_top_k)),
    ("cross_use_case_not_allowed", _in(FIRST_TRANSFERS, LATE, _cross)),
    ("phase_guard_score", _in(LATE, _END, _refined)),
    ("phase_guard_mode", _in(FIRST_TRANSFERS, _END, _wrong_mode)),
    ("min_generation", _in(FIRST_TRANSFERS, _END, _later_only)),
    ("threshold_multiplier", _in(FIRST_TRANSFERS, _END, _own_threshold)),
    ("top_k_exhausted", _third_receiver),
    ("unknown_winner", _unknown_winner),
    ("retraction_of_retraction", _retracted_retraction),
    ("retraction_target_unknown", _unknown_target),
    ("retraction_not_owner", _foreign_retraction),
    ("already_retracted", _twice_retracted),
    ("ack_target_unknown", _unknown_answer),
    ("ack_not_recipient", _foreign_answer),
    ("duplicate", _repeated),
    ("packet_conflict", _conflicting),
    ("accepted", _empty_proof),
    ("coordination_event_illegal", _event_without_edge),
    ("agent_halted", _of_halted_agent),
)


def commit(fleet: FleetContext, count: int) -> None:
    """Send `count` faults, taken in turn from those that this scene can build."""
    session = fleet.session
    committed = 0
    for _ in range(len(FAULTS)):
        if committed == count:
            return
        rule, make = FAULTS[session.faults % len(FAULTS)]
        session.faults += 1
        packet = make(fleet)
        if packet is not None:
            fleet.send(packet, frozenset({rule}))
            committed += 1
