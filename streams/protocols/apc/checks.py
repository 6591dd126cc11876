"""Checks of APC's facts: shape, partition, identity, phase, throttle, gates, transitions.

Not derived again: whether a session was over and who had received a protocol (the fact records
what the decision read, and the comparison of rows verifies that), and limits by settings that may
have changed since.

Source: APC guide, 3 to 5.
"""

from __future__ import annotations

from decimal import Decimal

from schemas.apc import packet_json, rules, validate_avro
from streams.engine.processor import AvroValue, Message
from streams.protocols.apc.policy_values import ApcPolicy, TransferBounds
from streams.protocols.apc.processor.batch import Inbound
from streams.protocols.apc.processor.budgets import (
    exhausted,
    limits_after,
    seconds_end,
    texts_of,
    use_after,
)
from streams.protocols.apc.processor.commitments import (
    Conflict,
    agent_conflict,
    halted_conflict,
    session_conflict,
)
from streams.protocols.apc.processor.contributions import strategies_of
from streams.protocols.apc.processor.lifecycle import is_deferred
from streams.protocols.apc.processor.policy import is_unproved
from streams.protocols.apc.processor.session_events import vetoes_after
from streams.protocols.apc.processor.throttling import make_checks
from streams.protocols.apc.processor.transfer_checks import ThrottleState, transfer_of
from streams.protocols.apc.processor.verification import check_gates
from streams.replay.checks import (
    CheckContext,
    Problems,
    check_equal,
    check_members,
    check_that,
    partition_mismatch,
)
from streams.replay.facts import Fact
from topology.apc import APC_COORDINATION_TABLE, APC_THROTTLING_TABLE
from topology.keys import composite
from topology.machine import step
from topology.machines.apc_packet import MACHINE

_LIMIT_RULES = frozenset({"packet_too_large", "output_too_large"})
"""Rules that a setting or a size of the service has a part in."""
_NO_LIMIT = 1 << 40
_COORDINATION_RULES = frozenset(
    rule.code
    for rule in (
        rules.AGENT_HALTED,
        rules.COORDINATION_EVENT_ILLEGAL,
        rules.SESSION_STATE,
        rules.DECISION_VETOED,
        rules.AGENT_STATE,
    )
)
"""Rules whose refusals follow from the note that their fact carries."""
_ENDED = frozenset({"CLOSED", "HALTED"})
_OF_NOTE = ("event", "agent_id", "from_state", "why")
_ABOUT_VETOES = frozenset({"ARBITRATION", "DECISION", "RETRACTION", "SIGNAL"})
_ONCE_FREE = ("/metadata/use_case", "/metadata/prior")
"""Members of metadata that earlier releases took in any form."""
_VERDICTS = frozenset({"accepted", "duplicate", "rejected"})


def check(fact: Fact, command: Message | None, ctx: CheckContext) -> Problems:
    value = fact.value or {}
    yield from _check_transitions(fact)
    yield from _check_coordination(fact, ctx)
    _add_to_throttle_row(fact, ctx)
    if value["verdict"] == "fired":
        late = value["due_at"] is not None and value["at"] >= value["due_at"]
        yield from check_that(late, "the timer fired before it was due")
        if value["rule"] == rules.SESSION_BUDGET.code:
            yield from _check_session_timer(fact, ctx)
    if value["verdict"] not in _VERDICTS or command is None:
        return
    packet = Inbound(command)
    trace = {name: packet.trace[name] for name in ("run_id", "task_id", "session_id")}
    ids = {"event_id": f"{packet.cause}/0", "at": packet.at, "trace_id": packet.trace_id}
    yield from check_members(value, {**ids, **trace, "packet_type": packet.packet_type})
    if value["verdict"] == "accepted":
        yield from check_equal("rule", value["rule"], "accepted")
    record = command.record
    misplaced = partition_mismatch(record.key, packet.session_id, record.partition, ctx)
    if value["rule"] in ("key_mismatch", "partition_mismatch") or misplaced:
        yield from check_equal("rule", value["rule"], misplaced)
        return
    if packet.identified:
        yield from _check_decision(fact, packet, ctx)


