"""Constraints that fail often enough to be checked although a Task does not state them.

A learnable check that failed in a fifth or more of at least 20 answers is added.  From then on
its answers are counted in windows of a hundred: with at most one failure in a window it is
removed, and all its counts start again from zero.

Source: SAP guide, 5.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ADD_SAMPLES = 20
ADD_SHARE = 5
"""A share of one failure in this many answers adds a check."""
WINDOW = 100
KEEP_FAILS = 2
"""Minimum failures in a window that keep a check in force."""

NEW: Mapping[str, Any] = {"n": 0, "f": 0, "active": False, "sinceN": 0, "sinceF": 0}
"""A new counter of a check; since…: counts in the current window of an active check."""
_PREFIXES = ("constraint:", "learned:")

Counter = Mapping[str, Any]


def answers(checks: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Yield the id of each constraint with a result, and whether it failed.  checks: by name."""
    for name, status in checks.items():
        for prefix in _PREFIXES:
            if name.startswith(prefix) and status in ("PASS", "FAIL"):
                yield name.removeprefix(prefix), status == "FAIL"


def count(counter: Counter | None, failed: bool) -> dict[str, Any]:
    """Return the counter after one more result of its check."""
    before = dict(counter or NEW)
    after = before | {"n": before["n"] + 1, "f": before["f"] + failed}
    if not before["active"]:
        return after
    n, f = before["sinceN"] + 1, before["sinceF"] + failed
    if n < WINDOW:
        return after | {"sinceN": n, "sinceF": f}
    return after | {"sinceN": 0, "sinceF": 0} if f >= KEEP_FAILS else dict(NEW)


def derive(counters: Mapping[str, Counter]) -> list[str]:
    """Return the checks in force, by code point: new ones, and earlier ones not removed."""
    return sorted(id for id, counter in counters.items() if _in_force(counter))


def _in_force(counter: Counter) -> bool:
    enough = counter["n"] >= ADD_SAMPLES and counter["f"] * ADD_SHARE >= counter["n"]
    return bool(counter["active"] or enough)


def mark(counter: Counter, in_force: bool) -> dict[str, Any]:
    """Return the counter after a derivation has decided whether its check is in force.

    A check that was added begins its first window.  One that was dropped, because the constitution
    no longer has it, starts again from zero.
    """
    if counter["active"] and not in_force:
        return dict(NEW)
    return dict(counter) | {"active": in_force}
