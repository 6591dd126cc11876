"""The SAP part of the case: a task that vets what may be said about it."""

from __future__ import annotations

from streams.agents import EchoAgent
from streams.demo import answers
from streams.demo.case import AT_MS, Part, trace
from streams.demo.context import DemoContext, Json
from topology.sap import SAP_RESULTS, SAP_TASKS


def vetted(stage: DemoContext) -> None:
    """SAP: what may be said of it is asked under the constitution, and answered."""
    task = answers.seed(stage, 6, question="Where does the split leak?")
    task["correlationId"] = str(trace(stage))
    stage.send(SAP_TASKS.name, task)
    stage.wait_for("the task in the inbox", lambda: _open(stage, task["taskId"]))
    _, result = EchoAgent(answers.agent_id(stage)).results(task, AT_MS)
    stage.send(SAP_RESULTS.name, result)
    row = stage.get(f"/v1/sap/tasks/{task['taskId']}")
    stage.show("task", f"{task['taskId'][:8]}: {row['state']}, {row['lastAlignment']}")
    stage.expect("the task", (row["state"], row["lastAlignment"]), ("SUCCEEDED", "VALID"))


def _open(stage: DemoContext, task_id: str) -> Json | None:
    """Return the task's row once the cache lookup has missed, None before."""
    row: Json = stage.get(f"/v1/sap/tasks/{task_id}")
    return row if row["cache"]["state"] == "missed" else None


PART = Part(
    "sap",
    vetted,
    {"sap:task": 1, "sap:outcome": 1, "sap:cache": 1},
    possible=lambda stage: not stage.differs(*answers.RULES),
)
