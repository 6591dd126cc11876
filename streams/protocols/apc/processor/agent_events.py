"""The events that accepted packets raise in the coordination of agents, as a table.

Each function of `DRIVES` names the agents in which its event is raised by an accepted packet of
these types.  Packets that an agent sends to itself are on the channel INTRA_AGENT.

Source: APC guide, 4.5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from streams.engine.processor import AvroValue
from streams.protocols.apc.processor.batch import (
    ALL_TYPES,
    CONTENT,
    BatchContext,
    EventContext,
    Inbound,
)
from streams.protocols.apc.processor.commitments import confidence_holds
from streams.protocols.apc.processor.coordination import CoordinationUpdate
from streams.protocols.apc.processor.lifecycle import recipients
from topology.machines.apc_intra import IntraEvent

Agents = Sequence[str]
NOBODY: Agents = ()

_E = IntraEvent


class Drive(NamedTuple):
    event: str
    types: frozenset[str]
    agents: Callable[[Inbound, CoordinationUpdate], Agents]


def raise_events(packet: Inbound, update: CoordinationUpdate, explicit: str | None) -> None:
    """Raise the events of a packet; explicit: an event that its sender has raised already."""
    sender = packet.value["sender"]["agent_id"]
    for event, _, agents in _BY_TYPE[packet.packet_type]:
        for agent_id in agents(packet, update):
            if event != explicit or agent_id != sender:
                update.raise_in_agent(agent_id, event)


def raise_expired(
    row: AvroValue, event_context: EventContext, context: BatchContext
) -> list[AvroValue]:
    """Raise the event for a sender that waits for an expired packet; return the notes."""
    update = CoordinationUpdate(context, row["session_id"], row["packet_id"], event_context)
    for agent_id in _waiting(row, update):
        update.raise_in_agent(agent_id, _E.ACK_REJECTED_OR_DEFERRED)
    update.write()
    return update.notes


def _local(packet: Inbound) -> bool:
    return bool(packet.value["channel"] == "INTRA_AGENT")


def _sender(packet: Inbound) -> Agents:
    return (packet.value["sender"]["agent_id"],)


def _addressed(packet: Inbound) -> Agents:
    return _sender(packet) if _local(packet) else recipients(packet.value)


def _task_assigned(packet: Inbound, update: CoordinationUpdate) -> Agents:
    return _addressed(packet)


def _context_complete(packet: Inbound, update: CoordinationUpdate) -> Agents:
    synced = _local(packet) and packet.payload["signal"] == "SYNC"
    return _sender(packet) if synced else NOBODY


def _idea_ready(packet: Inbound, update: CoordinationUpdate) -> Agents:
    return _sender(packet)


def _critique_pass(packet: Inbound, update: CoordinationUpdate) -> Agents:
    return _sender(packet) if _local(packet) and confidence_holds(packet) else NOBODY


def _critique_fail(packet: Inbound, update: CoordinationUpdate) -> Agents:
    return _sender(packet) if _local(packet) and not confidence_holds(packet) else NOBODY


def _artifact_ready(packet: Inbound, update: CoordinationUpdate) -> Agents:
    return _sender(packet) if _local(packet) else NOBODY


def _checks_pass(packet: Inbound, update: CoordinationUpdate) -> Agents:
    return _sender(packet) if _local(packet) and packet.payload["pass"] else NOBODY


def _checks_fail(packet: Inbound, update: CoordinationUpdate) -> Agents:
    return _sender(packet) if _local(packet) and not packet.payload["pass"] else NOBODY


def _packet_emitted(packet: Inbound, update: CoordinationUpdate) -> Agents:
    return NOBODY if _local(packet) else _sender(packet)


def _ack_accepted(packet: Inbound, update: CoordinationUpdate) -> Agents:
    """Return the sender whose packet has all acknowledgements, or asks for none."""
    if update.waiting_agent is not None and not packet.value["routing"]["requires_ack"]:
        return (update.waiting_agent,)
    return _waiting_for_outcome(_E.ACK_ACCEPTED, update)


def _ack_rejected(packet: Inbound, update: CoordinationUpdate) -> Agents:
    return _waiting_for_outcome(_E.ACK_REJECTED_OR_DEFERRED, update)


def _waiting_for_outcome(event: IntraEvent, update: CoordinationUpdate) -> Agents:
    outcome = update.ack_outcome
    if outcome is None or outcome.event != event:
        return NOBODY
    return _waiting(outcome.row, update)


def _failed(packet: Inbound, update: CoordinationUpdate) -> Agents:
    return NOBODY if packet.payload["retryable"] else _sender(packet)


def _cancelled(packet: Inbound, update: CoordinationUpdate) -> Agents:
    return _addressed(packet) if packet.payload["signal"] == "CANCEL" else NOBODY


def _waiting(row: AvroValue, update: CoordinationUpdate) -> Agents:
    """Return the sender of the packet of this row, if it waits for that packet."""
    agent_id = row["sender_agent_id"]
    agent = update.agent(agent_id)
    waits = agent is not None and agent["awaiting_packet_id"] == row["packet_id"]
    return (agent_id,) if waits else NOBODY


def _only(*types: str) -> frozenset[str]:
    return frozenset(types)


DRIVES: tuple[Drive, ...] = (
    Drive(_E.TASK_ASSIGNED, _only("TASK_IR"), _task_assigned),
    Drive(_E.CONTEXT_COMPLETE, _only("SIGNAL"), _context_complete),
    Drive(_E.IDEA_PACKET_READY, _only("IDEA"), _idea_ready),
    Drive(_E.CRITIQUE_PASS, _only("CLAIM"), _critique_pass),
    Drive(_E.CRITIQUE_FAIL, _only("CLAIM"), _critique_fail),
    Drive(_E.ARTIFACT_LOCAL_READY, _only("ARTIFACT"), _artifact_ready),
    Drive(_E.LOCAL_CHECKS_PASS, _only("EVAL"), _checks_pass),
    Drive(_E.LOCAL_CHECKS_FAIL, _only("EVAL"), _checks_fail),
    Drive(_E.PACKET_EMITTED, CONTENT, _packet_emitted),
    Drive(_E.ACK_ACCEPTED, ALL_TYPES, _ack_accepted),
    Drive(_E.ACK_REJECTED_OR_DEFERRED, _only("ACK", "NACK"), _ack_rejected),
    Drive(_E.CANCEL_OR_ERROR, _only("ERROR"), _failed),
    Drive(_E.CANCEL_OR_ERROR, _only("SIGNAL"), _cancelled),
)
"""The order is that of raising the events."""

_BY_TYPE = {
    packet_type: tuple(drive for drive in DRIVES if packet_type in drive.types)
    for packet_type in ALL_TYPES
}
