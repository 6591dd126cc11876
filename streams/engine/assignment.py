"""Who owns which partition number.

A task is a whole partition number: partition p of every input topic.  So the group hands out
numbers, not topic-partitions.  Members keep what they have as far as an even share allows.  The
set of input topics belongs to the identity of the group: a member that reads fewer topics than
the others gets nothing, and is told which topics it lacks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """What one member of the group says of itself: the topics it reads, the numbers it has."""

    topics: frozenset[str]
    owned: frozenset[int]


@dataclass(frozen=True, slots=True)
class Share:
    """What one member gets.  missing: topics of the others that it does not read."""

    numbers: tuple[int, ...]
    missing: frozenset[str]


def assign(members: Mapping[str, Member], partitions: int) -> dict[str, Share]:
    """Whole numbers 0…partitions − 1 among the members that read all topics."""
    topics = frozenset[str]().union(*(m.topics for m in members.values()))
    able = sorted(name for name, m in members.items() if m.topics == topics)
    numbers = _balance({name: members[name].owned for name in able}, partitions)
    return {
        name: Share(tuple(sorted(numbers.get(name, ()))), topics - member.topics)
        for name, member in members.items()
    }


def _balance(owned: Mapping[str, Collection[int]], partitions: int) -> dict[str, list[int]]:
    if not owned:
        return {}
    kept: dict[str, list[int]] = {name: [] for name in owned}
    least, more = divmod(partitions, len(owned))
    free = set(range(partitions))
    # Who has most may keep one more than the rest, as many members as there are extra numbers.
    for name in sorted(owned, key=lambda n: (-len(owned[n]), n)):
        claims = sorted(free.intersection(owned[name]))
        quota = least + (1 if more > 0 and len(claims) > least else 0)
        kept[name] = claims[:quota]
        more -= len(kept[name]) > least
        free.difference_update(kept[name])
    for number in sorted(free):
        poorest = min(kept, key=lambda n: (len(kept[n]), n))
        kept[poorest].append(number)
    return kept
