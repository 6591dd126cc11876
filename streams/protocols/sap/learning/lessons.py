"""The counts of one capability, as rows; what they teach is said in the modules that derive.

Source: SAP spec, 5.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from streams.engine.processor import AvroValue, Work
from streams.protocols.sap.constitution import Constitution
from streams.protocols.sap.learning import extra_checks, thresholds, volatile_keys
from streams.protocols.sap.learning.aggregates import checks_of
from streams.protocols.sap.learning.bounds import NAME_LENGTH, room_for
from topology.declarations import Table
from topology.sap import (
    SAP_CHECK_COUNTERS,
    SAP_LEARNING_HEADS,
    SAP_MEMBER_GROUPS,
    SAP_MEMBER_TOTALS,
    SAP_READING_BINS,
    sap_key,
)

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


class Lessons:
    """What has been counted for a capability; `save` keeps the head, the rest is kept at once."""

    def __init__(self, capability: str, constitution: Constitution, work: Work) -> None:
        self.capability = capability
        self.head: AvroValue = work.rows(SAP_LEARNING_HEADS).get(capability) or dict(NO_HEAD)
        self._constitution = constitution
        self._learnable = constitution.learnable
        self._work = work

    def count(self, signal: AvroValue) -> None:
        """Count what one signal says."""
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
            told = volatile_keys.says(after) is not volatile_keys.Says.NOTHING
            if told and room_for(name, self.head["members"]):
                total = totals.get(self._key(name))
                totals.put(self._key(name), volatile_keys.count(total, before, after))
                self._know("members", name)

    def _know(self, names: str, name: str) -> None:
        if name not in self.head[names]:
            self.head = self.head | {names: sorted([*self.head[names], name])}

    def demotes(self) -> bool:
        """Whether a learned key is to be taken back at once."""
        learned = self.head["volatileKeys"]
        totals = self._rows_of(SAP_MEMBER_TOTALS, learned)
        return bool(volatile_keys.demoted(learned, totals, self.head["complaints"]))

    def basis(self, trigger: str) -> AvroValue:
        """Every figure that heuristics rest on now.  trigger: why they are derived."""
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
        """Remember which extra checks are in force from now on."""
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
        found = {name: rows.get(key) for name, key in keys.items()}
        return {name: row for name, row in found.items() if row is not None}

    def _key(self, *parts: str) -> str:
        return sap_key(self.capability, *parts)
