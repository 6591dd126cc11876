"""What an agent is to read: the calls that it should work on, and the runs that it should stop.

Source: Summit 2.3, 5.2 and 5.5.
"""

from __future__ import annotations

from typing import Any

from streams.engine.processor import AvroValue
from streams.protocols.summit.processor.runs import Run
from topology.summit import SUMMIT_INBOX


def deliver(run: Run, call: AvroValue) -> None:
    """The call that made a run.  call: SummitCall with effective inputs."""
    _send(run, {**call, "delivery": _delivery(run, run.kind)}, run.run_id)


def stop(run: Run) -> None:
    """Tell the agent that its run has ended without it."""
    cancel = run.row["cancel"]
    params = {
        "runId": run.run_id,
        "agentId": run.agent_id,
        "reason": None if cancel is None else cancel["reason"],
    }
    call = {
        "jsonrpc": "2.0",
        "id": None,
        "method": "agent.cancel",
        "params": ("headrace.summit.CancelParams", params),
        "caller": None,
        "delivery": _delivery(run, "stop", run.row["reason"]),
    }
    _send(run, call, f"{run.run_id}/stop")


def _delivery(run: Run, kind: str, reason: str | None = None) -> dict[str, Any]:
    evidence = run.evidence
    return {
        "kind": kind,
        "agentVersion": evidence["manifestVersion"],
        "manifestHash": evidence["manifestHash"],
        "callPosition": evidence["callPosition"],
        "dueAt": run.row["dueAt"],
        "reason": reason,
    }


def _send(run: Run, call: AvroValue, id: str) -> None:
    run.scene.send(SUMMIT_INBOX, run.agent_id, call, id)
