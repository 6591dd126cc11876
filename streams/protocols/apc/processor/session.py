"""Coordination of a session and its agents: what an accepted packet makes of it.

The machines only observe.  First comes the event that a packet names itself, then those that its
type and content stand for, of the session before those of agents.
"""

from __future__ import annotations

from streams.protocols.apc.processor import inter, intra
from streams.protocols.apc.processor.inbound import Desk, Inbound
from streams.protocols.apc.processor.scene import Scene
from topology.machines.apc_inter import InterEvent
from topology.machines.apc_intra import IntraEvent

_OF_SESSION = frozenset(InterEvent)
_OF_AGENT = frozenset(IntraEvent)


def observe(packet: Inbound, desk: Desk) -> None:
    """Note an accepted packet in the rows of its session; the notes go to its fact."""
    scene = Scene(desk, packet.session_id, packet.packet_id, packet.occasion(f"{packet.cause}/0"))
    inter.keep(packet, scene)
    explicit = packet.metadata.get("coordination_event")
    if explicit is not None:
        _raise(explicit, packet, scene)
    inter.drive(packet, scene, explicit)
    intra.drive(packet, scene, explicit)
    scene.close()
    packet.notes = scene.notes


def _raise(event: str, packet: Inbound, scene: Scene) -> None:
    if event in _OF_SESSION:
        inter.raise_event(event, packet, scene)
    elif event in _OF_AGENT:
        scene.in_agent(packet.value["sender"]["agent_id"], event)
    else:
        scene.unknown(event)
