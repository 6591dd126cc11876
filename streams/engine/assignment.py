"""The assignment of partition numbers to the members of the consumer group.

A task is a whole partition number: partition p of every input topic.  So the group assigns
numbers, not topic-partitions.  Members keep their numbers as far as an even distribution allows.
All members must read the same input topics and know the same schemas (the catalogue of schemas
only grows).  A member that lacks some gets no numbers and the list of what it lacks; otherwise it
would meet rows and records of the other members that it cannot read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from schemas.catalogue import FIRST_ID, LATEST_ID

_LATEST_ID_IF_ABSENT = 1_000_000_088
"""The latest schema id of versions that did not send theirs."""


@dataclass(frozen=True, slots=True)
class Member:
    """A group member's topics, the numbers it owns, and the latest schema id it knows."""

    topics: frozenset[str]
    owned: frozenset[int]
    latest: int = LATEST_ID

    @classmethod
    def decode(cls, topics: Collection[str], data: bytes) -> Member:
        """Decode what `data` has encoded."""
        numbers = frozenset(int(n) for n in data.decode().split(",") if n)
        owned = frozenset(n for n in numbers if n < FIRST_ID)
        return cls(frozenset(topics), owned, max(numbers - owned, default=_LATEST_ID_IF_ABSENT))

    def data(self) -> bytes:
        """Encode the numbers and the latest schema id, joined by commas.

        Numbers below the first schema id are partitions; earlier versions send only these.
        """
        return ",".join(map(str, [*sorted(self.owned), self.latest])).encode()


@dataclass(frozen=True, slots=True)
class Share:
    """The assignment of one member.

    missing: topics by name, and `schema <id>`, that other members know and this one does not.
    """

    numbers: tuple[int, ...]
    missing: frozenset[str]


def assign(members: Mapping[str, Member], partitions: int) -> dict[str, Share]:
    """Distribute the numbers 0 to partitions - 1 among the members that lack nothing."""
    topics = frozenset[str]().union(*(m.topics for m in members.values()))
    latest = max((m.latest for m in members.values()), default=0)
    lacks = {
        name: topics - m.topics | {f"schema {latest}" for _ in range(m.latest < latest)}
        for name, m in members.items()
    }
    able = sorted(name for name in members if not lacks[name])
    numbers = _balance({name: members[name].owned for name in able}, partitions)
    return {name: Share(tuple(sorted(numbers.get(name, ()))), lacks[name]) for name in members}


def _balance(owned_numbers: Mapping[str, Collection[int]], partitions: int) -> dict[str, list[int]]:
    if not owned_numbers:
        return {}
    assigned: dict[str, list[int]] = {name: [] for name in owned_numbers}
    share, extra = divmod(partitions, len(owned_numbers))
    free = set(range(partitions))
    # The members that own the most keep one more, as many members as there are extra numbers.
    for name in sorted(owned_numbers, key=lambda n: (-len(owned_numbers[n]), n)):
        claims = sorted(free.intersection(owned_numbers[name]))
        quota = share + (1 if extra > 0 and len(claims) > share else 0)
        assigned[name] = claims[:quota]
        extra -= len(assigned[name]) > share
        free.difference_update(assigned[name])
    for number in sorted(free):
        poorest = min(assigned, key=lambda n: (len(assigned[n]), n))
        assigned[poorest].append(number)
    return assigned
