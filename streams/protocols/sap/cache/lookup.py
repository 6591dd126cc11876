"""The result of a cache lookup at a given time, and the verdicts that report it.

Only the newest versions are considered, and of these the fresh ones.  If the answer must align with
the asking task, each is evaluated again as if it were new, and the newest VALID one is the hit;
otherwise the newest fresh one.

Source: SAP guide, 5.4 (READ), 5.5 (SapHeuristics) and 2.4 (SapCacheVerdict).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from schemas import sap, to_json
from streams.engine.processor import AvroValue
from streams.protocols.sap.cache.slot import CacheSlot, Version
from streams.protocols.sap.constitution import Constitution, Evaluation, evaluate
from streams.protocols.sap.constitution.checks import CACHED, FAIL, UNCHECKED, VALID
from streams.protocols.sap.decision import DecisionContext
from topology.sap import SAP_VERDICTS

HIT, MISS, STALE, MISALIGNED = "hit", "miss", "stale", "misaligned"
_TASK = "headrace.sap.SapTask"


class LookupResult(NamedTuple):
    """The result of a lookup.

    version, age: of the hit.  checked: the evaluation of the hit, else of the newest.
    """

    verdict: str
    reason: str
    candidates: tuple[AvroValue, ...] = ()
    version: Version | None = None
    age: int | None = None
    checked: Evaluation | None = None


def age_of(version: Version, now_ms: int) -> int:
    """Return the version's age in whole seconds, at least 0."""
    stored = sap.parse_seconds(version.json["storedAt"])
    return 0 if stored is None else max(0, now_ms // 1000 - stored)


def choose_version(
    lookup: AvroValue, versions: Sequence[Version], now_ms: int, constitution: Constitution
) -> LookupResult:
    """Choose among the versions that are considered, the newest first."""
    if not versions:
        return LookupResult(MISS, "there is no version of this key")
    max_age: int | None = lookup["maxAgeSec"]
    ages = [age_of(version, now_ms) for version in versions]
    candidates = [
        {"version": v.number, "ageSec": age, "fresh": max_age is None or age <= max_age}
        | {"alignment": None}
        for v, age in zip(versions, ages, strict=True)
    ]
    fresh = [n for n, candidate in enumerate(candidates) if candidate["fresh"]]
    if not fresh:
        reason = f"{len(candidates)} considered, the youngest {min(ages)} s old, above {max_age} s"
        return LookupResult(STALE, reason, tuple(candidates))
    if not lookup["mustAlign"]:
        return _hit(versions[fresh[0]], ages[fresh[0]], "not checked again", candidates, None)
    return _choose_aligned(lookup, versions, ages, fresh, candidates, constitution)


def _choose_aligned(
    lookup: AvroValue,
    versions: Sequence[Version],
    ages: Sequence[int],
    fresh: Sequence[int],
    candidates: list[AvroValue],
    constitution: Constitution,
) -> LookupResult:
    task, policy = to_json(_TASK, lookup["task"]), _policy(lookup, constitution)
    newest: Evaluation | None = None
    for n in fresh:
        evaluation = _evaluate(task, policy, versions[n].json, constitution)
        candidates[n]["alignment"] = evaluation.alignment
        if evaluation.alignment == VALID:
            return _hit(versions[n], ages[n], "checked again", candidates, evaluation)
        newest = newest or evaluation
    evaluated = [c for c in candidates if c["alignment"]]
    versions_text = ", ".join(f"version {c['version']} {c['alignment']}" for c in evaluated)
    reason = f"{versions_text}{_failed_checks(newest)}"
    return LookupResult(MISALIGNED, reason, tuple(candidates), checked=newest)


def _policy(lookup: AvroValue, constitution: Constitution) -> AvroValue:
    """Return the policy of the evaluations.

    Thresholds and learned checks apply only under the constitution that they were derived under.  A
    READ names it as its reason; a READ of an earlier release names none.
    """
    policy: AvroValue = lookup["policy"]
    if lookup["reason"] in (None, constitution.label):
        return policy
    return {**policy, "thresholds": {}, "extraChecks": []}


def _hit(
    version: Version, age: int, how: str, candidates: list[AvroValue], checked: Evaluation | None
) -> LookupResult:
    reason = f"version {version.number}, {age} s old, {how}"
    return LookupResult(HIT, reason, tuple(candidates), version, age, checked)


def _failed_checks(evaluation: Evaluation | None) -> str:
    checks = evaluation.checks if evaluation else []
    names = [c["principle"] for c in checks if c["status"] in (FAIL, UNCHECKED)]
    return f": {', '.join(names)}" if names else ""


def _evaluate(
    task: dict[str, Any], policy: Any, record: dict[str, Any], constitution: Constitution
) -> Evaluation:
    """Evaluate a cached record with its own checks in the context of the asking task."""
    return evaluate(
        CACHED,
        task["constitutionalContext"],
        policy=policy,
        constitution=constitution,
        contract=task.get("outputContract"),
        budget=(task.get("telemetry") or {}).get("budget"),
        output=record["output"],
        citations=record["citations"] or (),
        checks=record["policyChecks"],
        violations=record["violations"],
    )


def send_result(
    lookup: AvroValue,
    result: LookupResult,
    slot: CacheSlot,
    ctx: DecisionContext,
    *,
    leader: bool = False,
) -> None:
    """Send the verdict on a READ."""
    verdict = make_result(lookup, result, slot.cache_key, ctx)
    _send(verdict | {"leader": leader, "leaderTaskId": slot.leader}, ctx)


def make_result(
    lookup: AvroValue, result: LookupResult, cache_key: str, ctx: DecisionContext
) -> AvroValue:
    """Return the SapCacheVerdict on a READ.  lookup: at least lookupId and taskId."""
    hit, more = result.version, {}
    if hit is not None:
        more = {"version": hit.number, "ageSec": result.age, "record": hit.body}
    verdict = _make_verdict(lookup, result.verdict, result.reason, cache_key, ctx)
    return verdict | _evidence(result) | more


def send_waiting(
    lookup: AvroValue, result: LookupResult, until: int, slot: CacheSlot, ctx: DecisionContext
) -> None:
    reason = f"{result.verdict}; {slot.leader} computes it"
    verdict = _make_verdict(lookup, "waiting", reason, slot.cache_key, ctx)
    more = {"leaderTaskId": slot.leader, "waitUntil": until, **_evidence(result)}
    _send(verdict | more, ctx)


def send_verdict(
    lookup: AvroValue,
    verdict: str,
    reason: str,
    slot: CacheSlot,
    ctx: DecisionContext,
    version: int | None = None,
    stored_sha256: str | None = None,
) -> None:
    """Send any other verdict.  lookup: at least lookupId and taskId.

    stored_sha256: the hash of the version that is stored.
    """
    value = _make_verdict(lookup, verdict, reason, slot.cache_key, ctx)
    more = {"leaderTaskId": slot.leader, "version": version, "recordSha256": stored_sha256}
    _send(value | more, ctx)


def _evidence(result: LookupResult) -> dict[str, Any]:
    checked = result.checked
    return {
        "candidates": list(result.candidates),
        "checks": None if checked is None else checked.checks,
        "violations": None if checked is None else checked.violations,
    }


def _make_verdict(
    lookup: AvroValue, verdict: str, reason: str, cache_key: str, ctx: DecisionContext
) -> AvroValue:
    return {
        "at": ctx.at,
        "verdictId": ctx.next_id(),
        "constitution": ctx.constitution.label,
        "lookupId": lookup["lookupId"],
        "taskId": lookup["taskId"],
        "cacheKey": cache_key,
        "verdict": verdict,
        "reason": reason,
        "leader": False,
        "leaderTaskId": None,
        "waitUntil": None,
        "version": None,
        "ageSec": None,
        "record": None,
        "checks": None,
        "violations": None,
        "candidates": [],
        "recordSha256": None,
    }


def _send(verdict: AvroValue, ctx: DecisionContext) -> None:
    ctx.send(SAP_VERDICTS, verdict["taskId"], verdict, verdict["verdictId"])
