"""The rows that a batch will ask for, fetched in one call per table."""

from __future__ import annotations

from collections.abc import Sequence

from streams.protocols.apc.processor import receivers
from streams.protocols.apc.processor.inbound import Desk, Inbound, named_by
from streams.protocols.apc.processor.lifecycle import recipients
from streams.protocols.apc.processor.words import CONTENT
from topology.keys import composite

_COUNTED = frozenset({"EVAL", "TRANSFER", "DECISION"})
_ADDRESSING = frozenset({"TASK_IR", "SIGNAL"})


def load(packets: Sequence[Inbound], desk: Desk) -> None:
    """Only a matter of speed: a packet that breaks rules may turn out to need less."""
    states = [packet.key for packet in packets]
    agents: set[tuple[str, str]] = set()
    for packet in packets:
        session_id = packet.session_id
        states += [composite(session_id, target) for target in named_by(packet)]
        if packet.packet_type in CONTENT:
            agents.add((session_id, packet.value["sender"]["agent_id"]))
        if packet.packet_type in _ADDRESSING:
            agents.update((session_id, agent) for agent in recipients(packet.value))
    desk.states.load(states)
    coordination = {composite(packet.session_id) for packet in packets}
    coordination.update(composite(*agent) for agent in agents)
    desk.coordination.load(coordination)
    desk.tasks.load({p.task_key for p in packets if p.packet_type in _COUNTED})
    transfers = (receivers.key_of(p) for p in packets if p.packet_type == "TRANSFER")
    desk.throttling.load({key for key in transfers if key is not None})
