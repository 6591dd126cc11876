"""The signals for learning: each closed task, and the ratings and decisions of operators.

Source: SAP guide, 5.5 (SapLearningSignal).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas import canonical_json, sha256_hex
from schemas.sap.cache_key import keys_without
from streams.engine.processor import AvroValue
from streams.protocols.sap.constitution.checks import VALID
from streams.protocols.sap.processor import snippets
from streams.protocols.sap.processor.aggregate import TaskAggregate
from topology.sap import SAP_LEARNING_SIGNALS

Json = dict[str, Any]

_OTHER = "other"
_KINDS = ("action", "kind", "type")
"""The members that say what a follow-up is that is no task."""
MEMBERS = 32
"""Maximum members of a payload from which members are learned."""
_COMPUTED = frozenset({"agent_status", "alignment_refused", "alignment_escalated"})


def of_outcome(task: TaskAggregate, outcome: Json, value: AvroValue) -> None:
    """Send the signal that an outcome closed a task.  value: the outcome's Avro value."""
    row, evidence = task.row, value["constitutionalEvidence"]
    good = row["state"] == "SUCCEEDED" and row["lastAlignment"] == VALID
    output = outcome.get("output")
    members = {
        "policyChecks": evidence["policyChecks"] or [],
        "violations": evidence["violations"] or [],
        "metrics": _numbers(outcome.get("metrics") or {}),
        "citations": evidence["citations"] or [],
        "nextActions": [_purpose(action) for action in outcome.get("nextActions") or ()],
        "outputSha256": _sha256(output) if good and output is not None else None,
        "members": list(_members(task)),
    }
    _send(task, "outcome", members)


def of_signal(task: TaskAggregate, signal: AvroValue) -> None:
    """Send the signal that an operator rated, noted or decided.  signal: SapSignal."""
    members = {
        "rating": signal["rating"],
        "decision": signal["decision"],
        "note": signal["note"],
        "operator": signal["operator"]["agentId"],
    }
    _send(task, signal["kind"], members)


def _send(task: TaskAggregate, kind: str, members: AvroValue) -> None:
    row, accepted, ctx = task.row, task.accepted, task.ctx
    policy, rule = accepted["policy"], row["lastRule"] or "accepted"
    signal_id, capability = ctx.next_id(), row["target"]["capability"]
    signal = {
        "at": ctx.at,
        "signalId": signal_id,
        "kind": kind,
        "capability": capability,
        "territory": row["territory"],
        "fingerprint": accepted["fingerprint"],
        "extractorVersion": policy["extractorVersion"],
        "heuristicsVersion": policy["heuristicsVersion"],
        "taskId": row["taskId"],
        "status": row["state"],
        "alignment": row["lastAlignment"],
        "rule": rule,
        "computed": rule in _COMPUTED,
        "cacheHit": row["cacheState"] == "hit",
        "pressure": task.envelope["constitutionalContext"]["pressure"] or {},
        "policyChecks": [],
        "violations": [],
        "metrics": {},
        "citations": [],
        "nextActions": [],
        "outputSha256": None,
        "members": [],
        "rating": None,
        "decision": None,
        "note": None,
        "operator": None,
        "constitution": ctx.constitution.label,
        "snippet": snippets.of_task(task),
        **members,
    }
    ctx.send(SAP_LEARNING_SIGNALS, capability, signal, signal_id)


def _numbers(metrics: Json) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in metrics.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _purpose(action: Any) -> str:
    """Return what a follow-up is for: its capability; of one that is no task, its kind too."""
    if not isinstance(action, dict):
        return _OTHER
    target = action.get("target")
    capability = target.get("capability") if isinstance(target, dict) else None
    if isinstance(capability, str):
        return capability
    kinds = _words(action.get(name) for name in _KINDS)
    return " ".join([*kinds[:1], *_words([action.get("capability")])]) or _OTHER


def _words(values: Iterable[object]) -> list[str]:
    return [value for value in values if isinstance(value, str) and value]


def _members(task: TaskAggregate) -> Iterable[AvroValue]:
    """Return the members that the constitution leaves in, each with the key without it."""
    payload, removed = task.json["payload"], task.accepted["removedKeys"]
    volatile = task.ctx.constitution.volatile_keys
    names = [name for name in payload if name not in volatile]
    if len(names) > MEMBERS:
        return
    keys = keys_without(task.json, removed, sorted(names))
    for name, key in keys.items():
        yield {"name": name, "looSha256": key, "valueSha256": _sha256(payload[name])}


def _sha256(value: Any) -> str:
    return sha256_hex(canonical_json(value))
