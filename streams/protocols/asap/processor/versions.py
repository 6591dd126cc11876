"""The set of versions of a task that exist, as ranges: `[1, 5, 7, 7]` is 1 to 5, and 7.

A counter makes one range of any number of versions, so that the set stays small.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

Ranges = list[int]


def contains(ranges: Sequence[int], version: int) -> bool:
    place = bisect_left(ranges[1::2], version)
    return 2 * place < len(ranges) and ranges[2 * place] <= version


def added(ranges: Sequence[int], version: int) -> Ranges:
    """With one more version, which may be there already."""
    if contains(ranges, version):
        return list(ranges)
    place = 2 * bisect_right(ranges[::2], version)
    before, after = list(ranges[:place]), list(ranges[place:])
    low = high = version
    if before and before[-1] == version - 1:
        low = before[-2]
        before = before[:-2]
    if after and after[0] == version + 1:
        high = after[1]
        after = after[2:]
    return [*before, low, high, *after]


def removed(ranges: Sequence[int], version: int) -> Ranges:
    """Without one version, which need not be there."""
    if not contains(ranges, version):
        return list(ranges)
    place = 2 * bisect_left(ranges[1::2], version)
    low, high = ranges[place], ranges[place + 1]
    left = [low, version - 1] if low < version else []
    right = [version + 1, high] if version < high else []
    return [*ranges[:place], *left, *right, *ranges[place + 2 :]]


def each(ranges: Sequence[int]) -> Iterator[int]:
    """All versions, ascending."""
    for low, high in zip(ranges[::2], ranges[1::2], strict=True):
        yield from range(low, high + 1)
