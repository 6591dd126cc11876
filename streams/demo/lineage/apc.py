"""The APC part of the case: an idea, and a decision that depends on it."""

from __future__ import annotations

import uuid

from streams.demo import packets
from streams.demo.case import GRAPH, Part, trace
from streams.demo.context import DemoContext, Json


def proposed(stage: DemoContext) -> None:
    """APC: a builder has an idea, where the leak may be, and a decision rests on it."""
    for packet in (_idea(stage), _decision(stage)):
        fact = stage.packet(packet)
        stage.show("packet", f"{packet['packet_type']} {packet['packet_id'][:8]}: {fact['rule']}")
        stage.expect("the verdict", fact["verdict"], "accepted")


def taken_back(stage: DemoContext) -> None:
    """The idea was wrong, and is taken back: what rests on it is named."""
    first, rests = _idea(stage), _decision(stage)
    payload = {"target_packet_id": first["packet_id"], "reason": "the split was sound"}
    fact = stage.packet(_packet(stage, first, "RETRACTION", "VALIDATION", payload))
    stage.expect("the verdict", fact["verdict"], "accepted")
    node = f"apc:packet:{first['packet_id']}"
    reached = stage.wait_for("the retraction", lambda: _retracted(stage, node))
    names = [each["from_node"] for each in reached["items"] if each["relation"] == "child_of"]
    stage.show("reached", ", ".join(names))
    stage.expect("what it reaches", names, [f"apc:packet:{rests['packet_id']}"])


def _retracted(stage: DemoContext, node: str) -> Json | None:
    page: Json = stage.get(GRAPH, f"node={node}&direction=blast_radius")
    return page if page["nodes"][0]["retracted_by"] else None


def _idea(stage: DemoContext) -> Json:
    """Return the first packet of the case."""
    example = packets.example(str(trace(stage)))
    return _packet(stage, example, "IDEA", "DISCOVERY", example["payload"])


def _decision(stage: DemoContext) -> Json:
    """Return the decision that depends on the idea."""
    first = _idea(stage)
    made = _packet(stage, first, "DECISION", "VALIDATION", packets.decision(first)["payload"])
    made["trace"]["parent_packet_id"] = first["packet_id"]
    return made


def _packet(stage: DemoContext, of: Json, kind: str, phase: str, payload: Json) -> Json:
    """Return a packet with an id that only this run has."""
    made = packets.new(of, kind, phase, payload)
    packet_id = str(uuid.uuid5(trace(stage), kind))
    made["trace"]["root_packet_id"] = packet_id
    return {**made, "packet_id": packet_id}


PART = Part("apc", proposed, {"apc:packet": 2})
