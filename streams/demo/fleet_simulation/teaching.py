"""Legal transfers, and the acknowledgements and measurements of their receivers."""

from __future__ import annotations

from streams.demo.fleet_simulation.context import ACCEPTED, EITHER, FleetContext, Json, Lesson
from streams.demo.fleet_simulation.research import evaluation, metrics
from streams.demo.fleet_simulation.world import (
    DRIFT_AUDIT,
    FIRST_TRANSFERS,
    LATE,
    PROTOCOLS,
    SECOND_TEACHERS,
    USE_CASES,
    Protocol,
    at,
)

PHASES = ("REFINEMENT", "CONVERGENCE", "PROMOTION")
LATE_EVAL, NO_EVAL = 0.2, 0.1


def transfer(
    scene: FleetContext,
    protocol: Protocol,
    teacher: str,
    student: str,
    *,
    phase: str = "CONVERGENCE",
    taken: bool = True,
    **members: object,
) -> Json:
    """Return a legal TRANSFER of any generation from the eleventh on."""
    dice = scene.dice
    receiver = round(dice.uniform(0.3, 0.6), 2)
    crosses = protocol.home != scene.session.use_case
    mode = "COMMONS_SEED" if crosses else "WINNER_TO_LOSERS"
    payload = {
        "protocol_id": protocol.name + scene.session.suffix,
        "from_swarm": f"swarm-{teacher}",
        "to_swarm": f"swarm-{student}",
        "sender_score": round(receiver * 1.2 + dice.uniform(0.03, 0.25), 2),
        "receiver_score": receiver,
        "transfer_policy": {"mode": mode, "min_generation": FIRST_TRANSFERS, "top_k": 2},
        "accepted": taken,
    }
    lineage = scene.lineage(protocol, cross_use_case=crosses, transfer_mode=mode)
    return scene.new(
        "TRANSFER",
        phase,
        payload,
        f"builder/{teacher}",
        (f"builder/{student}",),
        task=scene.task(protocol.name),
        lineage=lineage,
        **members,
    )


def teach(scene: FleetContext) -> None:
    """Teach every protocol that is at home here or, later, a guest of this generation."""
    for number, protocol in enumerate(PROTOCOLS):
        if protocol.since <= scene.generation and _is_here(scene, number, protocol):
            turn = scene.generation % 2 if scene.generation >= SECOND_TEACHERS else 0
            _teach(scene, protocol, protocol.teachers[turn])
    for lesson in scene.lessons:
        _answer(scene, lesson)
    for protocol in dict.fromkeys(lesson.protocol for lesson in scene.lessons):
        _evaluate(scene, [each for each in scene.lessons if each.protocol is protocol])


def _is_here(scene: FleetContext, number: int, protocol: Protocol) -> bool:
    here = scene.session.use_case
    if protocol.home == here or scene.generation < LATE:
        return protocol.home == here
    return USE_CASES[(number + scene.generation) % len(USE_CASES)] == here


def _teach(scene: FleetContext, protocol: Protocol, teacher: str) -> None:
    doubtful = scene.generation >= LATE and not protocol.sound
    rules = EITHER if doubtful else ACCEPTED
    for student in protocol.students:
        dice = scene.dice
        packet = transfer(
            scene,
            protocol,
            teacher,
            student,
            phase=dice.choice(PHASES),
            taken=dice.random() < at(protocol.taken, scene.generation),
            requires_ack=dice.random() < 0.4,
            metadata={"verification": "deferred"} if dice.random() < 0.2 else {},
        )
        scene.lessons.append(Lesson(protocol, scene.send(packet, rules), rules))
        scene.session.done.append(packet)


def _answer(scene: FleetContext, lesson: Lesson) -> None:
    """Send the student's acknowledgement: most accept, a few refuse, the others stay silent."""
    if not lesson.packet["routing"]["requires_ack"]:
        return
    draw = scene.dice.random()
    if draw < 0.93:
        status = "ACCEPTED" if draw < 0.87 else "REJECTED"
        scene.send(scene.acknowledge(lesson.packet, 0, status))


def _evaluate(scene: FleetContext, lessons: list[Lesson]) -> None:
    """Send the EVALs: the first student's at once, the others' now, later or never."""
    for number, lesson in enumerate(lessons):
        draw = scene.dice.random() if number else 1.0
        if draw < NO_EVAL:
            continue
        packet = measure(scene, lesson)
        if draw < NO_EVAL + LATE_EVAL:
            due = scene.generation + scene.dice.randint(2, 5)
            scene.session.late.setdefault(due, []).append(packet)
        else:
            scene.session.done.append(scene.send(packet))
    if lessons[0].protocol.drift is None and scene.generation < LATE:
        scene.session.unmeasured.append(lessons[0])


def measure(scene: FleetContext, lesson: Lesson, drift: float | None = None) -> Json:
    """Return an EVAL of the task in which something was taught."""
    protocol, taught = lesson.protocol, lesson.packet
    noise = scene.dice.uniform(-0.05, 0.05)
    outcome = at(protocol.outcome, scene.generation) + noise
    if protocol.drift is not None:
        drift = at(protocol.drift, scene.generation) + noise
    elif scene.generation >= DRIFT_AUDIT:
        drift = 0.2 + noise
    student = taught["payload"]["to_swarm"].removeprefix("swarm-")
    teacher = taught["payload"]["from_swarm"].removeprefix("swarm-")
    return scene.new(
        "EVAL",
        "EXECUTION",
        evaluation(metrics(outcome, drift)),
        f"tester/{student}",
        (f"builder/{teacher}",),
        task=taught["trace"]["task_id"],
        proof_bundle={"evidence_refs": [f"packet:{taught['packet_id']}"]},
    )


def latecomers(scene: FleetContext) -> None:
    """Send late EVALs of earlier generations; in one generation, audit what nobody measured."""
    for packet in scene.session.late.pop(scene.generation, []):
        packet["trace"]["generation"] = scene.generation
        scene.send(packet)
    if scene.generation == DRIFT_AUDIT:
        for lesson in scene.session.unmeasured:
            scene.send(measure(scene, lesson))


def retract(scene: FleetContext) -> None:
    """Retract some of the packets that were sent, on behalf of their sender's swarm."""
    session = scene.session
    done, session.done = session.done, []
    for target in done:
        if scene.session.chance(0.06):
            session.retractions.append(scene.send(retraction(scene, target)))
            session.retracted.append(target)


def retraction(scene: FleetContext, target: Json, target_id: str | None = None) -> Json:
    payload = {"target_packet_id": target_id or target["packet_id"], "reason": "not reproducible"}
    swarm = target["sender"]["swarm_id"].removeprefix("swarm-")
    sender = f"sentinel/{swarm}"
    return scene.new("RETRACTION", "VALIDATION", payload, sender, ("conductor/amber",))
