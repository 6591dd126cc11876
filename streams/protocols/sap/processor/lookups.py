"""The lookups that a task sends to the cache.

Source: SAP guide, 2.4 (SapLookup), 5.2 step 8, 5.3 (STORE, RELEASE).
"""

from __future__ import annotations

from typing import Any

from streams.engine.processor import AvroValue
from streams.protocols.sap.constitution.checks import VALID
from streams.protocols.sap.processor.aggregate import TaskAggregate
from topology.sap import SAP_LOOKUPS

Json = dict[str, Any]


def read(task: TaskAggregate) -> None:
    """Send the READ of a cached answer.

    The reason names the constitution under which the policy applies: the cache may read it much
    later, under another one.
    """
    _send(task, "READ", envelope=task.envelope, reason=task.row["constitution"])


def is_stored(outcome: Json, row: AvroValue) -> bool:
    """Return whether the outcome that closed a task is an answer that others may use.

    An answer that an agent took from its own cache is not: an old answer would look new.
    """
    meta = outcome["meta"]["headrace"]
    return (
        meta["agentStatus"] is not None
        and row["state"] == "SUCCEEDED"
        and row["lastAlignment"] == VALID
        and row["accepted"]["mode"] == "prefer"
        and outcome.get("output") is not None
        and not (meta.get("reportedCache") or {}).get("hit", False)
    )


def store(task: TaskAggregate, outcome: Json, value: AvroValue) -> None:
    """Give an answer to the cache.  value: the outcome as Avro has it."""
    row, accepted, evidence = task.row, task.accepted, value["constitutionalEvidence"]
    context = task.envelope["constitutionalContext"]
    draft = {
        "cacheKey": accepted["cacheKey"],
        "sapVersion": task.envelope["protocolVersion"],
        "capability": row["target"]["capability"],
        "territory": row["territory"],
        "principles": context["principles"],
        "outputContract": row["outputContract"],
        "fingerprint": accepted["fingerprint"],
        "storedAt": task.ctx.time(),
        "producer": value["producer"]["agentId"],
        "producerKind": value["producer"]["agentKind"],
        "alignment": evidence["alignment"],
        "output_json": value["output_json"],
        "citations": evidence["citations"],
        "policyChecks": evidence["policyChecks"] or [],
        "violations": evidence["violations"] or [],
        "pressureLevel": context["pressureLevel"],
        "heuristicsVersion": accepted["policy"]["heuristicsVersion"],
        "constitution": task.ctx.constitution.label,
        "taskId": row["taskId"],
        "correlationId": row["correlationId"],
        "outcomeSeq": row["outcomeSeq"],
        "resultSha256": outcome["meta"]["headrace"]["resultSha256"],
    }
    _send(task, "STORE", draft=draft)


def release(task: TaskAggregate, reason: str) -> None:
    """End the task's wait for a flight, or its lead of one."""
    _send(task, "RELEASE", reason=reason)


def _send(
    task: TaskAggregate,
    op: str,
    *,
    envelope: AvroValue | None = None,
    draft: AvroValue | None = None,
    reason: str | None = None,
) -> None:
    row, accepted, ctx = task.row, task.accepted, task.ctx
    lookup_id = ctx.next_id()
    lookup = {
        "at": ctx.at,
        "lookupId": lookup_id,
        "op": op,
        "cacheKey": accepted["cacheKey"],
        "taskId": row["taskId"],
        "correlationId": row["correlationId"],
        "mode": accepted["mode"],
        "maxAgeSec": accepted["maxAgeSec"],
        "mustAlign": accepted["mustAlign"],
        "deadlineAt": accepted["deadlineAt"],
        "policy": accepted["policy"],
        "task": envelope,
        "draft": draft,
        "reason": reason,
    }
    ctx.send(SAP_LOOKUPS, accepted["cacheKey"], lookup, lookup_id)
