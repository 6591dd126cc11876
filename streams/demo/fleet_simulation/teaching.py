"""Legal transfers, and the acknowledgements and measurements of their receivers."""

from __future__ import annotations

from streams.demo.fleet_simulation.context import (
    ACCEPTED,
    EITHER,
    OUT_OF_STATE,
    FleetContext,
    Json,
    Lesson,
)
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
    fleet: FleetContext,
    protocol: Protocol,
    teacher: str,
    student: str,
    *,
    phase: str = "CONVERGENCE",
    taken: bool = True,
    **members: object,
) -> Json:
    """Return a legal TRANSFER of any generation from the eleventh on."""
    dice = fleet.dice
    receiver = round(dice.uniform(0.3, 0.6), 2)
    crosses = protocol.home != fleet.session.use_case
    mode = "COMMONS_SEED" if crosses else "WINNER_TO_LOSERS"
    payload = {
        "protocol_id": protocol.name + fleet.session.suffix,
        "from_swarm": f"swarm-{teacher}",
        "to_swarm": f"swarm-{student}",
        "sender_score": round(receiver * 1.2 + dice.uniform(0.03, 0.25), 2),
        "receiver_score": receiver,
        "transfer_policy": {"mode": mode, "min_generation": FIRST_TRANSFERS, "top_k": 2},
        "accepted": taken,
    }
    lineage = fleet.lineage(protocol, cross_use_case=crosses, transfer_mode=mode)
    return fleet.new(
        "TRANSFER",
        phase,
        payload,
        f"builder/{teacher}",
        (f"builder/{student}",),
        task=fleet.task(protocol.name),
        lineage=lineage,
        **members,
    )


def teach(fleet: FleetContext) -> None:
    """Teach every protocol that is at home here or, later, a guest of this generation."""
    for number, protocol in enumerate(PROTOCOLS):
        if protocol.since <= fleet.generation and _is_here(fleet, number, protocol):
            turn = fleet.generation % 2 if fleet.generation >= SECOND_TEACHERS else 0
            _teach(fleet, protocol, protocol.teachers[turn])
    for lesson in fleet.lessons:
        _answer(fleet, lesson)
    for protocol in dict.fromkeys(lesson.protocol for lesson in fleet.lessons):
        _evaluate(fleet, [each for each in fleet.lessons if each.protocol is protocol])


def _is_here(fleet: FleetContext, number: int, protocol: Protocol) -> bool:
    here = fleet.session.use_case
    if protocol.home == here or fleet.generation < LATE:
        return protocol.home == here
    return USE_CASES[(number + fleet.generation) % len(USE_CASES)] == here


def _teach(fleet: FleetContext, protocol: Protocol, teacher: str) -> None:
    doubtful = fleet.generation >= LATE and not protocol.sound
    rules = EITHER if doubtful else ACCEPTED
    for student in protocol.students:
        dice = fleet.dice
        packet = transfer(
            fleet,
            protocol,
            teacher,
            student,
            phase=dice.choice(PHASES),
            taken=dice.random() < at(protocol.taken, fleet.generation),
            requires_ack=dice.random() < 0.4,
            metadata={"verification": "deferred"} if dice.random() < 0.2 else {},
        )
        if _seeds_early(packet):
            fleet.send(packet, OUT_OF_STATE | (rules - ACCEPTED))
            continue
        fleet.lessons.append(Lesson(protocol, fleet.send(packet, rules), rules))
        fleet.session.done.append(packet)
        fleet.session.converges = (
            frozenset({True}) if rules == ACCEPTED else fleet.session.converges | {True}
        )


def _seeds_early(packet: Json) -> bool:
    """Return whether a packet seeds the commons, before anything of the session is promoted."""
    mode = packet["payload"]["transfer_policy"]["mode"]
    return bool(packet["run_phase"] == "PROMOTION" and mode == "COMMONS_SEED")


def _answer(fleet: FleetContext, lesson: Lesson) -> None:
    """Send the student's acknowledgement: most accept, a few refuse, the others stay silent."""
    if not lesson.packet["routing"]["requires_ack"]:
        return
    draw = fleet.dice.random()
    if draw < 0.93:
        status = "ACCEPTED" if draw < 0.87 else "REJECTED"
        fleet.send(fleet.acknowledge(lesson.packet, 0, status))


def _evaluate(fleet: FleetContext, lessons: list[Lesson]) -> None:
    """Send the EVALs: the first student's at once, the others' now, later or never."""
    for number, lesson in enumerate(lessons):
        draw = fleet.dice.random() if number else 1.0
        if draw < NO_EVAL:
            continue
        packet = measure(fleet, lesson)
        if draw < NO_EVAL + LATE_EVAL:
            due = fleet.generation + fleet.dice.randint(2, 5)
            fleet.session.late.setdefault(due, []).append(packet)
        else:
            fleet.session.done.append(fleet.send(packet))
    if lessons[0].protocol.drift is None and fleet.generation < LATE:
        fleet.session.unmeasured.append(lessons[0])


def measure(fleet: FleetContext, lesson: Lesson, drift: float | None = None) -> Json:
    """Return an EVAL of the task in which something was taught."""
    protocol, taught = lesson.protocol, lesson.packet
    noise = fleet.dice.uniform(-0.05, 0.05)
    outcome = at(protocol.outcome, fleet.generation) + noise
    if protocol.drift is not None:
        drift = at(protocol.drift, fleet.generation) + noise
    elif fleet.generation >= DRIFT_AUDIT:
        drift = 0.2 + noise
    student = taught["payload"]["to_swarm"].removeprefix("swarm-")
    teacher = taught["payload"]["from_swarm"].removeprefix("swarm-")
    return fleet.new(
        "EVAL",
        "EXECUTION",
        evaluation(metrics(outcome, drift)),
        f"tester/{student}",
        (f"builder/{teacher}",),
        task=taught["trace"]["task_id"],
        proof_bundle={"evidence_refs": [f"packet:{taught['packet_id']}"]},
    )


def latecomers(fleet: FleetContext) -> None:
    """Send late EVALs of earlier generations; in one generation, audit what nobody measured."""
    for packet in fleet.session.late.pop(fleet.generation, []):
        packet["trace"]["generation"] = fleet.generation
        fleet.send(packet)
    if fleet.generation == DRIFT_AUDIT:
        for lesson in fleet.session.unmeasured:
            fleet.send(measure(fleet, lesson))


def retract(fleet: FleetContext) -> None:
    """Retract some of the packets that were sent, on behalf of their sender's swarm."""
    session = fleet.session
    done, session.done = session.done, []
    for target in done:
        if fleet.session.chance(0.06):
            session.retractions.append(fleet.send(retraction(fleet, target)))
            session.retracted.append(target)


def retraction(fleet: FleetContext, target: Json, target_id: str | None = None) -> Json:
    payload = {"target_packet_id": target_id or target["packet_id"], "reason": "not reproducible"}
    swarm = target["sender"]["swarm_id"].removeprefix("swarm-")
    sender = f"sentinel/{swarm}"
    return fleet.new("RETRACTION", "VALIDATION", payload, sender, ("conductor/amber",))
