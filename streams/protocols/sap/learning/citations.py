"""The citations that outcomes name most, exactly.

Every citation has a row with its count.  A count only grows, and by one, so the 50 most are among
the 50 until now and the one that has just grown.

Source: SAP spec, 5.5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streams.protocols.sap.learning.bounds import CITATIONS


def most(counts: Mapping[str, int], limit: int) -> list[str]:
    """The names with the highest counts, equal ones by code point."""
    return sorted(counts, key=lambda name: (-counts[name], name))[:limit]


def grow(
    shown: Mapping[str, int], cited: list[str], count_up: Callable[[str], int]
) -> dict[str, int]:
    """The most cited after one outcome; what it cites twice counts once.

    count_up: counts a citation in its row and returns how often it was named.
    """
    after = dict(shown)
    for citation in dict.fromkeys(cited):
        after[citation] = count_up(citation)
        after = {name: after[name] for name in most(after, CITATIONS)}
    return after
