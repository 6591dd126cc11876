"""The facts that follow from an envelope alone: warnings, and its effective cache policy."""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas.canonical import canonical_json, sha256_hex
from schemas.sap import constants, rules
from schemas.sap.evidence_words import evidence_warnings
from schemas.sap.models import SapCheck, SapContract, SapViolation
from schemas.sap.shapes import ListOf, Member, Shape, shape_of, without_nulls


class EffectiveCache(NamedTuple):
    """The use of the cache by a task (SAP guide, 2.1).  max_age_sec: None for any age."""

    mode: str
    max_age_sec: int | None
    must_align: bool


def effective_cache(task: dict[str, Any]) -> EffectiveCache:
    """Return how a valid task uses the cache.

    No policy is `bypass`, no mode is `prefer`, and mustAlign is true by itself.
    """
    policy = task["constitutionalContext"].get("cachePolicy")
    if policy is None:
        return EffectiveCache("bypass", None, True)
    age, align = policy.get("maxAgeSec"), policy.get("mustAlign")
    return EffectiveCache(
        policy.get("mode") or "prefer",
        None if age is None else int(age),
        True if align is None else align,
    )


def task_warnings(task: dict[str, Any]) -> list[str]:
    """Return the warnings of a valid task, but for those that need the time or the policy."""
    context = task["constitutionalContext"]
    listed = context.get("principles") or ()
    warnings = []
    if any(principle not in listed for principle in context.get("pressure") or ()):
        warnings.append(rules.PRESSURE_FOR_UNLISTED_PRINCIPLE.code)
    return warnings


def result_warnings(result: dict[str, Any]) -> list[str]:
    """Return the warnings of a valid result."""
    warnings = []
    code = (result.get("error") or {}).get("code")
    if code is not None and code not in constants.ERROR_CODES:
        warnings.append(rules.UNKNOWN_ERROR_CODE.code)
    without = {
        "ESCALATED": rules.ESCALATED_WITHOUT_NEXT_ACTIONS,
        "PARTIAL": rules.PARTIAL_WITHOUT_NEXT_ACTIONS,
    }.get(result["status"])
    if without is not None and not result.get("nextActions"):
        warnings.append(without.code)
    return [*warnings, *evidence_warnings(result["constitutionalEvidence"])]


_RECORD = Shape(
    "SapCacheRecord",
    (
        Member("outputContract", shape_of(SapContract)),
        Member("policyChecks", ListOf(shape_of(SapCheck))),
        Member("violations", ListOf(shape_of(SapViolation))),
    ),
)
"""The objects of a record with members that may be null; nulls of open JSON remain."""


def record_sha256(record: dict[str, Any], without: str = "recordSha256") -> str:
    """Return the hash of a record of the service as JSON, without the member for the hash itself.

    Members that are null are left out (SAP guide, 2.4).
    """
    present = {name: item for name, item in record.items() if name != without and item is not None}
    return sha256_hex(canonical_json(without_nulls(_RECORD, present)))
