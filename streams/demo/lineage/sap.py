"""The SAP part of the case: a task that vets what may be said about it."""

from __future__ import annotations

from streams.agents import EchoAgent
from streams.demo import answers
from streams.demo.case import AT_MS, Part, trace
from streams.demo.context import DemoContext, Json
from topology.sap import SAP_RESULTS, SAP_TASKS


def vetted(ctx: DemoContext) -> None:
    """SAP: what may be said of it is asked under the constitution, and answered."""
    task = answers.seed(ctx, 6, question="Where does the split leak?")
    task["correlationId"] = str(trace(ctx))
    ctx.send(SAP_TASKS.name, task)
    ctx.wait_for("the task in the inbox", lambda: _open(ctx, task["taskId"]))
    _, result = EchoAgent(answers.agent_id(ctx)).results(task, AT_MS)
    ctx.send(SAP_RESULTS.name, result)
    row = ctx.get(f"/v1/sap/tasks/{task['taskId']}")
    ctx.show("task", f"{task['taskId'][:8]}: {row['state']}, {row['lastAlignment']}")
    ctx.expect("the task", (row["state"], row["lastAlignment"]), ("SUCCEEDED", "VALID"))


def _open(ctx: DemoContext, task_id: str) -> Json | None:
    """Return the task's row once the cache lookup has missed, None before."""
    row: Json = ctx.get(f"/v1/sap/tasks/{task_id}")
    return row if row["cache"]["state"] == "missed" else None


PART = Part(
    "sap",
    vetted,
    {"sap:task": 1, "sap:outcome": 1, "sap:cache": 1},
    possible=lambda stage: not stage.differs(*answers.RULES),
)
