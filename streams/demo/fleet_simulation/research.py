"""The steps of a use case in every generation besides teaching: work, and the next decision."""

from __future__ import annotations

from streams.demo.fleet_simulation.context import FleetContext, Json
from streams.demo.fleet_simulation.world import FIRST_TRANSFERS, PROTOCOLS, SWARMS

CONDUCTOR = "conductor/amber"
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


def idea(scene: FleetContext) -> Json:
    return {
        "method_id": f"method-{scene.session.use_case}-{scene.session.steps}",
        "intent": "Try another split of the data.",
        "assumptions": ["Labels are complete after a week"],
        "required_capabilities": ["calibration"],
        "expected_impact": {"quality_gain": 0.1, "cost_change": 0.05, "risk_change": -0.05},
        "failure_modes": [],
    }


def claim(scene: FleetContext) -> Json:
    number = scene.session.steps
    return {
        "claim_id": f"claim-{number}",
        "hypothesis_id": f"hypothesis-{number}",
        "text": "It holds on unseen weeks.",
        "confidence_pre": 0.5,
        "confidence_post": round(scene.dice.uniform(0.5, 0.9), 2),
    }


def artifact(scene: FleetContext, kind: str = "METRIC_REPORT") -> Json:
    name = f"artifact-{scene.session.use_case}-{scene.session.steps}"
    return {
        "artifact_id": name,
        "artifact_uri": f"store://{name}",
        "artifact_hash": "0" * 64,
        "artifact_kind": kind,
    }


def _brief(scene: FleetContext, to: tuple[str, ...]) -> None:
    trace = (scene.task("research"), scene.session.run_id)
    header = dict(zip(("task_id", "run_id"), trace, strict=True))
    header |= {"swarm_id": "swarm-amber", "dialect_id": "plain", "dialect_hash": "0" * 64}
    goal = {"type": "Evidence", "id": "e1", "kind": "doc", "ref": "brief", "supports": True}
    payload = {"ir_header": header, "objects": [goal]}
    scene.send(scene.new("TASK_IR", "RESEARCH", payload, CONDUCTOR, to))


def _signal(
    scene: FleetContext, signal: str, sender: str, to: str, channel: str | None = None
) -> Json:
    phase = "RESEARCH" if scene.generation < FIRST_TRANSFERS else "CONVERGENCE"
    return scene.send(
        scene.new("SIGNAL", phase, {"signal": signal}, sender, (to,), channel=channel)
    )


def open_session(scene: FleetContext) -> None:
    """Send every swarm its brief and its readiness signal."""
    _brief(scene, BUILDERS)
    for builder in BUILDERS:
        _signal(scene, "SYNC", builder, CONDUCTOR)


def work(scene: FleetContext, builder: str) -> None:
    """Send the packets of one builder's task: brief, own loop, and the published claim."""
    if scene.generation:
        _brief(scene, (builder,))
    _signal(scene, "SYNC", builder, builder, "INTRA_AGENT")
    peers = tuple(other for other in BUILDERS if other != builder)
    evidence = {"evidence_refs": ["trace:notebook"]}
    intra_agent = {"channel": "INTRA_AGENT"}
    scene.send(scene.new("IDEA", "DISCOVERY", idea(scene), builder, peers[:2], **_stale(scene)))
    claimed = claim(scene)
    scene.send(
        scene.new(
            "CLAIM", "DISCOVERY", claimed, builder, (builder,), proof_bundle=evidence, **intra_agent
        )
    )
    scene.send(
        scene.new("ARTIFACT", "DISCOVERY", artifact(scene), builder, (builder,), **intra_agent)
    )
    measured = evaluation(metrics(scene.dice.uniform(0.3, 0.8), scene.dice.uniform(0.1, 0.6)))
    scene.send(
        scene.new(
            "EVAL", "EXECUTION", measured, builder, (builder,), proof_bundle=evidence, **intra_agent
        )
    )
    published = scene.new(
        "CLAIM", "DISCOVERY", claimed, builder, peers[:1], proof_bundle=evidence, requires_ack=True
    )
    scene.session.done.append(scene.send(published))
    draw = scene.dice.random()
    if draw < 0.9:
        status = "ACCEPTED" if draw < 0.75 else "DEFERRED" if draw < 0.82 else "REJECTED"
        scene.send(scene.acknowledge(published, 0, status))


