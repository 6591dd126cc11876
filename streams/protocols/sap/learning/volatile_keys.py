"""The payload members that do not affect an answer: they change, and the answer does not.

Validated answers are grouped by (member name, hash of the cache key's remaining parts without it).
A group of two values or more supports its member if all its answers are equal, and contradicts
it if they differ; with one value it is no evidence.  A member that no group contradicts, and that 5
groups of 30 answers in total support, is learned: at most 8, the first by name.

Learning is reverted at once: a learned member that is contradicted is removed and blocked for
good, and so are all learned members when operators have complained three times about answers
from a cache that left learned members out.

Source: SAP guide, 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from streams.protocols.sap.learning.aggregates import NAME_LENGTH

KEYS = 8
"""Maximum members that one capability learns."""
MEMBERS = 32
"""Maximum members of a payload from which members are learned."""
VALUES = 16
"""Maximum values that a group stores."""
GROUPS = 5
SAMPLES = 30
DISTINCT = 2
COMPLAINTS = 3
BAD_RATING = 2

NEW: Mapping[str, int] = {"supporting": 0, "supportingSamples": 0, "contradicting": 0}
"""The total of a member's groups."""

Row = Mapping[str, Any]


class Evidence(StrEnum):
    """The evidence of a group about its member."""

    NOTHING = "nothing"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"


def members(signal: Row) -> Sequence[Row]:
    """Return the members whose groups a signal belongs to; an answer without output has none."""
    vetted = signal["status"] == "SUCCEEDED" and signal["alignment"] == "VALID"
    if not (signal["computed"] and vetted) or signal["outputSha256"] is None:
        return []
    if len(signal["members"]) > MEMBERS:
        return []
    return [one for one in signal["members"] if len(one["name"]) <= NAME_LENGTH]


def join(group: Row | None, value_sha256: str, output_sha256: str) -> dict[str, Any]:
    """Return the group after one more answer."""
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
    """Return the total of a member after one of its groups has grown."""
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
    """Return whether an operator complains about a cached answer that depends on learned keys."""
    if not signal["cacheHit"] or signal["extractorVersion"] <= 0:
        return False
    if signal["kind"] == "rating":
        return signal["rating"] is not None and signal["rating"] <= BAD_RATING
    return signal["kind"] == "approval" and bool(signal["decision"] == "rejected")


def keys_to_demote(learned: Sequence[str], totals: Mapping[str, Row], complaints: int) -> list[str]:
    """Return the learned members that must be blocked."""
    if complaints >= COMPLAINTS:
        return list(learned)
    return [name for name in learned if totals.get(name, NEW)["contradicting"] > 0]


def derive(counted_members: Row) -> tuple[list[str], list[str]]:
    """Return the learned and the blocked members, each by code point.

    counted_members: the present `learned` and `blocked`, `members` with their totals, `complaints`.
    """
    out = keys_to_demote(
        counted_members["learned"], counted_members["members"], counted_members["complaints"]
    )
    blocked = sorted({*counted_members["blocked"], *out})
    fitting = [name for name, total in counted_members["members"].items() if _fits(total)]
    return sorted(name for name in fitting if name not in blocked)[:KEYS], blocked


def _fits(total: Row) -> bool:
    none_contradicts = total["contradicting"] == 0
    enough = total["supporting"] >= GROUPS and total["supportingSamples"] >= SAMPLES
    return bool(none_contradicts and enough)
