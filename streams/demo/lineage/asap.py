"""The ASAP part of the case: a task that a planner hands over."""

from __future__ import annotations

from schemas.asap import (
    ArtifactNotify,
    Envelope,
    TaskRequest,
    TaskResponse,
    TaskStatus,
    TaskUpdate,
    UpdateType,
    derived_id,
    make_envelope,
)
from streams.demo import tasks
from streams.demo.case import AT, AT_MS, Part, trace
from streams.demo.context import DemoContext


def handed_over(ctx: DemoContext) -> None:
    """ASAP: a planner hands the repair to a coder, who reports, delivers and is done."""
    for envelope in _envelopes(ctx):
        answer = ctx.door.call(envelope.model_dump(mode="json"))
        verdict = answer.get("result", {}).get("verdict")
        ctx.expect(f"the verdict on {envelope.payload_type}", verdict, "accepted")
        ctx.show("envelope", f"{envelope.payload_type} → {verdict}")


def _envelopes(ctx: DemoContext) -> list[Envelope]:
    """Return the envelopes of the task, in their order."""
    request = TaskRequest(conversation_id=ctx.session, skill_id="code.repair", input={})
    task_id = derived_id(f"{ctx.session}/repair", 0, AT_MS)
    update = TaskUpdate(
        task_id=task_id, update_type=UpdateType.STATUS_CHANGE, status=TaskStatus.WORKING
    )
    artifact = ArtifactNotify(task_id=task_id, artifact_id="patch", name="split.patch")
    response = TaskResponse(task_id=task_id, status=TaskStatus.COMPLETED, result={"fixed": True})
    planner, coder = tasks.planner(ctx), f"urn:asap:agent:coder:{ctx.session}"
    shared = {"trace_id": trace(ctx).hex, "timestamp": AT}
    task_request = make_envelope(request, sender=planner, recipient=coder, id=task_id, **shared)
    replies = [
        make_envelope(each, sender=coder, recipient=planner, correlation_id=task_id, **shared)
        for each in (update, artifact, response)
    ]
    return [task_request, *replies]


PART = Part(
    "asap",
    handed_over,
    {"asap:task": 1, "asap:envelope": 4, "asap:artifact": 1},
    possible=lambda stage: not tasks.needs_manifests(stage),
)
