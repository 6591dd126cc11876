"""What the agents of the last act say: envelopes of five protocols, all of one case.

APC and SAP write the trace of the case with hyphens, the others without.
"""

from __future__ import annotations

import uuid

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
from streams.demo import packets, tasks
from streams.demo.stage import Json, Stage
from streams.engine.headers import iso

AT_MS = 1_777_881_600_000
AT = iso(AT_MS).decode()


def trace(stage: Stage) -> uuid.UUID:
    """Of this telling's case."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"headrace:demo:{stage.session}:case")


def name(stage: Stage, name: str) -> str:
    return f"{name}-{stage.session}"


def idea(stage: Stage) -> Json:
    """The first packet of the case."""
    example = packets.example(str(trace(stage)))
    return packet(stage, example, "IDEA", "DISCOVERY", example["payload"])


def packet(stage: Stage, of: Json, kind: str, phase: str, payload: Json) -> Json:
    """A packet whose id is of this telling."""
    made = packets.new(of, kind, phase, payload)
    packet_id = str(uuid.uuid5(trace(stage), kind))
    made["trace"]["root_packet_id"] = packet_id
    return {**made, "packet_id": packet_id}


def decision(stage: Stage) -> Json:
    """What rests on the idea."""
    first = idea(stage)
    made = packet(stage, first, "DECISION", "VALIDATION", packets.decision(first)["payload"])
    made["trace"]["parent_packet_id"] = first["packet_id"]
    return made


def manifest(agent: str) -> Json:
    """Of the auditor."""
    shape = {"type": "object"}
    return {
        "apiVersion": "summit.io/v1",
        "kind": "Agent",
        "metadata": {"name": agent, "version": "1.0.0", "description": "Counts rows."},
        "spec": {
            "role": "x-data",
            "capabilities": ["rows:count"],
            "interface": {"inputSchema": shape, "outputSchema": shape},
            "tools": [],
        },
    }


def call(stage: Stage, agent: str, run_id: str) -> Json:
    """A question to the auditor."""
    context = {"traceId": trace(stage).hex, "budget": {"usd": 0, "seconds": 20}}
    params = {"agentId": agent, "runId": run_id, "inputs": {"table": "customers"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "agent.invoke"}
    return {**request, "params": {**params, "context": context}}


def reply(agent: str, run_id: str) -> Json:
    """What it finds."""
    return {
        "replyId": "final",
        "runId": run_id,
        "agentId": agent,
        "kind": "result",
        "output": {"both": 77},
        "metrics": {"tokens": 0, "latency_ms": 3, "cost_usd": 0},
        "provenance": {"model": "none", "timestamp": AT},
    }


def envelopes(stage: Stage) -> list[Envelope]:
    """Of the task, in their order."""
    request = TaskRequest(conversation_id=stage.session, skill_id="code.repair", input={})
    task_id = derived_id(f"{stage.session}/repair", 0, AT_MS)
    update = TaskUpdate(
        task_id=task_id, update_type=UpdateType.STATUS_CHANGE, status=TaskStatus.WORKING
    )
    artifact = ArtifactNotify(task_id=task_id, artifact_id="patch", name="split.patch")
    response = TaskResponse(task_id=task_id, status=TaskStatus.COMPLETED, result={"fixed": True})
    planner, coder = tasks.planner(stage), f"urn:asap:agent:coder:{stage.session}"
    shared = {"trace_id": trace(stage).hex, "timestamp": AT}
    asked = make_envelope(request, sender=planner, recipient=coder, id=task_id, **shared)
    told = [
        make_envelope(each, sender=coder, recipient=planner, correlation_id=task_id, **shared)
        for each in (update, artifact, response)
    ]
    return [asked, *told]


def turn(task_id: str, index: int, confidence: float) -> Json:
    """The index-th of the coder's."""
    content = {"thought": "", "action": f"Try repair {index}.", "observation": f"{index} failed"}
    metadata = {"version": "1.0.0", "task_id": task_id, "timestamp": AT}
    return {
        "turn_index": index,
        "agent_id": "developer",
        "role": "developer",
        "content": content,
        "metadata": {**metadata, "confidence": confidence, "estimated_complexity": "low"},
    }
