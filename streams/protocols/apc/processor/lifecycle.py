"""The lifecycle of a packet: its row, and its transitions by the `apc-packet` machine.

Rows and facts leave out what a reader can fill in: a transition's time and cause are null in a
fact where they are the fact's own, in a row where they are the time and position of the packet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from streams.engine.processor import AvroValue
from streams.protocols.apc.policy_values import ApcPolicy
from streams.protocols.apc.processor import contributions, facts
from streams.protocols.apc.processor.batch import BatchContext, Inbound
from streams.protocols.apc.processor.throttling import transfer_member
from topology.machine import step
from topology.machines.apc_packet import MACHINE

KEEPS_PACKET = frozenset({"ROUTED", "DELIVERED", "APPLIED"})
"""States in which the packet may still be delivered again, verified or superseded."""
NOT_COUNTED = frozenset({"REJECTED_SCHEMA", "REJECTED_POLICY", "EXPIRED", "RETRACTED"})

EMITTED = ("emit",)
SCHEMA_FAILED = (*EMITTED, "schema_fail")
POLICY_FAILED = (*EMITTED, "schema_pass", "policy_fail")
ROUTED = (*EMITTED, "schema_pass", "policy_pass", "route_selected")
APPLIED = ("delivery_ack", "consumer_apply")
REFUSED = (*APPLIED, "verification_fail")
EXPIRED = ("ttl_expired",)
EXPIRED_ON_ARRIVAL = (*ROUTED, *EXPIRED)
RETRACTED = ("retraction_packet_received",)
PROMOTED = ("verification_pass", "promotion_eligible", "persisted")
VERIFIED = ("verification_pass", "non_promotable_complete")
FAILED = ("verification_fail",)
SUPERSEDED = ("higher_conflict_resolution_arrived", "supersession_recorded")


@lru_cache(maxsize=256)
def initial_history(events: tuple[str, ...]) -> tuple[tuple[AvroValue, ...], str]:
    """Return the history of a packet after these events on arrival, and its state then."""
    state = str(MACHINE.initial)
    history = [_transition(0, "init", None, state)]
    for event in events:
        history.append(_take_transition(len(history), state, event))
        state = history[-1]["to_state"]
    return tuple(history), state


def new_row(packet: Inbound, rule: str, policy: ApcPolicy) -> AvroValue:
    """Return the row of a packet just decided; `arrive` sets its state."""
    value = packet.value
    trace, sender = packet.trace, value["sender"]
    project = packet.metadata.get("project_id")
    return {
        "session_id": packet.session_id,
        "packet_id": packet.packet_id,
        "packet": packet.packet,
        "packet_type": packet.packet_type,
        "run_id": trace["run_id"],
        "task_id": trace["task_id"],
        "generation": trace["generation"],
        "sender_agent_id": sender["agent_id"],
        "sender_swarm_id": sender["swarm_id"],
        "recipients": recipients(value),
        "transfer": transfer_member(packet) if packet.packet_type == "TRANSFER" else None,
        "packet_hash": packet.packet_hash,
        "identity_hash": packet.identity_hash,
        "position": packet.cause,
        "logged_at": packet.at,
        "trace_id": packet.trace_id,
        "project_id": project if isinstance(project, str) else None,
        "state": "",
        "rule": rule,
        "history": (),
        "acks": None,
        "verification": _DEFERRED if is_deferred(packet, policy) else _IMMEDIATE,
        "gates": None,
        "counted": False,
        "updated_at": packet.at,
        "version": 1,
        "strategies": None,
    }


def is_deferred(packet: Inbound, policy: ApcPolicy) -> bool:
    """Return whether only an EVAL or ARBITRATION verifies a packet."""
    metadata = packet.metadata
    return packet.packet_type in policy.deferred_types or metadata.get("verification") == "deferred"


def arrive(
    row: AvroValue, events: tuple[str, ...], metadata: Mapping[str, str] | None = None
) -> None:
    """Apply the events of a new row's own record.

    metadata: the JSON text that the transition of an event carries, by event.
    """
    history, state = initial_history(events)
    row["history"] = _with_metadata(history, metadata) if metadata else history
    row["state"] = state
    row["counted"] = state not in NOT_COUNTED
    if state not in KEEPS_PACKET:
        row["packet"] = None


def _with_metadata(
    history: Sequence[AvroValue], metadata: Mapping[str, str]
) -> tuple[AvroValue, ...]:
    return tuple(
        {**transition, "metadata_json": metadata[transition["event"]]}
        if transition["event"] in metadata
        else transition
        for transition in history
    )


def recipients(value: AvroValue) -> list[str]:
    """Return the agents that a packet is for, each once, in the packet's order."""
    named = value["recipients"]
    if len(named) == 1:
        return [named[0]["agent_id"]]
    return list(dict.fromkeys(recipient["agent_id"] for recipient in named))


def advance(
    row: AvroValue,
    events: Sequence[str],
    rule: str,
    *,
    at: int,
    cause: str,
    metadata_json: str | None = None,
) -> list[AvroValue]:
    """Apply these events to the row; return the transitions in the form that its fact has.

    Without events only `updated_at` and `version` change.  metadata_json goes to the last
    transition.
    """
    transitions: list[AvroValue] = []
    for event in events:
        transitions.append(
            _take_transition(len(row["history"]) + len(transitions), row["state"], event)
        )
        row["state"] = transitions[-1]["to_state"]
    if transitions:
        transitions[-1]["metadata_json"] = metadata_json
        origin = {
            "at": None if at == row["logged_at"] else at,
            "cause": None if cause == row["position"] else cause,
        }
        row["history"] = [
            *row["history"],
            *({**transition, **origin} for transition in transitions),
        ]
        row["rule"] = rule
        row["counted"] = row["counted"] and row["state"] not in NOT_COUNTED
        if row["state"] not in KEEPS_PACKET:
            row["packet"] = None
    row["updated_at"] = at
    row["version"] += 1
    return transitions


def move(
    packet: Inbound,
    row: AvroValue,
    events: Sequence[str],
    rule: str,
    message: str,
    context: BatchContext,
    *,
    metadata_json: str | None = None,
) -> None:
    """Apply these events to the packet of `row`; without events its state stays.

    Adds the fact, and if the packet is no longer counted, subtracts what it had added to the sums.
    """
    counted = row["counted"]
    transitions = advance(
        row, events, rule, at=packet.at, cause=packet.cause, metadata_json=metadata_json
    )
    event_id = facts.add_effect(packet, row, rule, message, transitions)
    if counted and not row["counted"]:
        contributions.remove(row, packet.event_context.for_fact(event_id), context)
    context.put(row)


def _take_transition(seq: int, state: str, event: str) -> AvroValue:
    to_state = step(MACHINE, state, event)
    if to_state is None:
        raise ValueError(f"a packet in {state} has no edge {event}")
    return _transition(seq, event, state, str(to_state))


def _transition(seq: int, event: str, from_state: str | None, to_state: str) -> AvroValue:
    return {
        "seq": seq,
        "event": event,
        "from_state": from_state,
        "to_state": to_state,
        "at": None,
        "cause": None,
        "metadata_json": None,
    }


_IMMEDIATE: AvroValue = {"mode": "immediate", "outcome": None, "by": None}
_DEFERRED: AvroValue = {"mode": "deferred", "outcome": None, "by": None}
