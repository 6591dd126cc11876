"""The APC part of the case: an idea, and a decision that depends on it."""

from __future__ import annotations

import uuid

from streams.demo import packets
from streams.demo.case import GRAPH, Part, trace
from streams.demo.context import DemoContext, Json


def proposed(ctx: DemoContext) -> None:
    """APC: a builder has an idea, where the leak may be, and a decision rests on it."""
    for packet in (_idea(ctx), _decision(ctx)):
        fact = ctx.packet(packet)
        ctx.show("packet", f"{packet['packet_type']} {packet['packet_id'][:8]}: {fact['rule']}")
        ctx.expect("the verdict", fact["verdict"], "accepted")


def taken_back(ctx: DemoContext) -> None:
    """The idea was wrong, and is taken back: what rests on it is named."""
    first, rests = _idea(ctx), _decision(ctx)
    payload = {"target_packet_id": first["packet_id"], "reason": "the split was sound"}
    fact = ctx.packet(_packet(ctx, first, "RETRACTION", "VALIDATION", payload))
    ctx.expect("the verdict", fact["verdict"], "accepted")
    node = f"apc:packet:{first['packet_id']}"
    reached = ctx.wait_for("the retraction", lambda: _retracted(ctx, node))
    names = [each["from_node"] for each in reached["items"] if each["relation"] == "child_of"]
    ctx.show("reached", ", ".join(names))
    ctx.expect("what it reaches", names, [f"apc:packet:{rests['packet_id']}"])


def _retracted(ctx: DemoContext, node: str) -> Json | None:
    page: Json = ctx.get(GRAPH, f"node={node}&direction=blast_radius")
    return page if page["nodes"][0]["retracted_by"] else None


def _idea(ctx: DemoContext) -> Json:
    """Return the first packet of the case."""
    example = packets.example(str(trace(ctx)))
    return _packet(ctx, example, "IDEA", "DISCOVERY", example["payload"])


def _decision(ctx: DemoContext) -> Json:
    """Return the decision that depends on the idea."""
    first = _idea(ctx)
    made = _packet(ctx, first, "DECISION", "VALIDATION", packets.decision(first)["payload"])
    made["trace"]["parent_packet_id"] = first["packet_id"]
    return made


def _packet(ctx: DemoContext, of: Json, kind: str, phase: str, payload: Json) -> Json:
    """Return a packet with an id that only this run has."""
    made = packets.new(of, kind, phase, payload)
    packet_id = str(uuid.uuid5(trace(ctx), kind))
    made["trace"]["root_packet_id"] = packet_id
    return {**made, "packet_id": packet_id}


PART = Part("apc", proposed, {"apc:packet": 2})
