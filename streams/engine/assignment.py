"""Who owns which partition number.

A task is a whole partition number: partition p of every input topic.  So the group hands out
numbers, not topic-partitions.  Members keep what they have as far as an even share allows.  The
set of input topics belongs to the identity of the group, and so does the catalogue of schemas,
which only grows: a member that reads less than the others gets nothing, and is told what it lacks.
Else it would meet rows and records of the others that it cannot read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from schemas.catalogue import FIRST_ID, LATEST_ID

_UNSAID = 1_000_000_088
"""The latest schema of the versions that did not say theirs."""


@dataclass(frozen=True, slots=True)
class Member:
    """What one member of the group says of itself: the topics it reads, the numbers it has, the
    latest schema it knows."""

    topics: frozenset[str]
    owned: frozenset[int]
    latest: int = LATEST_ID

    @classmethod
    def said(cls, topics: Collection[str], data: bytes) -> Member:
        """Of what `data` has made."""
        numbers = frozenset(int(n) for n in data.decode().split(",") if n)
        owned = frozenset(n for n in numbers if n < FIRST_ID)
        return cls(frozenset(topics), owned, max(numbers - owned, default=_UNSAID))

    def data(self) -> bytes:
        """Numbers below the first schema id are partitions: all that earlier versions say."""
        return ",".join(map(str, [*sorted(self.owned), self.latest])).encode()


@dataclass(frozen=True, slots=True)
class Share:
    """What one member gets.  missing: what the others read and it does not: topics by name, and
    `schema <id>`."""

    numbers: tuple[int, ...]
    missing: frozenset[str]


def assign(members: Mapping[str, Member], partitions: int) -> dict[str, Share]:
    """Whole numbers 0…partitions − 1 among the members that read everything."""
    topics = frozenset[str]().union(*(m.topics for m in members.values()))
    latest = max((m.latest for m in members.values()), default=0)
    lacks = {
        name: topics - m.topics | {f"schema {latest}" for _ in range(m.latest < latest)}
        for name, m in members.items()
    }
    able = sorted(name for name in members if not lacks[name])
    numbers = _balance({name: members[name].owned for name in able}, partitions)
    return {name: Share(tuple(sorted(numbers.get(name, ()))), lacks[name]) for name in members}


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
