"""The apc processor: one verdict for each packet record.

A packet under the wrong key or on the wrong partition is refused first.  A packet whose id is
known is a duplicate or a conflict.  Then come the checks of its shape, then of policy; every packet
that gets this far has a row.  An accepted packet is delivered, takes all transitions that it can
take at once, and affects others: it acknowledges, retracts, verifies, adds to the sums of its
protocols, and moves its session and its agents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schemas import Problem
from schemas.apc import rules, validate_avro
from schemas.formats import MAX_ID
from streams.engine.processor import AvroValue, Message, ProcessorContext, Timer
from streams.protocols.apc.processor import (
    agent_events,
    arbitration,
    budgets,
    contributions,
    delivery,
    facts,
    lifecycle,
    policy,
    session_events,
    throttling,
    verification,
)
from streams.protocols.apc.processor.batch import CONTENT, BatchContext, Inbound, target_ids
from streams.protocols.apc.processor.coordination import AckOutcome, CoordinationUpdate
from topology.apc import APC_EVENTS, APC_PROCESSOR
from topology.declarations import Topic
from topology.keys import composite, partition_of
from topology.machines.apc_inter import InterEvent
from topology.machines.apc_intra import IntraEvent

_WITH_TARGET = frozenset({"ACK", "NACK", "RETRACTION"})
_IDENTITY_PATHS = ("/packet_id", "/trace/session_id")
_COUNTED = frozenset({"EVAL", "TRANSFER", "DECISION", "IDEA"})
_WITH_RECIPIENT_EVENTS = frozenset({"TASK_IR", "SIGNAL"})
_SESSION_EVENTS = frozenset(InterEvent)
_AGENT_EVENTS = frozenset(IntraEvent)


class ApcProcessor:
    """The processor of `apc.packets`; its verdicts are on `apc.events`."""

    declaration = APC_PROCESSOR

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        context = BatchContext(ctx)
        packets = [Inbound(message) for message in batch]
        _load(packets, context)
        for packet in packets:
            packet.begin(ctx)
            _judge(packet, context)

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        context = BatchContext(ctx)
        context.states.load(timer.key for timer in timers)
        for timer in timers:
            if timer.kind == budgets.SESSION_BUDGET:
                budgets.fire(timer, now_ms, context)
            else:
                delivery.fire(timer, now_ms, context)

    def too_large(self, message: Message, topic: Topic, size: int, ctx: ProcessorContext) -> None:
        packet = Inbound(message)
        text = f"It causes {size} bytes on {topic.name}, more than one record may."
        fact = facts.rejection(packet, rules.OUTPUT_TOO_LARGE.code, text, fault="service")
        packet.begin(ctx)
        _send(packet, fact)

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _load(packets: Sequence[Inbound], context: BatchContext) -> None:
    """Load the rows that a batch will need, in one call per table.

    This only saves time: a packet that breaks rules may need fewer.
    """
    states = [packet.key for packet in packets]
    agents: set[tuple[str, str]] = set()
    for packet in packets:
        session_id = packet.session_id
        states += [composite(session_id, target) for target in target_ids(packet)]
        if packet.packet_type in CONTENT or packet.packet_type == "SIGNAL":
            agents.add((session_id, packet.value["sender"]["agent_id"]))
        if packet.packet_type in _WITH_RECIPIENT_EVENTS:
            agents.update((session_id, agent) for agent in lifecycle.recipients(packet.value))
    context.states.load(states)
    coordination = {composite(packet.session_id) for packet in packets}
    coordination.update(composite(*agent) for agent in agents)
    context.coordination.load(coordination)
    context.tasks.load(
        {p.task_key for p in packets if p.packet_type in _COUNTED or p.value["lineage"] is not None}
    )
    transfers = (p.transfer_key for p in packets if p.packet_type == "TRANSFER")
    context.throttling.load({key for key in transfers if key is not None})


def _judge(packet: Inbound, context: BatchContext) -> None:
    if _refuse_misplaced(packet, context) or _refuse_without_id(packet, context):
        return
    packet.read()
    if _refuse_known(packet, context):
        return
    limit = context.policy.max_packet_bytes
    problems = validate_avro(packet.value, packet.json, max_bytes=limit)
    if problems:
        _refuse_shape(packet, problems, context)
        return
    context.meet(packet)
    packet.warnings = policy.content_warnings(packet)
    if packet.packet_type in _WITH_TARGET:
        packet.target = context.target(packet, target_ids(packet)[0])
        if packet.target is not None:
            delivery.expire_overdue(packet.target, packet, context)
    session = packet.session_row
    if session is not None and session["limits"] is not None:
        budgets.halt_overdue(packet, session, context)
    refusal = policy.refusal(packet, context)
    if refusal is not None:
        _refuse(packet, refusal, context)
    else:
        _accept(packet, context)


def _refuse_misplaced(packet: Inbound, context: BatchContext) -> bool:
    record, work = packet.message.record, context.work
    expected = packet.session_id.encode()
    if record.key != expected:
        key = None if record.key is None else record.key.decode("utf-8", "replace")
        rendered = "null" if key is None else _quote(key)
        text = (
            f"The record key is {rendered}; trace.session_id makes it {_quote(packet.session_id)}."
        )
        fact = facts.rejection(packet, rules.KEY_MISMATCH.code, text)
        _send(packet, fact, key)
        return True
    partition = partition_of(expected, work.partitions)
    if record.partition != partition:
        text = (
            f"The record lies on partition {record.partition}; murmur2 of its key modulo "
            f"{work.partitions} makes it {partition}."
        )
        fact = facts.rejection(packet, rules.PARTITION_MISMATCH.code, text)
        _send(packet, fact)
        return True
    return False


def _quote(text: str) -> str:
    """Return the text in quotation marks, of one that no id may be as long as its beginning."""
    return f'"{text}"' if len(text) <= MAX_ID else f'"{text[:MAX_ID]}…"'


def _refuse_without_id(packet: Inbound, context: BatchContext) -> bool:
    """Refuse a packet that has no valid id, and so can have no row."""
    if packet.identified:
        return False
    packet.read()
    all_problems = validate_avro(packet.value, packet.json)
    problems = [problem for problem in all_problems if problem.path in _IDENTITY_PATHS]
    fact = facts.rejection(packet, problems[0].rule, problems[0].message, errors=_errors(problems))
    _send(packet, fact)
    return True


def _refuse_known(packet: Inbound, context: BatchContext) -> bool:
    row = context.states.get(packet.key)
    if row is None:
        return False
    if row["identity_hash"] == packet.identity_hash:
        text = f"The same packet was judged at {row['position']}."
        fact = facts.duplicate(packet, rules.DUPLICATE.code, text)
    else:
        text = (
            f"Another packet has this id in session {packet.session_id}: that at "
            f"{row['position']} with identity hash {row['identity_hash']}."
        )
        hashes = {"packet_hash": packet.packet_hash, "identity_hash": packet.identity_hash}
        fact = facts.rejection(packet, rules.PACKET_CONFLICT.code, text, **hashes)
    _send(packet, fact)
    return True


def _send(packet: Inbound, fact: AvroValue, key: str | None = None) -> None:
    """Write a fact of the packet's decision; key: the record key if it is not the session."""
    record_key = fact["session_id"] if key is None else key
    packet.event_context.send(APC_EVENTS, record_key, fact, fact["event_id"])