def _stale(scene: FleetContext) -> Json:
    """Return an expiry in the past for one idea in twenty, nothing for the others."""
    return {"expires_at": "2025-12-31T00:00:00Z"} if scene.session.chance(0.05) else {}


def beats(scene: FleetContext) -> None:
    for swarm in SWARMS:
        if scene.session.chance(0.2):
            alive = {"signal": "HEARTBEAT"}
            sender, phase = f"sentinel/{swarm}", "EXECUTION"
            scene.send(scene.new("HEARTBEAT", phase, alive, sender, (CONDUCTOR,)))


def found_protocols(scene: FleetContext) -> None:
    """Publish each new protocol on behalf of its swarm, with the protocols it was derived from."""
    for protocol in PROTOCOLS:
        if protocol.home == scene.session.use_case and protocol.since == scene.generation:
            made, finder = artifact(scene, "PROTOCOL"), f"builder/{protocol.teachers[0]}"
            lineage = scene.lineage(protocol)
            scene.send(
                scene.new("ARTIFACT", "PROMOTION", made, finder, BUILDERS[:1], lineage=lineage)
            )


def decide(scene: FleetContext, *, at_last: bool) -> None:
    """Arbitrate between the lessons, send the decision, its execution and its validation.

    at_last: there is no veto, and the validation passes.
    """
    _arbitrate(scene)
    objection = None if at_last else _veto(scene)
    payload = {
        "decision_id": f"decision-{scene.session.steps}",
        "recommendation": "Take over the winner.",
        "priority_distribution": {"winner": 0.8, "others": 0.2},
        "next_actions": ["roll out"],
        "commitment_level": "APPROVED",
    }
    scene.send(scene.new("DECISION", "ARBITRATION", payload, CONDUCTOR, BUILDERS[:2]))
    scene.send(scene.new("ARTIFACT", "EXECUTION", artifact(scene), BUILDERS[0], (CONDUCTOR,)))
    _measure(scene, "EXECUTION", 0.7, 0.1)
    _measure(scene, "VALIDATION", 0.8 if at_last else 0.4, 0.1 if at_last else 0.5)
    if objection is not None:
        scene.session.done.append(objection)


def _measure(scene: FleetContext, phase: str, outcome: float, drift: float) -> None:
    payload = evaluation(metrics(outcome, drift))
    proof = {"evidence_refs": ["trace:board"]}
    tester = "tester/cedar"
    scene.send(scene.new("EVAL", phase, payload, tester, (CONDUCTOR,), proof_bundle=proof))


def candidates(scene: FleetContext) -> list[Json]:
    """Return the lessons of this generation in pairs, and substitutes where there are too few."""
    taught = [lesson.packet["packet_id"] for lesson in scene.lessons[:6]]
    groups = [taught[first : first + 2] for first in range(0, len(taught), 2)]
    while len(groups) < 2:
        groups.append([scene.sent[0].packet["packet_id"]])
    return [
        {
            "candidate_id": f"candidate-{number}",
            "packet_ref_ids": references,
            "score_components": {"outcome": 0.5},
            "total_score": 0.5,
        }
        for number, references in enumerate(groups, 1)
    ]


def _arbitrate(scene: FleetContext) -> None:
    payload = {
        "arbitration_id": f"arbitration-{scene.session.steps}",
        "winner_candidate_id": "candidate-1",
        "candidates": candidates(scene),
        "scoring": {"outcome": 1.0},
    }
    scene.send(scene.new("ARBITRATION", "ARBITRATION", payload, CONDUCTOR, BUILDERS[:2]))


def _veto(scene: FleetContext) -> Json | None:
    """Send at random a sentinel's veto, sometimes withdrawn; return one that stays open."""
    if not scene.session.chance(0.35):
        return None
    sentinel = f"sentinel/{scene.swarm()}"
    veto = _signal(scene, "VETO", sentinel, CONDUCTOR)
    if scene.session.chance(0.5):
        _signal(scene, "RESUME", sentinel, CONDUCTOR)
        return None
    return veto
