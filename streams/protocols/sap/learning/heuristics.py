"""The heuristics of a capability: one row per version, each derived from the figures it records.

`derive` knows nothing but a basis, the JSON object that the row keeps.  So whoever has a row can
derive it again, and the rows form a chain in which each names the hash of the one before.

Source: SAP spec, 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas import canonical_json, sap, to_json
from streams.engine.processor import AvroValue
from streams.protocols.sap.learning import extra_checks, thresholds, volatile_keys
from topology.sap import SAP_HEURISTICS_TABLE

EVERY = 25
"""Computed outcomes after which heuristics are derived."""
NO_HASH = "0" * 64
KEPT = (
    "version",
    "extractorVersion",
    "volatileKeys",
    "blockedKeys",
    "thresholds",
    "extraChecks",
    "constitution",
    "sha256",
)
"""What the head of a capability keeps of its newest version."""

Row = Mapping[str, Any]


class Values(NamedTuple):
    """What a version says; tasks are bound to it."""

    volatile_keys: list[str]
    blocked_keys: list[str]
    thresholds: dict[str, float]
    extra_checks: list[str]


def values_of(row: Row) -> Values:
    """Of a version, or of the head that remembers the newest."""
    return Values(
        list(row["volatileKeys"]),
        list(row["blockedKeys"]),
        dict(row["thresholds"]),
        list(row["extraChecks"]),
    )


def derive(basis: Row) -> Values:
    """The values that a basis gives."""
    learned, blocked = volatile_keys.derive(basis["volatileKeys"])
    derived = {name: thresholds.derive(one) for name, one in basis["thresholds"].items()}
    return Values(
        learned,
        blocked,
        {name: number for name, number in sorted(derived.items()) if number is not None},
        extra_checks.derive(basis["extraChecks"]),
    )


def is_new(before: Row, values: Values, constitution: str) -> bool:
    """Whether these values make a version of their own.

    Thresholds and checks apply only under the constitution that they were derived with, so under
    another one they are another value.
    """
    if values != values_of(before):
        return True
    bound = values.thresholds or values.extra_checks
    return bool(bound) and before["constitution"] != constitution


def version(capability: str, head: Row, basis: Row, constitution: str, at: int) -> AvroValue:
    """The next version without its place in the chain.  head: of the newest so far."""
    values = derive(basis)
    changed = values.volatile_keys != head["volatileKeys"]
    return {
        "capability": capability,
        "version": head["version"] + 1,
        "extractorVersion": head["extractorVersion"] + changed,
        "volatileKeys": values.volatile_keys,
        "blockedKeys": values.blocked_keys,
        "thresholds": values.thresholds,
        "extraChecks": values.extra_checks,
        "constitution": constitution,
        "basis_json": canonical_json(basis).decode(),
        "derivedAt": at,
    }


def chained(row: AvroValue, cause: str, previous_sha256: str | None) -> AvroValue:
    """The row with its cause, the hash of the version before, and its own."""
    whole = row | {"cause": cause, "previousSha256": previous_sha256 or NO_HASH, "sha256": ""}
    return whole | {"sha256": record_sha256(SAP_HEURISTICS_TABLE.record, whole)}


def record_sha256(record: str, value: AvroValue) -> str:
    """Canonical hash of a record without its `sha256`, and without what is null."""
    return sap.record_sha256(to_json(record, value), "sha256")