def _errors(problems: Sequence[Problem]) -> list[AvroValue]:
    return [problem._asdict() for problem in problems[: facts.MAX_ERRORS]]


def _refuse_shape(packet: Inbound, problems: Sequence[Problem], context: BatchContext) -> None:
    first = problems[0]
    row = lifecycle.new_row(packet, first.rule, context.policy)
    lifecycle.arrive(row, lifecycle.SCHEMA_FAILED)
    figures = {**_verdict_members(packet, row), "errors": _errors(problems)}
    _write_verdict(
        packet, row, facts.rejection(packet, first.rule, first.message, **figures), context
    )


def _refuse(packet: Inbound, refusal: policy.Refusal, context: BatchContext) -> None:
    rule, message, verdict, path, note = refusal
    if verdict == "duplicate":
        _send(packet, facts.duplicate(packet, rule, message))
        return
    if packet.throttle is not None:
        if note is not None:
            throttling.restore_places_left(packet)
        throttling.count_refusal(packet, rule, context)
    row = lifecycle.new_row(packet, rule, context.policy)
    lifecycle.arrive(row, lifecycle.POLICY_FAILED)
    figures = {**_verdict_members(packet, row), "anti_drift": facts.anti_drift(packet)}
    if note is not None:
        figures["coordination"] = [note]
    if path is not None:
        figures["errors"] = _errors([Problem(rule, path, message)])
    _write_verdict(packet, row, facts.rejection(packet, rule, message, **figures), context)


