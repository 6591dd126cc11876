"""Records of `saop.log` and `rtes.events` as the processors write them."""

from __future__ import annotations

import uuid
from typing import Any

from schemas import encode
from streams.engine.records import Output
from topology.keys import partition_of

AT = 1_767_225_600_000
AGENTS = ("researcher", "architect", "developer", "reviewer")


def turn(
    task_id: str, index: int, *, gap: bool = False, thought: str = "", prefix: str = ""
) -> Output:
    """A logged turn; its agent and time follow from its index."""
    agent_id = AGENTS[index % len(AGENTS)]
    value = {
        "turn": {
            "turn_index": index,
            "agent_id": agent_id,
            "role": agent_id,
            "content": {"thought": thought, "action": "", "observation": ""},
            "metadata": {
                "version": "1.0.0",
                "task_id": task_id,
                "timestamp": "2026-01-01T00:00Z",
                "confidence": 0.5,
                "estimated_complexity": "low",
            },
        },
        "canonical_hash": "0" * 64,
        "held": False,
        "gap": {"missing_from": 0, "missing_to": 0, "reason": "time"} if gap else None,
        "dropped_keys": 0,
        "received_at": AT + index,
        "at": AT + index,
        "cause": f"saop.turns/0/{index}",
    }
    body = encode("headrace.saop.SaopTurnLogged", value)
    return Output(f"{prefix}saop.log", task_id.encode(), body)


def event(
    session_id: str,
    sequence: int,
    payload: tuple[str, dict[str, Any]],
    *,
    origin: str | None = None,
    task_id: str | None = None,
    prefix: str = "",
) -> Output:
    """payload: name of its record in `headrace.rtes`, and its Avro value."""
    name, value = payload
    record: dict[str, Any] = {
        "event_id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session_id}/{sequence}")),
        "session_id": session_id,
        "payload": (f"headrace.rtes.{name}", value),
        "origin": origin,
        "sequence": sequence,
        "recorded_at": AT + sequence,
        "rule": "recorded",
        "task_id": task_id,
        "profile": "devs" if name == "TaskTransition" else None,
        "flags": [],
        "masked_arguments": 0,
        "dropped_keys": 0,
        "rewind_id": None,
        "cause": f"rtes.raw/0/{sequence}",
    }
    body = encode("headrace.rtes.RtesRecord", record)
    return Output(f"{prefix}rtes.events", session_id.encode(), body)


def move(task_id: str, to_state: str, git_hash: str | None = None) -> tuple[str, dict[str, Any]]:
    return "TaskTransition", {
        "task_id": task_id,
        "from_state": "PENDING",
        "to_state": to_state,
        "git_hash": git_hash,
        "timestamp": "2026-01-01T00:00Z",
    }


def pulse(line: str) -> tuple[str, dict[str, Any]]:
    return "SandboxPulse", {"line": line, "masked": False, "timestamp": "2026-01-01T00:00Z"}


def thought(index: int, chunk: str) -> tuple[str, dict[str, Any]]:
    return "ThoughtStream", {
        "agent_id": "developer",
        "turn_index": index,
        "chunk": chunk,
        "is_final": False,
    }


def partition(output: Output, partitions: int) -> int:
    return partition_of(output.key or b"", partitions)
