"""The events that accepted packets raise in the coordination of a session, as a table.

Each function of `DRIVES` returns whether its event is raised by an accepted packet of these types;
`GUARDS` also apply to events that a packet names itself.  `update_members` updates the members of
the row before any event; members that depend on the state are updated where their event is
checked.

Source: APC guide, 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from schemas.decimals import dec, product
from streams.engine.processor import AvroValue
from streams.protocols.apc.processor import contributions, verification
from streams.protocols.apc.processor.batch import ALL_TYPES, BatchContext, Inbound
from streams.protocols.apc.processor.coordination import CoordinationUpdate
from topology.machines.apc_inter import InterEvent, InterState

MIN_CANDIDATES = 2


class Drive(NamedTuple):
    """An event, and the packets that raise it.

    raised: whether the packet raises the event, in the current state of the session.
    """

    event: str
    types: frozenset[str]
    raised: Callable[[Inbound, AvroValue, CoordinationUpdate], bool]


def raise_events(
    packet: Inbound, row: AvroValue, update: CoordinationUpdate, explicit: str | None
) -> None:
    """Raise the events of a packet; explicit: an event that it has raised already."""
    for event, _, raised in _BY_TYPE[packet.packet_type]:
        if raised(packet, row, update) and event != explicit:
            raise_event(event, packet, update)


def raise_event(event: str, packet: Inbound, update: CoordinationUpdate) -> None:
    holds = guard_holds(event, packet, update.session()["open_vetoes"], update.context)
    update.raise_in_session(event, guard=holds)


def guard_holds(
    event: str, packet: Inbound, vetoes: Sequence[AvroValue], context: BatchContext
) -> bool:
    """Return whether the guard of an event holds for a packet.

    vetoes: those open after the packet.
    """
    if event == InterEvent.DECISION_COMMITTED:
        return not vetoes
    guard = GUARDS.get(event)
    return guard is None or guard(packet, context)


def update_members(packet: Inbound, row: AvroValue, update: CoordinationUpdate) -> None:
    """Update the swarms and the open vetoes of the session's row."""
    _update_swarms(packet, row, update)
    vetoes = vetoes_after(packet, row["open_vetoes"])
    if vetoes != row["open_vetoes"]:
        row["open_vetoes"] = vetoes
        update.mark_changed(row)


def vetoes_after(packet: Inbound, vetoes: list[AvroValue]) -> list[AvroValue]:
    """Return the open vetoes of a session after a packet, from those before it."""
    veto_of_packet = {"agent_id": packet.value["sender"]["agent_id"], "packet_id": packet.packet_id}
    match packet.packet_type, packet.payload.get("signal"):
        case "SIGNAL", "VETO":
            return [*vetoes, veto_of_packet]
        case "SIGNAL", "RESUME":
            return [veto for veto in vetoes if veto["agent_id"] != veto_of_packet["agent_id"]]
        case "RETRACTION", _:
            target = packet.payload["target_packet_id"]
            return [veto for veto in vetoes if veto["packet_id"] != target]
        case "ARBITRATION", _:
            named = packet.payload["vetoes"] or ()
            return [{**veto_of_packet, "agent_id": veto["agent_id"]} for veto in named]
        case _:
            return vetoes


def _update_swarms(packet: Inbound, row: AvroValue, update: CoordinationUpdate) -> None:
    known = update.context.swarms.get(packet.session_id)
    if known is None:
        known = update.context.swarms[packet.session_id] = set(row["swarms"])
    named = {packet.value["sender"]["swarm_id"]}
    for recipient in packet.value["recipients"]:
        if recipient["swarm_id"] is not None:
            named.add(recipient["swarm_id"])
    if not named <= known:
        known |= named
        row["swarms"] = sorted(known)
        update.mark_changed(row)


def _first_task(packet: Inbound, row: AvroValue, update: CoordinationUpdate) -> bool:
    return bool(row["state"] == InterState.SESSION_OPEN)


def _swarms_ready(packet: Inbound, row: AvroValue, update: CoordinationUpdate) -> bool:
    """Mark the sender's swarm as ready while the session researches; return whether all are."""
    researching = row["state"] == InterState.DIFFERENTIATED_RESEARCH
    if not researching or packet.payload["signal"] != "SYNC":
        return False
    ready = {*row["swarms_ready"], packet.value["sender"]["swarm_id"]}
    if len(ready) > len(row["swarms_ready"]):
        row["swarms_ready"] = sorted(ready)
        update.mark_changed(row)
    return ready.issuperset(row["swarms"])


def _window_opens(packet: Inbound, row: AvroValue, update: CoordinationUpdate) -> bool:
    if not _window_guard(packet, update.context):
        return False
    if row["generation_opened"]:
        return bool(row["state"] == InterState.INDEPENDENT_DISCOVERY)
    row["generation_opened"] = True
    update.mark_changed(row)
    return True


