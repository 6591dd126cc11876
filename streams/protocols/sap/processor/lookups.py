"""What a task asks of the cache and gives to it.

Source: SAP spec, 2.4 (SapLookup), 5.2 step 8, 5.3 (STORE, RELEASE).
"""

from __future__ import annotations

from typing import Any

from streams.engine.processor import AvroValue
from streams.protocols.sap.processor.case import Case
from streams.protocols.sap.processor.outcomes import VALID, Answer
from topology.sap import SAP_LOOKUPS

Json = dict[str, Any]


def read(case: Case) -> None:
    """Ask for an answer that is there already.

    The reason names the constitution under which the policy holds: the cache may look at it much
    later, under another one.
    """
    _send(case, "READ", task=case.envelope, reason=case.row["constitution"])


def is_stored(answer: Answer, outcome: Json, row: AvroValue) -> bool:
    """Whether an outcome is an answer that others may use.

    One that an agent took from a cache of its own is not: an old answer would look new.
    """
    said = outcome["meta"]["headrace"]
    return (
        said["agentStatus"] is not None
        and answer.status == "SUCCEEDED"
        and answer.finding.alignment == VALID
        and row["accepted"]["mode"] == "prefer"
        and outcome.get("output") is not None
        and not (said.get("reportedCache") or {}).get("hit", False)
    )


def store(case: Case, outcome: Json, value: AvroValue) -> None:
    """Give an answer to the cache.  value: the outcome as Avro has it."""
    row, accepted, evidence = case.row, case.accepted, value["constitutionalEvidence"]
    context = case.envelope["constitutionalContext"]
    draft = {
        "cacheKey": accepted["cacheKey"],
        "sapVersion": case.envelope["protocolVersion"],
        "capability": row["target"]["capability"],
        "territory": row["territory"],
        "principles": context["principles"],
        "outputContract": row["outputContract"],
        "fingerprint": accepted["fingerprint"],
        "storedAt": case.scene.time(),
        "producer": value["producer"]["agentId"],
        "producerKind": value["producer"]["agentKind"],
        "alignment": evidence["alignment"],
        "output_json": value["output_json"],
        "citations": evidence["citations"],
        "policyChecks": evidence["policyChecks"] or [],
        "violations": evidence["violations"] or [],
        "pressureLevel": context["pressureLevel"],
        "heuristicsVersion": accepted["policy"]["heuristicsVersion"],
        "constitution": case.scene.constitution.label,
        "taskId": row["taskId"],
        "correlationId": row["correlationId"],
        "outcomeSeq": row["outcomeSeq"],
        "resultSha256": outcome["meta"]["headrace"]["resultSha256"],
    }
    _send(case, "STORE", draft=draft)


def release(case: Case, reason: str) -> None:
    """The task neither waits any more nor computes what others wait for."""
    _send(case, "RELEASE", reason=reason)


def _send(
    case: Case,
    op: str,
    *,
    task: AvroValue | None = None,
    draft: AvroValue | None = None,
    reason: str | None = None,
) -> None:
    row, accepted, scene = case.row, case.accepted, case.scene
    lookup_id = scene.next_id()
    lookup = {
        "at": scene.now,
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
        "task": task,
        "draft": draft,
        "reason": reason,
    }
    scene.send(SAP_LOOKUPS, accepted["cacheKey"], lookup, lookup_id)
