"""Which payload members do not matter to an answer: they change, and the answer does not.

Validated answers are grouped by (member name, hash of all that is left of the cache key without
it).  A group of two values or more supports its member if all its answers are one, and contradicts
it if they differ; with one value it says nothing.  A member that no group contradicts, and that 5
groups of 30 answers in all support, is learned: at most 8, the first by name.

Learning is taken back at once: a learned member that is contradicted is removed and blocked for
good, and so are all learned members when operators have found fault three times with answers
from a cache that left learned members out.

Source: SAP spec, 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from streams.protocols.sap.learning.aggregates import NAME_LENGTH

KEYS = 8
"""Members that one capability learns."""
MEMBERS = 32
"""Members of a payload; one that has more teaches nothing."""
VALUES = 16
"""Values that a group keeps."""
GROUPS = 5
SAMPLES = 30
DISTINCT = 2
COMPLAINTS = 3
BAD_RATING = 2

NEW: Mapping[str, int] = {"supporting": 0, "supportingSamples": 0, "contradicting": 0}
"""The total of a member's groups."""

Row = Mapping[str, Any]


class Evidence(StrEnum):
    """What a group shows of its member."""

    NOTHING = "nothing"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"


def members(signal: Row) -> Sequence[Row]:
    """The members whose groups a signal belongs to; an answer without output has none."""
    vetted = signal["status"] == "SUCCEEDED" and signal["alignment"] == "VALID"
    if not (signal["computed"] and vetted) or signal["outputSha256"] is None:
        return []
    if len(signal["members"]) > MEMBERS:
        return []
    return [one for one in signal["members"] if len(one["name"]) <= NAME_LENGTH]


def join(group: Row | None, value_sha256: str, output_sha256: str) -> dict[str, Any]:
    """The group after one more answer."""
    if group is None:
        group = {"samples": 0, "values": [], "outputSha256": output_sha256, "outputsDiffer": False}
    values = group["values"]
    if value_sha256 not in values and len(values) < VALUES:
        values = [*values, value_sha256]
    differ = group["outputsDiffer"] or group["outputSha256"] != output_sha256
    more = {"samples": group["samples"] + 1, "values": values, "outputsDiffer": differ}
    return {**group, **more}


def evidence_of(group: Row | None) -> Evidence:
    if group is None or len(group["values"]) < DISTINCT:
        return Evidence.NOTHING
    return Evidence.CONTRADICTS if group["outputsDiffer"] else Evidence.SUPPORTS


def count(total: Row | None, before: Row | None, after: Row) -> dict[str, int]:
    """The total of a member after one of its groups has grown."""
    counted = dict(total or NEW)
    for group, step in ((before, -1), (after, 1)):
        evidence = evidence_of(group)
        if group is not None and evidence is Evidence.SUPPORTS:
            counted["supporting"] += step
            counted["supportingSamples"] += step * group["samples"]
        elif evidence is Evidence.CONTRADICTS:
            counted["contradicting"] += step
    return counted


def is_complaint(signal: Row) -> bool:
    """Whether an operator finds fault with an answer that learned keys let the cache give."""
    if not signal["cacheHit"] or signal["extractorVersion"] <= 0:
        return False
    if signal["kind"] == "rating":
        return signal["rating"] is not None and signal["rating"] <= BAD_RATING
    return signal["kind"] == "approval" and bool(signal["decision"] == "rejected")


def demoted(learned: Sequence[str], totals: Mapping[str, Row], complaints: int) -> list[str]:
    """The learned members that are to be blocked."""
    if complaints >= COMPLAINTS:
        return list(learned)
    return [name for name in learned if totals.get(name, NEW)["contradicting"] > 0]


def derive(figures: Row) -> tuple[list[str], list[str]]:
    """The learned and the blocked members, each by code point.

    figures: `learned` and `blocked` until now, `members` (the total of each), `complaints`.
    """
    out = demoted(figures["learned"], figures["members"], figures["complaints"])
    blocked = sorted({*figures["blocked"], *out})
    fit = [name for name, total in figures["members"].items() if _fits(total)]
    return sorted(name for name in fit if name not in blocked)[:KEYS], blocked


def _fits(total: Row) -> bool:
    none_contradicts = total["contradicting"] == 0
    enough = total["supporting"] >= GROUPS and total["supportingSamples"] >= SAMPLES
    return bool(none_contradicts and enough)
