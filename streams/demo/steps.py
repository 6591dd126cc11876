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


def _verdict(ctx: DemoContext, packet: Json, rule: str, state: str | None) -> Json:
    to = ", ".join(recipient["agent_id"] for recipient in packet["recipients"])
    what = f"{packet['packet_type']} {packet['packet_id'][:8]} in {packet['run_phase']}"
    ctx.show("packet", f"{what}, from {packet['sender']['agent_id']} to {to}")
    fact = ctx.packet(packet)
    ctx.show("verdict", f"{fact['verdict']}, rule {fact['rule']}: {fact['message']}")
    ctx.expect("the rule", fact["rule"], rule)
    ctx.expect("the state", fact["state"], state)
    return fact


def _timeline(ctx: DemoContext, packet_id: str, life: str) -> None:
    row = ctx.state(packet_id)
    states = [step["to_state"] for step in row["history"]]
    ctx.show("timeline", " → ".join(states))
    ctx.expect("the timeline", " ".join(states), life)


def idea(ctx: DemoContext) -> None:
    """An agent proposes an idea: the example packet of APC/1.0, as printed there."""
    packet = packets.example(ctx.session)
    _verdict(ctx, packet, "accepted", "ROUTED")
    letters = [r for r in ctx.records(APC_INBOX) if _of(r, ctx, packet)]
    ctx.expect("deliveries", [r["key"] for r in letters], ["sentinel-1"])
    value = letters[0]["value"]
    ctx.show("inbox", f"{value['kind']} {value['attempt']} for {letters[0]['key']}")
    ctx.show("state", f"ROUTED until sentinel-1 acknowledges, at most to {value['deadline_at']}")


def _of(record: Json, ctx: DemoContext, packet: Json) -> bool:
    sent = record["value"]["packet"]
    ids = (sent["trace"]["session_id"], sent["packet_id"])
    return bool(ids == (ctx.session, packet["packet_id"]))


def acknowledge(ctx: DemoContext) -> None:
    """The recipient acknowledges, and the idea goes through its whole life."""
    packet = packets.example(ctx.session)
    _verdict(ctx, packets.ack(packet), "accepted", "ARCHIVED")
    _timeline(ctx, packet["packet_id"], PLAIN_LIFE)


def wrong_phase(ctx: DemoContext) -> None:
    """An idea in phase EXECUTION, where the policy knows none."""
    packet = packets.example(ctx.session)
    late = packets.new(packet, "IDEA", "EXECUTION", packet["payload"])
    _verdict(ctx, late, "phase_type", "REJECTED_POLICY")
    ctx.show("state", "REJECTED_POLICY; its id is taken")


def twice(ctx: DemoContext) -> None:
    """The first packet again, as after a lost answer."""
    _verdict(ctx, packets.example(ctx.session), "duplicate", None)


def conflict(ctx: DemoContext) -> None:
    """The same id with other content."""
    changed = {**packets.example(ctx.session), "confidence": 0.1}
    _verdict(ctx, changed, "packet_conflict", None)


def silence(ctx: DemoContext) -> None:
    """Nobody acknowledges: after 500 ms a redelivery, after 500 more the end."""
    packet = packets.impatient(packets.example(ctx.session))
    _verdict(ctx, packet, "accepted", "ROUTED")
    for rule in ("redelivered", "ack_timeout"):
        fact = ctx.wait_for(f"the fact {rule}", partial(_fired, ctx, packet, rule))
        ctx.show("timer", f"{rule} at {fact['at']}")
    ctx.expect("the state", ctx.state(packet["packet_id"])["state"], "EXPIRED")
    ctx.show("state", "EXPIRED")


def _fired(ctx: DemoContext, packet: Json, rule: str) -> Json | None:
    facts = ctx.facts(packet["packet_id"])
    return next((fact for fact in facts if fact["rule"] == rule), None)


def promotion(ctx: DemoContext) -> None:
    """An evaluation meets every gate, and the decision that rests on it is promoted."""
    first = packets.example(ctx.session)
    evaluation = packets.evaluation(first)
    fact = _verdict(ctx, evaluation, "accepted", "ARCHIVED")
    checks = fact["gates"]["checks"]
    ctx.show(
        "gates", ", ".join(f"{c['metric']} {c['value']} {c['op']} {c['threshold']}" for c in checks)
    )
    ctx.expect("the gates", fact["gates"]["met"], True)
    decision = packets.decision(first)
    _verdict(ctx, decision, "accepted", "ARCHIVED")
    _timeline(ctx, decision["packet_id"], PROMOTED_LIFE)
    ctx.decision = decision


