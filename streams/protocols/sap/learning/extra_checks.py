"""Constraints that fail often enough to be checked although a Task does not state them.

A learnable check that failed in a fifth or more of at least 20 answers is added.  From then on
its answers are looked at by the hundred: with at most one failure among a hundred it is removed,
and all its counts start again from zero.

Source: SAP spec, 5.5 and 9.12.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ADD_SAMPLES = 20
ADD_SHARE = 5
"""One failure in so many adds a check."""
WINDOW = 100
KEEP_FAILS = 2
"""Failures in a window that keep a check."""

NEW: Mapping[str, Any] = {"n": 0, "f": 0, "active": False, "sinceN": 0, "sinceF": 0}
"""The counter of a check; since: in the present window of one that is active."""
_PREFIXES = ("constraint:", "learned:")

Counter = Mapping[str, Any]


def answers(checks: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """(id, whether it failed) of each constraint that was answered.  checks: status by name."""
    for name, status in checks.items():
        for prefix in _PREFIXES:
            if name.startswith(prefix) and status in ("PASS", "FAIL"):
                yield name.removeprefix(prefix), status == "FAIL"


def count(counter: Counter | None, failed: bool) -> dict[str, Any]:
    """The counter after one more answer."""
    before = dict(counter or NEW)
    after = before | {"n": before["n"] + 1, "f": before["f"] + failed}
    if not before["active"]:
        return after
    n, f = before["sinceN"] + 1, before["sinceF"] + failed
    if n < WINDOW:
        return after | {"sinceN": n, "sinceF": f}
    return after | {"sinceN": 0, "sinceF": 0} if f >= KEEP_FAILS else dict(NEW)


def derive(counters: Mapping[str, Counter]) -> list[str]:
    """The checks in force, by code point: those added before and not removed, and new ones."""
    return sorted(id for id, counter in counters.items() if _in_force(counter))


def _in_force(counter: Counter) -> bool:
    enough = counter["n"] >= ADD_SAMPLES and counter["f"] * ADD_SHARE >= counter["n"]
    return bool(counter["active"] or enough)


def mark(counter: Counter, in_force: bool) -> dict[str, Any]:
    """The counter once a derivation has said whether its check is in force.

    The first window of one that was added begins.  One that was dropped, because the constitution
    does not have it any more, starts again from zero.
    """
    if counter["active"] and not in_force:
        return dict(NEW)
    return dict(counter) | {"active": in_force}
