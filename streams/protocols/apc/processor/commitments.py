"""The checks of a packet against the coordination of its session and of its sender.

A packet is compared with the states that it meets, before any event of its own.  What would
commit the session must find its edge there, and an agent that is halted sends only what ends or
reports.  All other packets are legal in every state: many runs share one session, so the phase of
a run is not compared with the session's state.

The functions read no table, so that `headrace verify` derives a refusal again from the note that
its fact carries.

Source: APC guide, 4.7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from schemas.apc import rules
from streams.protocols.apc.policy_values import ApcPolicy
from streams.protocols.apc.processor.batch import CONTENT, Inbound
from topology.machine import step
from topology.machines.apc_inter import MACHINE as INTER
from topology.machines.apc_inter import InterEvent, InterState
from topology.machines.apc_intra import MACHINE as INTRA
from topology.machines.apc_intra import IntraEvent, IntraState

ALLOWED_AFTER_END = frozenset({"ACK", "NACK", "HEARTBEAT", "RETRACTION", "ERROR"})
"""Types that a halted or closed session still takes, and that a halted agent may still send."""
COMMITTING = frozenset({"ARBITRATION", "DECISION", "TRANSFER"})
"""Types of packets that commit a session, if they name no event themselves."""
_ALLOWED = "ACK, NACK, HEARTBEAT, RETRACTION, ERROR"  # in the order of the guide

_SESSION_EVENTS: frozenset[str] = frozenset(InterEvent)
_AGENT_EVENTS: frozenset[str] = frozenset(IntraEvent)
_S = InterState
_COMMITTED_STATES = (_S.ARBITRATION, _S.EXECUTION, _S.VALIDATION, _S.PROMOTION)
_POOLING = (_S.CONTROLLED_CONVERGENCE, _S.ARBITRATION)
_TRANSFERRING = (
    _S.INDEPENDENT_DISCOVERY, _S.SELECTIVE_TRANSFER, _S.CONTROLLED_CONVERGENCE, *_COMMITTED_STATES,
)  # fmt: skip
_EMITTING = (IntraState.LOCAL_IDLE, IntraState.PUBLISH)


class Conflict(NamedTuple):
    """The reason why coordination refuses a packet.

    event: the one that the packet would raise; agent_id: in whom, None for the session.
    why: `no_edge` or `guard_failed`.  path: a JSON Pointer to the member at fault, if it is one.
    """

    rule: str
    message: str
    event: str
    agent_id: str | None
    from_state: str
    why: str
    path: str | None = None


class Commitment(NamedTuple):
    """The event that a packet would raise in its session, and the states in which it may.

    guarded: whether the guard of the event has to hold too.
    """

    event: InterEvent
    states: tuple[InterState, ...]
    guarded: bool = False


def commitment_of(packet: Inbound) -> Commitment | None:
    """Return what a packet would commit its session to; None for one that commits it to nothing."""
    payload = packet.payload
    match packet.packet_type, packet.value["run_phase"]:
        case "DECISION", _ if payload["commitment_level"] != "PROPOSED":
            return Commitment(InterEvent.DECISION_COMMITTED, _COMMITTED_STATES, guarded=True)
        case "ARBITRATION", "ARBITRATION":
            return Commitment(InterEvent.CANDIDATE_POOL_READY, _POOLING)
        case "TRANSFER", "PROMOTION" if payload["transfer_policy"]["mode"] == "COMMONS_SEED":
            return Commitment(InterEvent.COMMONS_COMMIT_COMPLETE, (_S.PROMOTION,))
        case "TRANSFER", _:
            return Commitment(InterEvent.TRANSFER_ACCEPTED, _TRANSFERRING)
    return None


def session_conflict(
    packet: Inbound, state: str, policy: ApcPolicy, guard_holds: Callable[[str], bool]
) -> Conflict | None:
    """Return why the session, in this state before the packet, refuses it; None if it does not.

    guard_holds: whether the guard of an event holds for the packet.
    """
    mode = policy.session_mode
    if mode == "observe" or packet.value["channel"] == "INTRA_AGENT":
        return None
    if mode == "declared" and state == InterState.SESSION_OPEN:
        return None
    explicit = packet.metadata.get("coordination_event")
    if explicit in _SESSION_EVENTS:
        conflict = _illegal_event(packet, explicit, state, guard_holds)
        if conflict is not None:
            return conflict
    commitment = commitment_of(packet)
    if commitment is None:
        return None
    event = str(commitment.event)
    would = f"{packet.packet_type} would commit session {packet.session_id}"
    if state not in commitment.states:
        text = f"{would}, which is in {state}; legal in {', '.join(commitment.states)}."
        return Conflict(rules.SESSION_STATE.code, text, event, None, state, "no_edge")
    if commitment.guarded and not guard_holds(event):
        text = f"{would}, in which a veto is open."
        why = "no_edge" if step(INTER, state, event) is None else "guard_failed"
        return Conflict(rules.DECISION_VETOED.code, text, event, None, state, why)
    return None


def _illegal_event(
    packet: Inbound, event: str, state: str, guard_holds: Callable[[str], bool]
) -> Conflict | None:
    named = f"The packet names {event}"
    if step(INTER, state, event) is None:
        why, text = "no_edge", f"{named}, for which {state} has no edge."
    elif not guard_holds(event):
        why, text = "guard_failed", f"{named}, whose guard fails in {state}."
    else:
        return None
    rule = rules.COORDINATION_EVENT_ILLEGAL.code
    return Conflict(rule, text, event, None, state, why, "/metadata/coordination_event")


def halted_conflict(packet: Inbound, state: str, policy: ApcPolicy) -> Conflict | None:
    """Return why the sender, in this state, may not send the packet at all; None if it may."""
    if policy.agent_mode == "observe" or state != IntraState.LOCAL_HALT:
        return None
    if packet.packet_type in ALLOWED_AFTER_END:
        return None
    agent = packet.value["sender"]["agent_id"]
    text = f"Agent {agent} is halted in session {packet.session_id}; it may send {_ALLOWED} only."
    event = next((event for event, _ in _agent_events(packet)), IntraEvent.PACKET_EMITTED)
    return Conflict(rules.AGENT_HALTED.code, text, str(event), agent, state, "no_edge")


def agent_conflict(packet: Inbound, state: str, policy: ApcPolicy) -> Conflict | None:
    """Return why the sender, in this state, may not take the step of the packet."""
    if policy.agent_mode != "enforce":
        return None
    agent = packet.value["sender"]["agent_id"]
    for event, states in _agent_events(packet):
        legal = step(INTRA, state, event) is not None if states is None else state in states
        if not legal:
            text = f"{packet.packet_type} of {agent} is its step {event}, and it is in {state}"
            text += "." if states is None else f"; legal in {', '.join(states)}."
            named = event == packet.metadata.get("coordination_event")
            path = "/metadata/coordination_event" if named else None
            rule = rules.AGENT_STATE.code
            return Conflict(rule, text, str(event), agent, state, "no_edge", path)
    return None


def _agent_events(packet: Inbound) -> Iterator[tuple[str, tuple[IntraState, ...] | None]]:
    """Yield the steps of a packet's sender, each with its states, None for those with an edge."""
    explicit = packet.metadata.get("coordination_event")
    if explicit in _AGENT_EVENTS:
        yield explicit, None
    if packet.value["channel"] == "INTRA_AGENT":
        event = _local_event(packet)
        if event is not None:
            yield event, None
    elif packet.packet_type in CONTENT:
        yield IntraEvent.PACKET_EMITTED, _EMITTING


def _local_event(packet: Inbound) -> IntraEvent | None:
    """Return the event of a packet that an agent sends to itself."""
    match packet.packet_type:
        case "SIGNAL" if packet.payload["signal"] == "SYNC":
            return IntraEvent.CONTEXT_COMPLETE
        case "IDEA":
            return IntraEvent.IDEA_PACKET_READY
        case "CLAIM":
            passes = confidence_holds(packet)
            return IntraEvent.CRITIQUE_PASS if passes else IntraEvent.CRITIQUE_FAIL
        case "ARTIFACT":
            return IntraEvent.ARTIFACT_LOCAL_READY
        case "EVAL":
            passes = packet.payload["pass"]
            return IntraEvent.LOCAL_CHECKS_PASS if passes else IntraEvent.LOCAL_CHECKS_FAIL
    return None


def confidence_holds(packet: Inbound) -> bool:
    """Return whether a CLAIM is believed no less after thought than before.

    Compares the doubles; they have the same order as the decimals they are spelled as.
    """
    payload = packet.payload
    return bool(payload["confidence_post"] >= payload["confidence_pre"])