def _accept(packet: Inbound, context: BatchContext) -> None:
    row = lifecycle.new_row(packet, rules.ACCEPTED.code, context.policy)
    deadline_at = delivery.deadline(packet)
    if packet.packet_type == "EVAL":
        packet.gates = verification.check_gates(packet.payload["metric_set"], context.policy.gates)
        row["gates"] = packet.gates
    notes: Sequence[AvroValue] = ()
    if deadline_at <= packet.at:
        packet.warnings.append(rules.EXPIRED_ON_ARRIVAL.code)
        if packet.throttle is not None:
            throttling.restore_places_left(packet)
        lifecycle.arrive(row, lifecycle.EXPIRED_ON_ARRIVAL, delivery.transfer_metadata(row))
        message = f"Accepted, but it expired at {packet.value['expires_at']}, before it came."
    else:
        message = delivery.deliver(packet, row, deadline_at, context)
        context.states.put(packet.key, row)  # before the rows of those it moves
        notes = _apply_effects(packet, row, deadline_at, context)
    figures = {**_verdict_members(packet, row), "anti_drift": facts.anti_drift(packet)}
    fact = facts.verdict(
        packet, "accepted", rules.ACCEPTED.code, message, coordination=notes, **figures
    )
    _write_verdict(packet, row, fact, context)


def _apply_effects(
    packet: Inbound, row: AvroValue, deadline_at: int, context: BatchContext
) -> Sequence[AvroValue]:
    """Apply an accepted packet to others, in this order; return the notes of coordination.

    An EVAL is counted before it decides, since what it verifies may be promoted on it.
    """
    ack_outcome = None
    match packet.packet_type:
        case "TRANSFER":
            throttling.add_receiver(packet, context)
        case "ACK" | "NACK":
            ack_outcome = delivery.acknowledge(packet, context)
        case "RETRACTION":
            delivery.retract(packet, deadline_at, context)
        case "ARBITRATION":
            verification.decide(packet, context)
    contributions.add(packet, row, context)
    match packet.packet_type:
        case "EVAL":
            verification.decide(packet, context)
        case "ARBITRATION":
            arbitration.decide(packet, row, context)
    notes = _coordinate(packet, ack_outcome, context)
    contributions.emit_edges(packet)
    return notes


def _coordinate(
    packet: Inbound, ack_outcome: AckOutcome | None, context: BatchContext
) -> Sequence[AvroValue]:
    """Raise the events of an accepted packet in its session.

    First comes the event that the packet names itself, then those that follow from its type and
    content, of the session before those of agents.
    """
    update = CoordinationUpdate(
        context, packet.session_id, packet.packet_id, packet.event_context, ack_outcome
    )
    session = update.session()
    goes_on = session["state"] not in budgets.ENDED
    may_limit = packet.packet_type == "TASK_IR" or bool(context.policy.budget)
    session_events.update_members(packet, session, update)
    explicit = packet.metadata.get("coordination_event")
    if explicit is not None:
        _raise_event(explicit, packet, update)
    session_events.raise_events(packet, session, update, explicit)
    if goes_on and (may_limit or session["limits"] is not None):
        budgets.count(packet, update)
    agent_events.raise_events(packet, update, explicit)
    update.write()
    return update.notes


def _raise_event(event: str, packet: Inbound, update: CoordinationUpdate) -> None:
    if event in _SESSION_EVENTS:
        session_events.raise_event(event, packet, update)
    elif event in _AGENT_EVENTS:
        update.raise_in_agent(packet.value["sender"]["agent_id"], event)
    else:
        update.note_unknown(event)


def _verdict_members(packet: Inbound, row: AvroValue) -> AvroValue:
    """Return the members of a verdict on a packet that has a row."""
    return {
        "packet": packet.packet,
        "packet_hash": packet.packet_hash,
        "identity_hash": packet.identity_hash,
        "transitions": row["history"],
        "state": row["state"],
        "gates": row["gates"],
        "acks": row["acks"],
        "verification": row["verification"],
        "strategies": row["strategies"],
    }


def _write_verdict(packet: Inbound, row: AvroValue, fact: AvroValue, context: BatchContext) -> None:
    """Write the verdict first, then the facts about the packets it moved, then the row."""
    _send(packet, fact)
    for effect in packet.effects:
        _send(packet, effect)
    context.states.put(packet.key, row)