def _check_decision(fact: Fact, packet: Inbound, ctx: CheckContext) -> Problems:
    value = fact.value or {}
    packet.read()
    known = ctx.seen.get("apc", packet.session_id, packet.packet_id)
    repeated, bounded = (
        value["rule"] in ("duplicate", "packet_conflict"),
        value["rule"] in _LIMIT_RULES,
    )
    if repeated and known is None and fact.cut_off:
        return
    if repeated or (known is not None and not bounded):
        repeats = "duplicate" if known == packet.identity_hash else "packet_conflict"
        yield from check_equal(
            "rule", value["rule"], repeats if known is not None else "no repetition"
        )
        return
    if value["state"] is not None:
        ctx.seen.put(packet.identity_hash, "apc", packet.session_id, packet.packet_id)
    if bounded:
        return
    problems = validate_avro(packet.value, packet.json, max_bytes=_NO_LIMIT)
    if value["verdict"] == "accepted":
        problems = [one for one in problems if not one.path.startswith(_ONCE_FREE)]
    if problems:
        yield from check_equal("rule", value["rule"], problems[0].rule)
        return
    if value["verdict"] == "duplicate":
        return  # of a packet that is retracted already; this RETRACTION has no row
    for name in ("packet_hash", "identity_hash"):
        yield from check_equal(name, value[name], getattr(packet, name))
    packet_as_json = None if value["packet"] is None else packet_json(value["packet"])
    yield from check_equal("packet", packet_as_json, packet.json)
    yield from _check_vetoes(fact, packet, ctx)
    yield from _check_budget(fact, packet, ctx)
    yield from _check_policy(fact, packet, ApcPolicy.of(ctx.settings))


def _check_policy(fact: Fact, packet: Inbound, policy: ApcPolicy) -> Problems:
    value = fact.value or {}
    allowed = packet.packet_type in policy.phases[packet.value["run_phase"]]
    if value["verdict"] == "accepted" or value["rule"] == "phase_type":
        yield from check_equal("allowed in its phase", value["rule"] != "phase_type", allowed)
    if value["rule"] == rules.PROOF_EMPTY.code:
        # Not so of accepted packets: earlier releases only warned, and their facts stay.
        yield from check_that(is_unproved(packet, policy), "the packet is not to be refused")
    if value["rule"] in _COORDINATION_RULES:  # nor so of accepted packets
        yield from _check_conflict(fact, packet, policy)
    if value["verdict"] == "accepted":
        mode = "deferred" if is_deferred(packet, policy) else "immediate"
        recorded = value["verification"] or {}
        if value["strategies"] is not None:  # facts of earlier releases have none
            yield from check_equal("strategies", value["strategies"], strategies_of(packet))
        yield from check_equal("verification.mode", recorded.get("mode"), mode)
    if value["throttle"] is not None:
        yield from _check_throttle(fact, packet, policy.transfers)
    elif packet.packet_type == "TRANSFER":
        yield from check_that(value["verdict"] != "accepted", "an accepted transfer has no figures")
    if packet.packet_type == "EVAL" and value["verdict"] == "accepted":
        gates = check_gates(packet.payload["metric_set"], policy.gates)
        yield from check_equal("gates", value["gates"], gates)


def _check_vetoes(fact: Fact, packet: Inbound, ctx: CheckContext) -> Problems:
    """Check that a veto is open where a decision is refused for one, and keep those open."""
    value = fact.value or {}
    if packet.packet_type not in _ABOUT_VETOES:
        return
    vetoes = ctx.seen.get("vetoes", packet.session_id) or []
    if value["rule"] == rules.DECISION_VETOED.code and not fact.cut_off:
        yield from check_that(vetoes, "no veto is open in the session")
    if value["verdict"] == "accepted" and value["state"] != "EXPIRED":
        after = vetoes_after(packet, vetoes)
        if after != vetoes:
            ctx.seen.put(after, "vetoes", packet.session_id)


def _check_budget(fact: Fact, packet: Inbound, ctx: CheckContext) -> Problems:
    """Count an accepted packet in its session, and check that an exhausted limit has halted it."""
    value = fact.value or {}
    if value["verdict"] != "accepted" or value["state"] == "EXPIRED" or fact.cut_off:
        return
    session = ctx.seen.get("session", packet.session_id) or {"opened_at": packet.at}
    limits = {name: Decimal(text) for name, text in session.get("limits", {}).items()}
    if not session.get("ended"):
        limits = limits_after(packet, limits, ApcPolicy.of(ctx.settings).budget)
        if limits:
            session["limits"] = texts_of(limits)
            session["used"] = use_after(packet, session.get("used"))
        state = ctx.seen.get("coordination", packet.session_id, None)
        session["ended"] = state in _ENDED
        name = exhausted(limits, session["used"]) if limits else None
        message = f"the session has used its {name}, and goes on"
        yield from check_that(name is None or session["ended"], message)
    ctx.seen.put(session, "session", packet.session_id)


def _check_session_timer(fact: Fact, ctx: CheckContext) -> Problems:
    """Check that the seconds of a session's limit had passed since it was opened."""
    value = fact.value or {}
    session = ctx.seen.get("session", value["session_id"])
    if session is None:
        yield from check_that(fact.cut_off, "the session has no packet")
        return
    seconds = session.get("limits", {}).get("seconds")
    yield from check_that(seconds is not None, "the session has no limit of seconds")
    if seconds is not None:
        due = seconds_end(session["opened_at"], Decimal(seconds))
        yield from check_equal("due_at", value["due_at"], due)
    ctx.seen.put({**session, "ended": True}, "session", value["session_id"])


