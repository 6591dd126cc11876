"""The heuristics of a capability: one row per version, each derived from the figures it records.

`CapabilityCounts` stores the counts of one capability as rows; the module of each rule describes
what is derived from them.  `derive` uses only a basis, the JSON object that the row contains.  So
every row can be derived again, and the rows form a chain in which each names the hash of the
previous one.

Source: SAP guide, 5.5; 5.1 (edges).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from schemas import canonical_json, sap, to_json
from streams.engine.processor import AvroValue, ProcessorContext
from streams.processing.decision import emit_edge
from streams.protocols.sap.constitution import Constitution
from streams.protocols.sap.learning import extra_checks, thresholds, volatile_keys
from streams.protocols.sap.learning.aggregates import NAME_LENGTH, checks_of, room_for
from topology.declarations import Table
from topology.sap import (
    SAP_CHECK_COUNTERS,
    SAP_HEURISTICS_TABLE,
    SAP_LEARNING_HEADS,
    SAP_MEMBER_GROUPS,
    SAP_MEMBER_TOTALS,
    SAP_READING_BINS,
    sap_key,
)

EVERY = 25
"""Computed outcomes after which heuristics are derived."""
NO_HASH = "0" * 64
HEAD_MEMBERS = (
    "version",
    "extractorVersion",
    "volatileKeys",
    "blockedKeys",
    "thresholds",
    "extraChecks",
    "constitution",
    "sha256",
)
"""Members of the newest version that the head of a capability repeats."""
NO_HEAD: Mapping[str, Any] = {
    "computed": 0,
    "version": 0,
    "extractorVersion": 0,
    "volatileKeys": [],
    "blockedKeys": [],
    "thresholds": {},
    "extraChecks": [],
    "constitution": "",
    "sha256": None,
    "complaints": 0,
    "members": [],
    "principles": [],
    "checks": [],
}

Row = Mapping[str, Any]


class CapabilityCounts:
    """The counts of a capability; `save` writes the head, other rows are written at once."""

    def __init__(self, capability: str, constitution: Constitution, ctx: ProcessorContext) -> None:
        self.capability = capability
        self.head: AvroValue = ctx.rows(SAP_LEARNING_HEADS).get(capability) or dict(NO_HEAD)
        self._constitution = constitution
        self._learnable = constitution.learnable
        self._work = ctx

    def count(self, signal: AvroValue) -> None:
        """Count one signal."""
        if signal["kind"] != "outcome":
            complains = bool(self.head["volatileKeys"]) and volatile_keys.is_complaint(signal)
            self.head = self.head | {"complaints": self.head["complaints"] + complains}
        elif signal["computed"]:
            self.head = self.head | {"computed": self.head["computed"] + 1}
            checks = checks_of(signal)
            self._count_readings(signal, checks)
            self._count_checks(checks)
            self._count_members(signal)

    def _count_readings(self, signal: AvroValue, checks: Mapping[str, str]) -> None:
        rows = self._work.rows(SAP_READING_BINS)
        failed = {name for name, status in checks.items() if status == "FAIL"}
        failed |= {violation["principle"] for violation in signal["violations"]}
        for name, reading in signal["pressure"].items():
            named = name in self._constitution.principles and len(name) <= NAME_LENGTH
            if named or room_for(name, self.head["principles"]):
                bins = (rows.get(self._key(name)) or {"bins": []})["bins"]
                counted = thresholds.count(bins, reading, name in failed)
                rows.put(self._key(name), {"bins": counted})
                self._know("principles", name)

    def _count_checks(self, checks: Mapping[str, str]) -> None:
        rows = self._work.rows(SAP_CHECK_COUNTERS)
        for id, failed in extra_checks.answers(checks):
            if id in self._learnable:
                rows.put(self._key(id), extra_checks.count(rows.get(self._key(id)), failed))
                self._know("checks", id)

    def _count_members(self, signal: AvroValue) -> None:
        groups = self._work.rows(SAP_MEMBER_GROUPS)
        totals = self._work.rows(SAP_MEMBER_TOTALS)
        members = volatile_keys.members(signal)
        groups.load(self._key(one["name"], one["looSha256"]) for one in members)
        for one in members:
            name, key = one["name"], self._key(one["name"], one["looSha256"])
            before = groups.get(key)
            after = volatile_keys.join(before, one["valueSha256"], signal["outputSha256"])
            groups.put(key, after)
            evidence = volatile_keys.evidence_of(after)
            counts = evidence is not volatile_keys.Evidence.NOTHING
            if counts and room_for(name, self.head["members"]):
                total = totals.get(self._key(name))
                totals.put(self._key(name), volatile_keys.count(total, before, after))
                self._know("members", name)

    def _know(self, names: str, name: str) -> None:
        if name not in self.head[names]:
            self.head = self.head | {names: sorted([*self.head[names], name])}

    def demotes(self) -> bool:
        """Return whether a learned key must be removed at once."""
        learned = self.head["volatileKeys"]
        totals = self._rows_of(SAP_MEMBER_TOTALS, learned)
        return bool(volatile_keys.keys_to_demote(learned, totals, self.head["complaints"]))

    def basis(self, trigger: str) -> AvroValue:
        """Return all figures that heuristics are derived from.  trigger: why they are derived."""
        head, constitution = self.head, self._constitution
        bins = self._rows_of(SAP_READING_BINS, head["principles"])
        counters = self._rows_of(SAP_CHECK_COUNTERS, head["checks"])
        return {
            "trigger": trigger,
            "computed": head["computed"],
            "volatileKeys": {
                "learned": head["volatileKeys"],
                "blocked": head["blockedKeys"],
                "complaints": head["complaints"],
                "members": self._rows_of(SAP_MEMBER_TOTALS, head["members"]),
            },
            "thresholds": {
                name: thresholds.basis(
                    row["bins"], constitution.threshold(name), constitution.on_exceed(name)
                )
                for name, row in bins.items()
            },
            "extraChecks": {
                id: counter for id, counter in counters.items() if id in self._learnable
            },
        }

    def mark(self, in_force: Sequence[str]) -> None:
        """Record which extra checks are now in force."""
        counters = self._rows_of(SAP_CHECK_COUNTERS, self.head["checks"])
        for id, counter in counters.items():
            marked = extra_checks.mark(counter, id in in_force)
            if marked != counter:
                self._work.rows(SAP_CHECK_COUNTERS).put(self._key(id), marked)

    def save(self) -> None:
        self._work.rows(SAP_LEARNING_HEADS).put(self.capability, self.head)

    def _rows_of(self, table: Table, names: Iterable[str]) -> dict[str, AvroValue]:
        rows, keys = self._work.rows(table), {name: self._key(name) for name in names}
        rows.load(keys.values())
        values = {name: rows.get(key) for name, key in keys.items()}
        return {name: row for name, row in values.items() if row is not None}

    def _key(self, *parts: str) -> str:
        return sap_key(self.capability, *parts)


class Values(NamedTuple):
    """The values of a version of heuristics, to which tasks are bound."""

    volatile_keys: list[str]
    blocked_keys: list[str]
    thresholds: dict[str, float]
    extra_checks: list[str]


def values_of(row: Row) -> Values:
    """Return the values of a version, or of a head, which stores those of the newest version."""
    return Values(
        list(row["volatileKeys"]),
        list(row["blockedKeys"]),
        dict(row["thresholds"]),
        list(row["extraChecks"]),
    )


def derive(basis: Row) -> Values:
    """Derive the values from a basis."""
    learned, blocked = volatile_keys.derive(basis["volatileKeys"])
    derived = {name: thresholds.derive(one) for name, one in basis["thresholds"].items()}
    return Values(
        learned,
        blocked,
        {name: number for name, number in sorted(derived.items()) if number is not None},
        extra_checks.derive(basis["extraChecks"]),
    )


def is_new(before: Row, values: Values, constitution: str) -> bool:
    """Return whether these values make a new version.

    Thresholds and checks apply only under the constitution that they were derived with, so another
    constitution makes a new version too.
    """
    if values != values_of(before):
        return True
    bound = values.thresholds or values.extra_checks
    return bool(bound) and before["constitution"] != constitution


def version(capability: str, head: Row, basis: Row, constitution: str, at: int) -> AvroValue:
    """Return the next version, not yet chained to the previous one.  head: of the newest so far."""
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


def chain_version(row: AvroValue, cause: str, previous_sha256: str | None) -> AvroValue:
    """Return the row with its cause, the hash of the previous version, and its own hash."""
    whole = row | {"cause": cause, "previousSha256": previous_sha256 or NO_HASH, "sha256": ""}
    return whole | {"sha256": record_sha256(SAP_HEURISTICS_TABLE.record, whole)}


def record_sha256(record: str, value: AvroValue) -> str:
    """Return the canonical hash of a record without its `sha256` and without nulls."""
    return sap.record_sha256(to_json(record, value), "sha256")


def emit_version_edge(row: AvroValue, at: int, cause: str, ctx: ProcessorContext) -> None:
    """Send the edge by which a version after the first replaces the previous one."""
    if row["version"] > 1:
        node = f"sap:heuristics:{row['capability']}/"
        edge = (f"{node}{row['version']}", "replaces", f"{node}{row['version'] - 1}")
        emit_edge(edge, at, cause, ctx)
