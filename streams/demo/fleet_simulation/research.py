"""The steps of a use case in every generation besides teaching: work, and the next decision."""

from __future__ import annotations

from streams.demo.fleet_simulation.context import (
    ACCEPTED,
    OUT_OF_STATE,
    VETOED,
    FleetContext,
    Json,
)
from streams.demo.fleet_simulation.world import FIRST_TRANSFERS, PROTOCOLS, SWARMS

CONDUCTOR = "conductor/amber"
HALTED_AGENT = "intern/birch"
"""An agent that fails for good as the session opens."""
THRESHOLDS = dict.fromkeys(
    ("rtf", "stability", "audit", "outcome", "learnability", "generalization_ratio"), 0.5
)
BUILDERS = tuple(f"builder/{swarm}" for swarm in SWARMS)


def metrics(outcome: float, drift: float | None) -> Json:
    """Return metrics that meet the gates, except perhaps for these two."""
    metrics: Json = {
        "rtf": 1.0,
        "stability": 0.95,
        "audit": 1.0,
        "outcome": round(min(1.0, max(0.0, outcome)), 2),
        "learnability": 0.75,
        "generalization_ratio": 0.9,
    }
    return (
        metrics if drift is None else metrics | {"drift_risk": round(min(1.0, max(0.0, drift)), 2)}
    )


def evaluation(measured: Json) -> Json:
    passes = all(measured[name] >= bound for name, bound in THRESHOLDS.items())
    return {"metric_set": measured, "thresholds": THRESHOLDS, "pass": passes}


def idea(fleet: FleetContext) -> Json:
    return {
        "method_id": f"method-{fleet.session.use_case}-{fleet.session.steps}",
        "intent": "Try another split of the data.",
        "assumptions": ["Labels are complete after a week"],
        "required_capabilities": ["calibration"],
        "expected_impact": {"quality_gain": 0.1, "cost_change": 0.05, "risk_change": -0.05},
        "failure_modes": [],
    }


def claim(fleet: FleetContext) -> Json:
    number = fleet.session.steps
    return {
        "claim_id": f"claim-{number}",
        "hypothesis_id": f"hypothesis-{number}",
        "text": "It holds on unseen weeks.",
        "confidence_pre": 0.5,
        "confidence_post": round(fleet.dice.uniform(0.5, 0.9), 2),
    }


def artifact(fleet: FleetContext, kind: str = "METRIC_REPORT") -> Json:
    name = f"artifact-{fleet.session.use_case}-{fleet.session.steps}"
    return {
        "artifact_id": name,
        "artifact_uri": f"store://{name}",
        "artifact_hash": "0" * 64,
        "artifact_kind": kind,
    }


def _brief(fleet: FleetContext, to: tuple[str, ...]) -> None:
    trace = (fleet.task("research"), fleet.session.run_id)
    header = dict(zip(("task_id", "run_id"), trace, strict=True))
    header |= {"swarm_id": "swarm-amber", "dialect_id": "plain", "dialect_hash": "0" * 64}
    goal = {"type": "Evidence", "id": "e1", "kind": "doc", "ref": "brief", "supports": True}
    payload = {"ir_header": header, "objects": [goal]}
    fleet.send(fleet.new("TASK_IR", "RESEARCH", payload, CONDUCTOR, to))


def _signal(
    fleet: FleetContext, signal: str, sender: str, to: str, channel: str | None = None
) -> Json:
    phase = "RESEARCH" if fleet.generation < FIRST_TRANSFERS else "CONVERGENCE"
    return fleet.send(
        fleet.new("SIGNAL", phase, {"signal": signal}, sender, (to,), channel=channel)
    )


def open_session(fleet: FleetContext) -> None:
    """Send every swarm its brief and its readiness signal; one agent fails for good."""
    _brief(fleet, BUILDERS)
    for builder in BUILDERS:
        _signal(fleet, "SYNC", builder, CONDUCTOR)
    failure = {"error_code": "no-runtime", "message": "It cannot start.", "retryable": False}
    fleet.send(fleet.new("ERROR", "EXECUTION", failure, HALTED_AGENT, (CONDUCTOR,)))


def work(fleet: FleetContext, builder: str) -> None:
    """Send the packets of one builder's task: brief, own loop, and the published claim."""
    if fleet.generation:
        _brief(fleet, (builder,))
    _signal(fleet, "SYNC", builder, builder, "INTRA_AGENT")
    peers = tuple(other for other in BUILDERS if other != builder)
    evidence = {"evidence_refs": ["trace:notebook"]}
    intra_agent = {"channel": "INTRA_AGENT"}
    fleet.send(fleet.new("IDEA", "DISCOVERY", idea(fleet), builder, peers[:2], **_stale(fleet)))
    claimed = claim(fleet)
    fleet.send(
        fleet.new(
            "CLAIM", "DISCOVERY", claimed, builder, (builder,), proof_bundle=evidence, **intra_agent
        )
    )
    fleet.send(
        fleet.new("ARTIFACT", "DISCOVERY", artifact(fleet), builder, (builder,), **intra_agent)
    )
    measured = evaluation(metrics(fleet.dice.uniform(0.3, 0.8), fleet.dice.uniform(0.1, 0.6)))
    fleet.send(
        fleet.new(
            "EVAL", "EXECUTION", measured, builder, (builder,), proof_bundle=evidence, **intra_agent
        )
    )
    published = fleet.new(
        "CLAIM", "DISCOVERY", claimed, builder, peers[:1], proof_bundle=evidence, requires_ack=True
    )
    fleet.session.done.append(fleet.send(published))
    draw = fleet.dice.random()
    if draw < 0.9:
        status = "ACCEPTED" if draw < 0.75 else "DEFERRED" if draw < 0.82 else "REJECTED"
        fleet.send(fleet.acknowledge(published, 0, status))