def _always(packet: Inbound, row: AvroValue, update: CoordinationUpdate) -> bool:
    return True


def _committed(packet: Inbound, row: AvroValue, update: CoordinationUpdate) -> bool:
    return bool(packet.payload["commitment_level"] != "PROPOSED")


def _both_seen(packet: Inbound, row: AvroValue, update: CoordinationUpdate) -> bool:
    """Mark an ARTIFACT or EVAL during execution; return whether it completes the pair."""
    if row["state"] != InterState.EXECUTION:
        return False
    member = "artifact_seen" if packet.packet_type == "ARTIFACT" else "eval_seen"
    if row[member]:
        return False
    row[member] = True
    update.mark_changed(row)
    return bool(row["artifact_seen"] and row["eval_seen"])


def _validated(packet: Inbound, row: AvroValue, update: CoordinationUpdate) -> bool:
    return bool(packet.value["run_phase"] == "VALIDATION" and _meets_gates(packet))


def _invalidated(packet: Inbound, row: AvroValue, update: CoordinationUpdate) -> bool:
    return bool(packet.value["run_phase"] == "VALIDATION" and not _meets_gates(packet))


def _commons_seeded(packet: Inbound, row: AvroValue, update: CoordinationUpdate) -> bool:
    mode = packet.payload["transfer_policy"]["mode"]
    return bool(packet.value["run_phase"] == "PROMOTION" and mode == "COMMONS_SEED")


def _stopped(packet: Inbound, row: AvroValue, update: CoordinationUpdate) -> bool:
    return bool(packet.payload["signal"] == "STOP")


def _meets_gates(packet: Inbound) -> bool:
    assert packet.gates is not None
    return bool(packet.gates["met"])


def _window_guard(packet: Inbound, context: BatchContext) -> bool:
    first = context.policy.transfers.first_enabled
    return first is not None and bool(packet.trace["generation"] >= first)


def _transfer_guard(packet: Inbound, context: BatchContext) -> bool:
    payload = packet.payload
    if packet.packet_type != "TRANSFER" or payload["transfer_policy"]["top_k"] is None:
        return False
    bounds = context.policy.transfers
    required = product(dec(payload["receiver_score"]), bounds.refinement_multiplier)
    above = dec(payload["sender_score"]) > required
    return above and int(payload["transfer_policy"]["top_k"]) <= bounds.convergence_top_k


def _pool_guard(packet: Inbound, context: BatchContext) -> bool:
    return len(packet.payload.get("candidates") or ()) >= MIN_CANDIDATES


def _gates_guard(packet: Inbound, context: BatchContext) -> bool:
    """Check the newest counted EVAL of the packet's task, also for other packets' events.

    An EVAL is that itself, also before it is counted.
    """
    if packet.packet_type == "EVAL":
        metrics = packet.payload["metric_set"]
        gates = packet.gates or verification.check_gates(metrics, context.policy.gates)
        return bool(gates["met"])
    return contributions.newest_met_gates(packet.task_key, context)


def _only(*types: str) -> frozenset[str]:
    return frozenset(types)


_E = InterEvent

DRIVES: tuple[Drive, ...] = (
    Drive(_E.RESEARCH_BRIEFS_DISPATCHED, _only("TASK_IR"), _first_task),
    Drive(_E.ALL_SWARMS_READY, _only("SIGNAL"), _swarms_ready),
    Drive(_E.GENERATION_WINDOW_OPEN, ALL_TYPES, _window_opens),
    Drive(_E.TRANSFER_ACCEPTED, _only("TRANSFER"), _always),
    Drive(_E.CANDIDATE_POOL_READY, _only("ARBITRATION"), _always),
    Drive(_E.DECISION_COMMITTED, _only("DECISION"), _committed),
    Drive(_E.ARTIFACT_AND_EVAL_EMITTED, _only("ARTIFACT", "EVAL"), _both_seen),
    Drive(_E.VALIDATION_PASS, _only("EVAL"), _validated),
    Drive(_E.VALIDATION_FAIL_OR_DRIFT, _only("EVAL"), _invalidated),
    Drive(_E.COMMONS_COMMIT_COMPLETE, _only("TRANSFER"), _commons_seeded),
    Drive(_E.STOP_SIGNAL_OR_BUDGET_EXHAUSTED, _only("SIGNAL"), _stopped),
)
"""The order is that of raising the events."""

GUARDS: dict[str, Callable[[Inbound, BatchContext], bool]] = {
    _E.GENERATION_WINDOW_OPEN: _window_guard,
    _E.TRANSFER_ACCEPTED: _transfer_guard,
    _E.CANDIDATE_POOL_READY: _pool_guard,
    _E.VALIDATION_PASS: _gates_guard,
}

_BY_TYPE = {
    packet_type: tuple(drive for drive in DRIVES if packet_type in drive.types)
    for packet_type in ALL_TYPES
}