def _check_conflict(fact: Fact, packet: Inbound, policy: ApcPolicy) -> Problems:
    """Derive a refusal by coordination from the state and the guard that its note states."""
    value = fact.value or {}
    notes = value["coordination"]
    if len(notes) != 1:
        yield from check_that(False, "a refusal by coordination has not one note")
        return
    recorded = (value["rule"], *(notes[0][name] for name in _OF_NOTE))
    vetoed = value["rule"] == rules.DECISION_VETOED.code
    conflict = _conflict_of(packet, notes[0], vetoed, policy)
    yield from check_equal("refusal", recorded, conflict)


def _conflict_of(
    packet: Inbound, note: AvroValue, vetoed: bool, policy: ApcPolicy
) -> tuple[str | None, ...] | None:
    """Return rule and note of the refusal that follows.  vetoed: whether a veto is open."""
    state = note["from_state"]
    conflict: Conflict | None
    if note["machine"] == "inter":
        failed = note["event"] if vetoed or note["why"] == "guard_failed" else None
        conflict = session_conflict(packet, state, policy, lambda event: event != failed)
    else:
        conflict = halted_conflict(packet, state, policy) or agent_conflict(packet, state, policy)
    if conflict is None:
        return None
    return conflict.rule, conflict.event, conflict.agent_id, conflict.from_state, conflict.why


def _check_throttle(fact: Fact, packet: Inbound, bounds: TransferBounds) -> Problems:
    """Repeat the checks of a transfer with the receivers and the decay that the fact records."""
    value = fact.value or {}
    recorded = value["throttle"]
    state = ThrottleState(recorded["receivers_before"], recorded["decay"], bounds)
    result = make_checks(transfer_of(packet.value), state)
    yield from check_equal("throttle.checks", recorded["checks"], result.throttle["checks"])
    yield from check_equal(
        "throttle.decided_by", recorded["decided_by"], result.throttle["decided_by"]
    )
    yield from check_equal(
        "throttle.selection", recorded["selection"], result.throttle["selection"]
    )
    if result.rule is not None or value["rule"] not in _COORDINATION_RULES:
        yield from check_equal("rule", value["rule"], result.rule or "accepted")


def _check_transitions(fact: Fact) -> Problems:
    value = fact.value or {}
    state = None
    for transition in value["transitions"]:
        message = (
            f"{transition['event']} does not lead from {transition['from_state']} "
            f"to {transition['to_state']}"
        )
        if transition["from_state"] is not None:
            after = step(MACHINE, transition["from_state"], transition["event"])
            yield from check_that(after == transition["to_state"], message)
        state = transition["to_state"]
    if state is not None:
        yield from check_equal("state", value["state"], state)


def _check_coordination(fact: Fact, ctx: CheckContext) -> Problems:
    """Check that each coordination note continues from the state that the last one led to."""
    value = fact.value or {}
    for note in value["coordination"]:
        seen_key = ("coordination", value["session_id"], note["agent_id"])
        before = ctx.seen.get(*seen_key)
        if before is not None:
            yield from check_equal("coordination.from_state", note["from_state"], before)
        after = note["to_state"] if note["applied"] else note["from_state"]
        ctx.seen.put(after, *seen_key)
        if note["applied"] and note["agent_id"] is not None:
            ctx.owed.row(
                APC_COORDINATION_TABLE, composite(value["session_id"], note["agent_id"]), fact
            )
    if value["verdict"] == "accepted" and value["state"] != "EXPIRED":
        ctx.owed.row(APC_COORDINATION_TABLE, composite(value["session_id"]), fact)


def _add_to_throttle_row(fact: Fact, ctx: CheckContext) -> None:
    """Add a decided transfer to the expected throttle row of its protocol."""
    value = fact.value or {}
    throttle, packet = value["throttle"], value["packet"]
    if throttle is None or packet is None or value["verdict"] not in ("accepted", "rejected"):
        return
    trace, payload = packet["trace"], packet["payload"][1]
    row_key = composite(
        value["session_id"],
        trace["run_id"],
        str(trace["generation"]),
        payload["protocol_id"],
        payload["from_swarm"],
    )
    known = ctx.seen.get("throttle", row_key) or {"accepted": 0, "rejected": {}, "receivers": []}
    expired = value["transitions"] and value["transitions"][-1]["to_state"] == "EXPIRED"
    if not expired:
        ctx.owed.row(APC_THROTTLING_TABLE, row_key, fact)
    if value["verdict"] == "rejected":
        rule = value["rule"]
        known["rejected"][rule] = known["rejected"].get(rule, 0) + 1
    elif not expired:
        known["accepted"] += 1
        if not throttle["already_received"]:
            known["receivers"].append(throttle["to_swarm"])
    ctx.seen.put(known, "throttle", row_key)