def _stale(fleet: FleetContext) -> Json:
    """Return an expiry in the past for one idea in twenty, nothing for the others."""
    return {"expires_at": "2025-12-31T00:00:00Z"} if fleet.session.chance(0.05) else {}


def beats(fleet: FleetContext) -> None:
    for swarm in SWARMS:
        if fleet.session.chance(0.2):
            alive = {"signal": "HEARTBEAT"}
            sender, phase = f"sentinel/{swarm}", "EXECUTION"
            fleet.send(fleet.new("HEARTBEAT", phase, alive, sender, (CONDUCTOR,)))


def found_protocols(fleet: FleetContext) -> None:
    """Publish each new protocol on behalf of its swarm, with the protocols it was derived from."""
    for protocol in PROTOCOLS:
        if protocol.home == fleet.session.use_case and protocol.since == fleet.generation:
            made, finder = artifact(fleet, "PROTOCOL"), f"builder/{protocol.teachers[0]}"
            lineage = fleet.lineage(protocol)
            fleet.send(
                fleet.new("ARTIFACT", "PROMOTION", made, finder, BUILDERS[:1], lineage=lineage)
            )


def decide(fleet: FleetContext, *, at_last: bool) -> None:
    """Arbitrate between the lessons, send the decision, its execution and its validation.

    at_last: there is no veto, and the validation passes.  Without a lesson in this generation, and
    under a veto that stays open, the decision is refused.
    """
    session = fleet.session
    _arbitrate(fleet)
    objection = None if at_last else _veto(fleet)
    payload = {
        "decision_id": f"decision-{fleet.session.steps}",
        "recommendation": "Take over the winner.",
        "priority_distribution": {"winner": 0.8, "others": 0.2},
        "next_actions": ["roll out"],
        "commitment_level": "APPROVED",
    }
    committed = fleet.new("DECISION", "ARBITRATION", payload, CONDUCTOR, BUILDERS[:2])
    fleet.send(committed, _rules_of(session.converges, ACCEPTED if objection is None else VETOED))
    if objection is None:
        session.converges = frozenset({False})
    fleet.send(fleet.new("ARTIFACT", "EXECUTION", artifact(fleet), BUILDERS[0], (CONDUCTOR,)))
    _measure(fleet, "EXECUTION", 0.7, 0.1)
    _measure(fleet, "VALIDATION", 0.8 if at_last else 0.4, 0.1 if at_last else 0.5)
    if objection is not None:
        fleet.session.done.append(objection)


def _rules_of(converges: frozenset[bool], rules: frozenset[str]) -> frozenset[str]:
    """Return the rules of which one decides; rules: those for a session that has converged."""
    outside = OUT_OF_STATE if False in converges else frozenset()
    return outside | (rules if True in converges else frozenset())


def _measure(fleet: FleetContext, phase: str, outcome: float, drift: float) -> None:
    payload = evaluation(metrics(outcome, drift))
    proof = {"evidence_refs": ["trace:board"]}
    tester = "tester/cedar"
    fleet.send(fleet.new("EVAL", phase, payload, tester, (CONDUCTOR,), proof_bundle=proof))


def candidates(fleet: FleetContext) -> list[Json]:
    """Return the lessons of this generation in pairs, and substitutes where there are too few."""
    taught = [lesson.packet["packet_id"] for lesson in fleet.lessons[:6]]
    groups = [taught[first : first + 2] for first in range(0, len(taught), 2)]
    while len(groups) < 2:
        groups.append([fleet.sent[0].packet["packet_id"]])
    return [
        {
            "candidate_id": f"candidate-{number}",
            "packet_ref_ids": references,
            "score_components": {"outcome": 0.5},
            "total_score": 0.5,
        }
        for number, references in enumerate(groups, 1)
    ]


def _arbitrate(fleet: FleetContext) -> None:
    payload = {
        "arbitration_id": f"arbitration-{fleet.session.steps}",
        "winner_candidate_id": "candidate-1",
        "candidates": candidates(fleet),
        "scoring": {"outcome": 1.0},
    }
    packet = fleet.new("ARBITRATION", "ARBITRATION", payload, CONDUCTOR, BUILDERS[:2])
    fleet.send(packet, _rules_of(fleet.session.converges, ACCEPTED))


def _veto(fleet: FleetContext) -> Json | None:
    """Send at random a sentinel's veto, sometimes withdrawn; return one that stays open."""
    if not fleet.session.chance(0.35):
        return None
    sentinel = f"sentinel/{fleet.swarm()}"
    veto = _signal(fleet, "VETO", sentinel, CONDUCTOR)
    if fleet.session.chance(0.5):
        _signal(fleet, "RESUME", sentinel, CONDUCTOR)
        return None
    return veto
