"""The SAOP and RTES part of the case: the turns and the task of the coder."""

from __future__ import annotations

from streams.demo import case, packets
from streams.demo.case import Part
from streams.demo.context import DemoContext, Json
from topology.core import RTES_RAW
from topology.saop import SAOP_TURNS

CONFIDENCES = (0.93, 0.85, 0.77, 0.66)
"""Confidences of the coder's turns: strictly falling, and by more than 0.25 in all."""
_DETECTOR = ("saop_confidence_declines", "saop_confidence_drop")


def written(ctx: DemoContext) -> None:
    """SAOP and RTES: how the coder went about it, turn by turn, until it grew unsure."""
    task_id, parent = case.name(ctx, "repair"), case.traceparent(ctx)
    for step in (("PENDING", "IN_PROGRESS"), ("IN_PROGRESS", "COMPLETED")):
        event = packets.transition(ctx.session, *step)
        event["payload"]["task_id"] = task_id
        ctx.send(RTES_RAW.name, event, parent)
    for index, confidence in enumerate(CONFIDENCES):
        ctx.send(SAOP_TURNS.name, _turn(task_id, index, confidence), parent)
    query = f"task_id={task_id}"
    turns = ctx.get("/v1/saop/turns", query)["items"]
    ctx.expect(
        "turns", [turn["turn"]["turn_index"] for turn in turns], list(range(len(CONFIDENCES)))
    )
    rules = [each["rules"] for each in ctx.get("/v1/saop/escalations", query)["items"]]
    ctx.expect("escalations", rules, [["confidence_drop"]])
    ctx.show("escalated", f"after {len(turns)} turns: {rules[0][0]}")


def _turn(task_id: str, index: int, confidence: float) -> Json:
    """Return the index-th turn of the coder."""
    content = {"thought": "", "action": f"Try repair {index}.", "observation": f"{index} failed"}
    metadata = {"version": "1.0.0", "task_id": task_id, "timestamp": case.AT}
    return {
        "turn_index": index,
        "agent_id": "developer",
        "role": "developer",
        "content": content,
        "metadata": {**metadata, "confidence": confidence, "estimated_complexity": "low"},
    }


PART = Part(
    "saop",
    written,
    {"saop:turn": 4, "saop:escalation": 1},
    possible=lambda stage: not stage.differs(*_DETECTOR),
)