def retract(ctx: DemoContext) -> None:
    """The sender takes the decision back; nothing is deleted."""
    target = ctx.decision
    _verdict(ctx, packets.retraction(target), "accepted", "ARCHIVED")
    ctx.expect("the state", ctx.state(target["packet_id"])["state"], "RETRACTED")
    ctx.show("decision", "RETRACTED; its history stays")


def garbage(ctx: DemoContext) -> None:
    """Bytes that nobody can decode."""
    where = ctx.send_bytes("apc.packets", ctx.session, b"\x00not avro")
    letters = [
        r for r in ctx.records(APC_PACKETS_DLQ) if r["headers"].get("headrace-cause") == where
    ]
    ctx.expect("dead letters", len(letters), 1)
    headers = letters[0]["headers"]
    ctx.show("dead letter", f"{headers['kafka_dlt-exception-fqcn']}, from {where}")


def events(ctx: DemoContext) -> None:
    """The agent reports on its task, and the event stream numbers what the session did."""
    for step in (("PENDING", "IN_PROGRESS"), ("IN_PROGRESS", "COMPLETED")):
        ctx.send("rtes.raw", packets.transition(ctx.session, *step))
    ctx.send("rtes.raw", packets.transition(ctx.session, "COMPLETED", "PENDING"))
    page = ctx.wait_for("three events", lambda: _events(ctx, 3))
    for event in page["items"]:
        payload = event["payload"]
        what = f"{payload['task_id']}: {payload['from_state']} → {payload['to_state']}"
        ctx.show(f"event {event['sequence']}", f"{what} ({event['rule']})")
    ctx.expect("sequences", [e["sequence"] for e in page["items"]], [1, 2, 3])
    (refused,) = ctx.get("/v1/rtes/rejections", f"session_id={ctx.session}")["items"]
    ctx.expect("the refusal", refused["rule"], "rewind_required")
    ctx.show("refused", f"COMPLETED → PENDING ({refused['rule']})")
    (task,) = ctx.get("/v1/saop/tasks", f"session_id={ctx.session}&task_id=task-01")["items"]
    ctx.expect("the task", task["state"], "COMPLETED")
    ctx.show("task", f"task-01 is {task['state']}")


def _events(ctx: DemoContext, count: int) -> Json | None:
    page: Json = ctx.get("/v1/rtes/events", f"session_id={ctx.session}")
    return page if len(page["items"]) >= count else None


def trace(ctx: DemoContext) -> None:
    """What `headrace apc trace` and `headrace apc replay` tell of it."""
    listing = ctx.get("/v1/apc/packets", f"session_id={ctx.session}")
    for packet in listing["packets"]:
        ctx.say(
            f"    {packet['created_at']}  {packet['packet_type']:<10} {packet['run_phase']:<10}"
            f" {packet['lifecycle_state']}"
        )
    ctx.expect("packets", listing["count"], 7)
    run_id = packets.example(ctx.session)["trace"]["run_id"]
    replay = ctx.get("/v1/apc/replay", f"run_id={run_id}&session_id={ctx.session}")
    ctx.expect("packets of the run", replay["packet_count"], listing["count"])
    ctx.expect("steps of the run", replay["event_count"], listing["event_count"])
    ctx.show("replay", f"{replay['packet_count']} packets, {replay['event_count']} steps")


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


def tell(ctx: DemoContext) -> None:
    """Run all acts.  Raises DemoFailed at the first failed check."""
    begun = time.monotonic()
    for number, step in enumerate(STEPS, 1):
        ctx.say(f"\n{number:>2}  {step.__doc__}")
        try:
            step(ctx)
        except DemoFailed as exc:
            raise DemoFailed(f"step {number} ({step.__name__}): {exc.message}") from exc
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(ctx.verdicts.items()))
    ctx.say(f"\nAll {ctx.checks} checks hold.  Verdicts: {counts}.")
    ctx.say(
        f"{len(ctx.latencies)} records answered, each in"
        f" {statistics.median(ctx.latencies):.0f} ms (median),"
        f" {max(ctx.latencies):.0f} ms at most; story {time.monotonic() - begun:.1f} s."
    )
    evolution.tell(ctx)
    answers.tell(ctx)
    tasks.tell(ctx)
    runs.tell(ctx)
    lineage.tell(ctx)
