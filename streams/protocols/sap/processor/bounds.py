"""Keeps the lists of an outcome's evidence within what a result may have.

What the service has found and what the agent has reported may together be more.  Then the
service's own stay: all of them, or, if these alone are too many, the worse.  Of the agent's the
first stay, as far as there is room.

Source: SAP spec, 2 (lists have at most 256 entries) and 3.5 (combining).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from schemas.sap.shapes import MOST
from streams.protocols.sap.constitution.findings import SEVERITIES, STATUSES

Json = dict[str, Any]


class Bounded(NamedTuple):
    """kept: in the order in which they were.  omitted: how many are left out."""

    kept: list[Json]
    omitted: int


def checks(found: Sequence[Json], own: int) -> Bounded:
    """own: how many of them, the first, are the service's."""
    return _bounded(found, own, lambda check: STATUSES.index(check["status"]))


def violations(found: Sequence[Json], own: int) -> Bounded:
    """The same of violations."""
    return _bounded(found, own, lambda violation: SEVERITIES.index(violation["severity"]))


def _bounded(found: Sequence[Json], own: int, badness: Callable[[Json], int]) -> Bounded:
    omitted = len(found) - MOST
    if omitted <= 0:
        return Bounded(list(found), 0)
    if own <= MOST:
        return Bounded(list(found[:MOST]), omitted)
    worst_first = sorted(range(own), key=lambda index: -badness(found[index]))
    return Bounded([found[index] for index in sorted(worst_first[:MOST])], omitted)
