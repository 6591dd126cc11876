"""The policy checks of a well-formed packet, in order, and its warnings.

`CHECKS` has the order: the number, the packet types it is for, the function.  The first check
that returns a refusal decides.  A check reads rows and the policy and changes none.  The checks of
a TRANSFER from number 4 on are one check here, since one record holds all their outcomes.

Warnings are oddities that a packet's fact names and that change no verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from schemas.apc import ANTI_DRIFT_CHECKS, rules
from streams.engine.processor import AvroValue
from streams.protocols.apc.policy_values import CRITICAL_PHASES, ApcPolicy
from streams.protocols.apc.processor.batch import (
    ALL_TYPES,
    CONTENT,
    BatchContext,
    Inbound,
    target_ids,
)
from streams.protocols.apc.processor.budgets import has_unknown_constraint
from streams.protocols.apc.processor.commitments import (
    ALLOWED_AFTER_END,
    COMMITTING,
    Conflict,
    agent_conflict,
    halted_conflict,
    session_conflict,
)
from streams.protocols.apc.processor.coordination import conflict_note
from streams.protocols.apc.processor.session_events import guard_holds, vetoes_after
from streams.protocols.apc.processor.throttling import throttle
from streams.protocols.apc.processor.verification import pass_agrees
from topology.machines.apc_inter import InterState
from topology.machines.apc_intra import IntraState


class Refusal(NamedTuple):
    """The reason why a packet is refused; verdict is `rejected` or `duplicate`.

    path: a JSON Pointer to the member at fault, if it is one.  note: of the event that coordination
    refuses, if that is the reason.
    """

    rule: str
    message: str
    verdict: str = "rejected"
    path: str | None = None
    note: AvroValue | None = None


CheckFunction = Callable[[Inbound, BatchContext], Refusal | None]


class Check(NamedTuple):
    number: int
    types: frozenset[str]
    function: CheckFunction


def refusal(packet: Inbound, context: BatchContext) -> Refusal | None:
    """Return the refusal of the first check that fails, or None."""
    for question in _CHECKS_OF_TYPE[packet.packet_type]:
        refusal_of_check = question(packet, context)
        if refusal_of_check is not None:
            return refusal_of_check
    return None


def _session_over(packet: Inbound, context: BatchContext) -> Refusal | None:
    row = packet.session_row
    rule = None if row is None else _SESSION_OVER_RULES.get(row["state"])
    if rule is None:
        return None
    message = f"Session {packet.session_id} is over; it takes no more {packet.packet_type}."
    return Refusal(rule, message)


def _agent_halted(packet: Inbound, context: BatchContext) -> Refusal | None:
    if packet.agent_row is None or packet.agent_row["state"] != IntraState.LOCAL_HALT:
        return None
    conflict = halted_conflict(packet, packet.agent_row["state"], context.policy)
    return _of_conflict(conflict, packet)


def _session_state(packet: Inbound, context: BatchContext) -> Refusal | None:
    commits = packet.packet_type in COMMITTING or "coordination_event" in packet.metadata
    if not commits or context.policy.session_mode == "observe":
        return None
    row = packet.session_row
    state = InterState.SESSION_OPEN if row is None else row["state"]

    def holds(event: str) -> bool:
        vetoes = [] if row is None else row["open_vetoes"]
        return guard_holds(event, packet, vetoes_after(packet, vetoes), context)

    return _of_conflict(session_conflict(packet, state, context.policy, holds), packet)


def _step_of_agent(packet: Inbound, context: BatchContext) -> Refusal | None:
    if context.policy.agent_mode != "enforce":
        return None
    row = packet.agent_row
    state = IntraState.LOCAL_IDLE if row is None else row["state"]
    return _of_conflict(agent_conflict(packet, state, context.policy), packet)


def _of_conflict(conflict: Conflict | None, packet: Inbound) -> Refusal | None:
    if conflict is None:
        return None
    note = conflict_note(conflict, packet.packet_id, packet.at)
    return Refusal(conflict.rule, conflict.message, path=conflict.path, note=note)


def _phase_type(packet: Inbound, context: BatchContext) -> Refusal | None:
    phase = packet.value["run_phase"]
    if packet.packet_type in context.policy.phases[phase]:
        return None
    return Refusal(rules.PHASE_TYPE.code, f"{packet.packet_type} is not allowed in {phase}.")


def _drift_check_failed(packet: Inbound, context: BatchContext) -> Refusal | None:
    checks = packet.metadata.get("anti_drift")
    if not checks or all(checks.values()):
        return None
    failed = ", ".join(name for name in ANTI_DRIFT_CHECKS if checks.get(name) is False)
    return Refusal(rules.DRIFT_CHECK_FAILED.code, f"The sender reports as failed: {failed}.")


def _drift_check_missing(packet: Inbound, context: BatchContext) -> Refusal | None:
    if not context.policy.require_anti_drift:
        return None
    checks = packet.metadata.get("anti_drift") or {}
    absent = [name for name in ANTI_DRIFT_CHECKS if name not in checks]
    if not absent:
        return None
    return Refusal(
        rules.DRIFT_CHECK_MISSING.code,
        f"HEADRACE_APC_REQUIRE_ANTI_DRIFT is on and these are absent: {', '.join(absent)}.",
    )


def is_unproved(packet: Inbound, policy: ApcPolicy) -> bool:
    """Return whether the policy refuses a packet for the lack of evidence."""
    phases = policy.proof_phases.get(packet.packet_type, frozenset())
    return packet.value["run_phase"] in phases and _proof_is_empty(packet)


def _proof_is_empty(packet: Inbound) -> bool:
    bundle = packet.value["proof_bundle"]
    has_evidence = any(reference.strip() for reference in bundle["evidence_refs"] or ())
    return not has_evidence and not bundle["falsifiers"]


def _proof_empty(packet: Inbound, context: BatchContext) -> Refusal | None:
    if not is_unproved(packet, context.policy):
        return None
    message = f"{packet.packet_type} in {packet.value['run_phase']} needs evidence or falsifiers."
    return Refusal(rules.PROOF_EMPTY.code, message, path="/proof_bundle")


def _throttle(packet: Inbound, context: BatchContext) -> Refusal | None:
    result = throttle(packet, context)
    return None if result.rule is None else Refusal(result.rule, result.message)


def _unknown_winner(packet: Inbound, context: BatchContext) -> Refusal | None:
    winner, candidates = packet.payload["winner_candidate_id"], packet.payload["candidates"]
    names = [candidate["candidate_id"] for candidate in candidates]
    if winner in names:
        return None
    message = f"{winner} is none of the candidates: {', '.join(names)}."
    return Refusal(rules.UNKNOWN_WINNER.code, message)


def _retraction_of_retraction(packet: Inbound, context: BatchContext) -> Refusal | None:
    target = packet.target
    if target is None or target["packet_type"] != "RETRACTION":
        return None
    message = f"{target['packet_id']} is itself a RETRACTION, which cannot be retracted."
    return Refusal(rules.RETRACTION_OF_RETRACTION.code, message)


def _retraction_target_unknown(packet: Inbound, context: BatchContext) -> Refusal | None:
    return _unknown(packet, rules.RETRACTION_TARGET_UNKNOWN.code)


def _retraction_not_owner(packet: Inbound, context: BatchContext) -> Refusal | None:
    target = packet.target
    sender = packet.value["sender"]
    if (
        target is None
        or sender["agent_id"] == target["sender_agent_id"]
        or sender["swarm_id"] == target["sender_swarm_id"]
    ):
        return None
    message = (
        f"{target['packet_id']} was sent by {target['sender_agent_id']} of swarm "
        f"{target['sender_swarm_id']}, not by {sender['agent_id']} or swarm {sender['swarm_id']}."
    )
    return Refusal(rules.RETRACTION_NOT_OWNER.code, message)


def _already_retracted(packet: Inbound, context: BatchContext) -> Refusal | None:
    target = packet.target
    if target is None or target["state"] != "RETRACTED":
        return None
    message = f"{target['packet_id']} is retracted already."
    return Refusal(rules.ALREADY_RETRACTED.code, message, "duplicate")


def _ack_target_unknown(packet: Inbound, context: BatchContext) -> Refusal | None:
    return _unknown(packet, rules.ACK_TARGET_UNKNOWN.code)


def _unknown(packet: Inbound, rule: str) -> Refusal | None:
    if packet.target is not None:
        return None
    message = f"Session {packet.session_id} has no other packet {target_ids(packet)[0]}."
    return Refusal(rule, message)


def _ack_not_recipient(packet: Inbound, context: BatchContext) -> Refusal | None:
    target = packet.target
    agent = packet.value["sender"]["agent_id"]
    if target is None or agent in target["recipients"]:
        return None
    message = f"{agent} is not among the recipients of {target['packet_id']}."
    return Refusal(rules.ACK_NOT_RECIPIENT.code, message)


_RETRACTION = frozenset({"RETRACTION"})
_ACKS = frozenset({"ACK", "NACK"})

_SESSION_OVER_RULES: dict[str, str] = {
    InterState.HALTED: rules.SESSION_HALTED.code,
    InterState.CLOSED: rules.SESSION_CLOSED.code,
}

CHECKS: tuple[Check, ...] = (
    Check(1, ALL_TYPES - ALLOWED_AFTER_END, _session_over),
    Check(1, ALL_TYPES - ALLOWED_AFTER_END, _agent_halted),
    Check(2, ALL_TYPES, _phase_type),
    Check(3, ALL_TYPES, _drift_check_failed),
    Check(3, CONTENT, _drift_check_missing),
    Check(3, frozenset(CRITICAL_PHASES), _proof_empty),
    Check(4, frozenset({"TRANSFER"}), _throttle),
    Check(4, frozenset({"ARBITRATION"}), _unknown_winner),
    Check(4, _RETRACTION, _retraction_of_retraction),
    Check(5, _RETRACTION, _retraction_target_unknown),
    Check(6, _RETRACTION, _retraction_not_owner),
    Check(7, _RETRACTION, _already_retracted),
    Check(4, _ACKS, _ack_target_unknown),
    Check(5, _ACKS, _ack_not_recipient),
    Check(15, ALL_TYPES, _session_state),
    Check(15, ALL_TYPES, _step_of_agent),
)

_CHECKS_OF_TYPE: dict[str, tuple[CheckFunction, ...]] = {
    packet_type: tuple(
        check.function
        for check in sorted(CHECKS, key=lambda check: check.number)
        if packet_type in check.types
    )
    for packet_type in ALL_TYPES
}


def content_warnings(packet: Inbound) -> list[str]:
    """Return the warnings that a well-formed packet's content causes."""
    warnings: list[str] = []
    recipients = packet.value["recipients"]
    if len(recipients) > 1 and len({recipient["agent_id"] for recipient in recipients}) < len(
        recipients
    ):
        warnings.append(rules.RECIPIENT_REPEATED.code)
    add_warnings = _WARNINGS.get(packet.packet_type)
    if add_warnings is not None:
        add_warnings(packet, warnings)
    return warnings


