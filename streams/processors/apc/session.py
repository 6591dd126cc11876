"""The coordination row of a session: made by its first accepted packet, it knows its swarms."""

from __future__ import annotations

from schemas import uuid5_url
from streams.engine.headers import iso
from streams.engine.processor import AvroValue
from streams.processors.apc.inbound import Desk, Inbound
from topology.keys import composite
from topology.topics import RTES_RAW

INITIAL = "SESSION_OPEN"


def observe(packet: Inbound, desk: Desk) -> None:
    """Note the swarms of an accepted packet; open the session if it is the first."""
    swarms = {packet.value["sender"]["swarm_id"]}
    for recipient in packet.value["recipients"]:
        if recipient["swarm_id"] is not None:
            swarms.add(recipient["swarm_id"])
    known = desk.sessions.get(packet.session_id)
    if known is not None and swarms <= known:
        return
    key = composite(packet.session_id)
    row = desk.coordination.get(key)
    if row is None:
        desk.coordination.put(key, _opened(packet, swarms))
        _report(packet, "none", INITIAL, desk)
    else:
        held = set(row["swarms"])
        if not swarms <= held:
            row["swarms"] = sorted(held | swarms)
            row["updated_at"] = packet.at
            row["version"] += 1
            desk.coordination.put(key, row)
        swarms |= held
    desk.sessions[packet.session_id] = swarms


def _opened(packet: Inbound, swarms: set[str]) -> AvroValue:
    return {
        "session_id": packet.session_id,
        "agent_id": None,
        "machine": "inter",
        "state": INITIAL,
        "history": [],
        "swarms": sorted(swarms),
        "swarms_ready": [],
        "open_vetoes": [],
        "artifact_seen": False,
        "eval_seen": False,
        "generation_opened": False,
        "awaiting_packet_id": None,
        "updated_at": packet.at,
        "version": 1,
    }


def _report(packet: Inbound, from_state: str, to_state: str, desk: Desk, n: int = 0) -> None:
    """Send a transition of the session to RTES, where the session is one task."""
    event_id = uuid5_url(f"headrace:apc:{packet.cause}/{n}")
    transition = {
        "task_id": packet.session_id,
        "from_state": from_state,
        "to_state": to_state,
        "git_hash": None,
        "timestamp": iso(packet.at).decode(),
    }
    event = {
        "event_id": event_id,
        "session_id": packet.session_id,
        "payload": ("headrace.rtes.TaskTransition", transition),
        "origin": "apc",
    }
    desk.work.send(
        RTES_RAW,
        packet.session_id,
        event,
        id=event_id,
        at=packet.at,
        cause=packet.cause,
        traceparent=packet.traceparent,
    )
