"""The row of a task, SapTaskState: its first content, and what each outcome changes.

The processor writes rows with these functions, and the fold derives them from facts.  Each of the
two has its own code for the order in which facts change a row, since `verify` compares them.

Source: SAP guide, 5.1 and 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streams.engine.processor import AvroValue

MAX_ENDPOINT = 1024
"""Maximum characters of an endpoint for replies: those of a text of the protocol (SAP guide, 2)."""


def _error_code(outcome: Mapping[str, Any]) -> Any:
    return None if outcome["error"] is None else outcome["error"]["code"]


FROM_OUTCOME: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "lastAlignment": lambda outcome: outcome["constitutionalEvidence"]["alignment"],
    "errorCode": _error_code,
}
"""Members that are as the last outcome has them (Avro, a SapResult), and how they are read from it.

`GET /v1/sap/tasks/{taskId}` and `headrace sap show` show each of them.
"""


def first_row(
    envelope: AvroValue,
    sha256: str,
    position: str,
    accepted: AvroValue,
    constitution: str,
    at: int,
) -> AvroValue:
    """Return the row of a task that was just accepted.  envelope: SapTask.  accepted: SapAccepted.

    position, at: of the task's record.  sha256: of its envelope.
    """
    telemetry: dict[str, Any] = envelope["telemetry"] or {}
    parent = envelope["parentTaskId"]
    return {
        "taskId": envelope["taskId"].lower(),
        "correlationId": envelope["correlationId"].lower(),
        "parentTaskId": None if parent is None else parent.lower(),
        "state": "QUEUED",
        "taskSha256": sha256,
        "position": position,
        "issuer": envelope["issuer"],
        "target": envelope["target"],
        "territory": envelope["constitutionalContext"]["territory"],
        "deadline": telemetry.get("deadline"),
        "trace": telemetry.get("trace") or False,
        "replyTo": reply_endpoint(envelope),
        "budget": telemetry.get("budget"),
        "outputContract": envelope["outputContract"],
        "accepted": accepted,
        "constitution": constitution,
        "acceptedAt": at,
        "startedAt": None,
        "updatedAt": at,
        "closedAt": None,
        "cacheState": "none",
        "flightLeader": False,
        "dispatched": False,
        "producer": None,
        "outcomeSeq": 0,
        "lastMetricsSha256": None,
        "lastRule": None,
        **dict.fromkeys(FROM_OUTCOME),
        "lastAlignment": "VALID",
        "hitVersion": None,
        "storedVersion": None,
        "storeRefused": False,
    }


def reply_endpoint(envelope: AvroValue) -> str | None:
    """Return where the issuer of a task would like to be answered; None if that is too long."""
    endpoint: str | None = (envelope.get("replyTo") or {}).get("endpoint")
    return None if endpoint is None or len(endpoint) > MAX_ENDPOINT else endpoint


def from_outcome(outcome: Mapping[str, Any]) -> AvroValue:
    """Return the members of the row that an outcome sets.  outcome: SapResult."""
    return {name: read(outcome) for name, read in FROM_OUTCOME.items()}