def _warn_claim(packet: Inbound, warnings: list[str]) -> None:
    if _proof_is_empty(packet):
        warnings.append(rules.PROOF_BUNDLE_EMPTY.code)


def _warn_eval(packet: Inbound, warnings: list[str]) -> None:
    _warn_claim(packet, warnings)
    if not pass_agrees(packet.payload):
        warnings.append(rules.EVAL_PASS_DISAGREES.code)


def _warn_transfer(packet: Inbound, warnings: list[str]) -> None:
    payload = packet.payload
    if payload["from_swarm"] == payload["to_swarm"]:
        warnings.append(rules.SELF_TRANSFER.code)
    if payload["from_swarm"] != packet.value["sender"]["swarm_id"]:
        warnings.append(rules.FROM_SWARM_NOT_SENDER.code)
    mode = packet.value["lineage"]["transfer_mode"]
    if mode is not None and mode != payload["transfer_policy"]["mode"]:
        warnings.append(rules.TRANSFER_MODE_DIFFERS.code)


def _warn_nack(packet: Inbound, warnings: list[str]) -> None:
    if packet.payload["ack_status"] != "REJECTED":
        warnings.append(rules.NACK_STATUS_IGNORED.code)


def _warn_task(packet: Inbound, warnings: list[str]) -> None:
    if has_unknown_constraint(packet):
        warnings.append(rules.BUDGET_EXPRESSION_UNKNOWN.code)


_WARNINGS: dict[str, Callable[[Inbound, list[str]], None]] = {
    "TASK_IR": _warn_task,
    "CLAIM": _warn_claim,
    "EVAL": _warn_eval,
    "TRANSFER": _warn_transfer,
    "NACK": _warn_nack,
}
