"""The story, step by step.  Each step says what happens, and fails when it happens otherwise."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

from streams.demo import answers, evolution, lineage, packets, runs, tasks
from streams.demo.context import DemoContext, DemoFailed, Json
from topology.apc import APC_INBOX, APC_PACKETS_DLQ

PLAIN_LIFE = (
    "DRAFT NORMALIZED SCHEMA_VALIDATED POLICY_VALIDATED ROUTED DELIVERED APPLIED VERIFIED ARCHIVED"
)
PROMOTED_LIFE = PLAIN_LIFE.replace("ARCHIVED", "PROMOTED ARCHIVED")


def _verdict(stage: DemoContext, packet: Json, rule: str, state: str | None) -> Json:
    to = ", ".join(recipient["agent_id"] for recipient in packet["recipients"])
    what = f"{packet['packet_type']} {packet['packet_id'][:8]} in {packet['run_phase']}"
    stage.show("packet", f"{what}, from {packet['sender']['agent_id']} to {to}")
    fact = stage.packet(packet)
    stage.show("verdict", f"{fact['verdict']}, rule {fact['rule']}: {fact['message']}")
    stage.expect("the rule", fact["rule"], rule)
    stage.expect("the state", fact["state"], state)
    return fact


def _timeline(stage: DemoContext, packet_id: str, life: str) -> None:
    row = stage.state(packet_id)
    states = [step["to_state"] for step in row["history"]]
    stage.show("timeline", " → ".join(states))
    stage.expect("the timeline", " ".join(states), life)


def idea(stage: DemoContext) -> None:
    """An agent proposes an idea: the example packet of APC/1.0, as printed there."""
    packet = packets.example(stage.session)
    _verdict(stage, packet, "accepted", "ROUTED")
    letters = [r for r in stage.records(APC_INBOX) if _of(r, stage, packet)]
    stage.expect("deliveries", [r["key"] for r in letters], ["sentinel-1"])
    value = letters[0]["value"]
    stage.show("inbox", f"{value['kind']} {value['attempt']} for {letters[0]['key']}")
    stage.show("state", f"ROUTED until sentinel-1 acknowledges, at most to {value['deadline_at']}")


def _of(record: Json, stage: DemoContext, packet: Json) -> bool:
    sent = record["value"]["packet"]
    ids = (sent["trace"]["session_id"], sent["packet_id"])
    return bool(ids == (stage.session, packet["packet_id"]))


def acknowledge(stage: DemoContext) -> None:
    """The recipient acknowledges, and the idea goes through its whole life."""
    packet = packets.example(stage.session)
    _verdict(stage, packets.ack(packet), "accepted", "ARCHIVED")
    _timeline(stage, packet["packet_id"], PLAIN_LIFE)


def wrong_phase(stage: DemoContext) -> None:
    """An idea in phase EXECUTION, where the policy knows none."""
    packet = packets.example(stage.session)
    late = packets.new(packet, "IDEA", "EXECUTION", packet["payload"])
    _verdict(stage, late, "phase_type", "REJECTED_POLICY")
    stage.show("state", "REJECTED_POLICY; its id is taken")


def twice(stage: DemoContext) -> None:
    """The first packet again, as after a lost answer."""
    _verdict(stage, packets.example(stage.session), "duplicate", None)


def conflict(stage: DemoContext) -> None:
    """The same id with other content."""
    changed = {**packets.example(stage.session), "confidence": 0.1}
    _verdict(stage, changed, "packet_conflict", None)


def silence(stage: DemoContext) -> None:
    """Nobody acknowledges: after 500 ms a redelivery, after 500 more the end."""
    packet = packets.impatient(packets.example(stage.session))
    _verdict(stage, packet, "accepted", "ROUTED")
    for rule in ("redelivered", "ack_timeout"):
        fact = stage.wait_for(f"the fact {rule}", partial(_fired, stage, packet, rule))
        stage.show("timer", f"{rule} at {fact['at']}")
    stage.expect("the state", stage.state(packet["packet_id"])["state"], "EXPIRED")
    stage.show("state", "EXPIRED")


def _fired(stage: DemoContext, packet: Json, rule: str) -> Json | None:
    facts = stage.facts(packet["packet_id"])
    return next((fact for fact in facts if fact["rule"] == rule), None)


def promotion(stage: DemoContext) -> None:
    """An evaluation meets every gate, and the decision that rests on it is promoted."""
    first = packets.example(stage.session)
    evaluation = packets.evaluation(first)
    fact = _verdict(stage, evaluation, "accepted", "ARCHIVED")
    checks = fact["gates"]["checks"]
    stage.show(
        "gates", ", ".join(f"{c['metric']} {c['value']} {c['op']} {c['threshold']}" for c in checks)
    )
    stage.expect("the gates", fact["gates"]["met"], True)
    decision = packets.decision(first)
    _verdict(stage, decision, "accepted", "ARCHIVED")
    _timeline(stage, decision["packet_id"], PROMOTED_LIFE)
    stage.decision = decision


def retract(stage: DemoContext) -> None:
    """The sender takes the decision back; nothing is deleted."""
    target = stage.decision
    _verdict(stage, packets.retraction(target), "accepted", "ARCHIVED")
    stage.expect("the state", stage.state(target["packet_id"])["state"], "RETRACTED")
    stage.show("decision", "RETRACTED; its history stays")


def garbage(stage: DemoContext) -> None:
    """Bytes that nobody can decode."""
    where = stage.send_bytes("apc.packets", stage.session, b"\x00not avro")
    letters = [
        r for r in stage.records(APC_PACKETS_DLQ) if r["headers"].get("headrace-cause") == where
    ]
    stage.expect("dead letters", len(letters), 1)
    headers = letters[0]["headers"]
    stage.show("dead letter", f"{headers['kafka_dlt-exception-fqcn']}, from {where}")


def events(stage: DemoContext) -> None:
    """The agent reports on its task, and the event stream numbers what the session did."""
    for step in (("PENDING", "IN_PROGRESS"), ("IN_PROGRESS", "COMPLETED")):
        stage.send("rtes.raw", packets.transition(stage.session, *step))
    stage.send("rtes.raw", packets.transition(stage.session, "COMPLETED", "PENDING"))
    page = stage.wait_for("three events", lambda: _events(stage, 3))
    for event in page["items"]:
        payload = event["payload"]
        what = f"{payload['task_id']}: {payload['from_state']} → {payload['to_state']}"
        stage.show(f"event {event['sequence']}", f"{what} ({event['rule']})")
    stage.expect("sequences", [e["sequence"] for e in page["items"]], [1, 2, 3])
    (refused,) = stage.get("/v1/rtes/rejections", f"session_id={stage.session}")["items"]
    stage.expect("the refusal", refused["rule"], "rewind_required")
    stage.show("refused", f"COMPLETED → PENDING ({refused['rule']})")
    (task,) = stage.get("/v1/saop/tasks", f"session_id={stage.session}&task_id=task-01")["items"]
    stage.expect("the task", task["state"], "COMPLETED")
    stage.show("task", f"task-01 is {task['state']}")


def _events(stage: DemoContext, count: int) -> Json | None:
    page: Json = stage.get("/v1/rtes/events", f"session_id={stage.session}")
    return page if len(page["items"]) >= count else None


def trace(stage: DemoContext) -> None:
    """What `headrace packet-trace` and `headrace packet-replay` tell of it."""
    listing = stage.get("/v1/apc/packets", f"session_id={stage.session}")
    for packet in listing["packets"]:
        stage.say(
            f"    {packet['created_at']}  {packet['packet_type']:<10} {packet['run_phase']:<10}"
            f" {packet['lifecycle_state']}"
        )
    stage.expect("packets", listing["count"], 7)
    run_id = packets.example(stage.session)["trace"]["run_id"]
    replay = stage.get("/v1/apc/replay", f"run_id={run_id}&session_id={stage.session}")
    stage.expect("packets of the run", replay["packet_count"], listing["count"])
    stage.expect("steps of the run", replay["event_count"], listing["event_count"])
    stage.show("replay", f"{replay['packet_count']} packets, {replay['event_count']} steps")


STEPS: tuple[Callable[[DemoContext], None], ...] = (
    idea,
    acknowledge,
    wrong_phase,
    twice,
    conflict,
    silence,
    promotion,
    retract,
    garbage,
    events,
    trace,
)


def tell(stage: DemoContext) -> None:
    """Run all acts.  Raises DemoFailed at the first failed check."""
    begun = time.monotonic()
    for number, step in enumerate(STEPS, 1):
        stage.say(f"\n{number:>2}  {step.__doc__}")
        try:
            step(stage)
        except DemoFailed as exc:
            raise DemoFailed(f"step {number} ({step.__name__}): {exc.message}") from exc
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(stage.verdicts.items()))
    stage.say(f"\nAll {stage.checks} checks hold.  Verdicts: {counts}.")
    stage.say(
        f"{len(stage.latencies)} records answered, each in"
        f" {statistics.median(stage.latencies):.0f} ms (median),"
        f" {max(stage.latencies):.0f} ms at most; story {time.monotonic() - begun:.1f} s."
    )
    evolution.tell(stage)
    answers.tell(stage)
    tasks.tell(stage)
    runs.tell(stage)
    lineage.tell(stage)
